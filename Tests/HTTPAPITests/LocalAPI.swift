import Foundation
import Glibc
import JSON
import Operations
import PushCore
import StoreSQLite
import Support

@testable import HTTPAPI

/// The interface served on a port of its own in this process, with a store of its own.
final class LocalAPI: Sendable {
  static let topic = "com.example.dashboard"

  let store: SQLiteStore
  let server: HTTPServer
  let port: UInt16
  let context: APIContext
  let directory: TemporaryDirectory
  private let running: Task<Void, Never>

  /// Serves every surface.
  init(
    limits: HTTPServer.Limits = HTTPServer.Limits(), trustedProxies: [IPAddressRange] = [],
    settings: String = "{}",
    clocks: any Clocks = SystemClocks(), log: LogRecorder = LogRecorder()
  )
    async throws
  {
    directory = try TemporaryDirectory()
    let path = try directory.write(settings, to: "pushrelay.json")
    let configuration = try ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment([:])).load()
      .get()
    let store = try await SQLiteStore.open(directory.path(of: "relay.db"))
    self.store = store
    _ = try await store.bind([
      AppBinding(topic: Self.topic, environment: .production, teamID: "TEAM123456", keyID: "KEY1234567")
    ])
    let app = Configuration.App(
      topic: Self.topic, environment: .production, teamID: "TEAM123456", keyID: "KEY1234567", key: nil)
    context = APIContext(
      store: store, apps: AppDirectory([app]), clocks: clocks, logger: log.logger(), metrics: Metrics(),
      sha256: Self.digest, reasonText: { $1 ?? "Reason\($0.rawValue)" }, apnsID: { "\($0)-\($1.rawValue)" },
      bind: { topic in
        _ = try await store.bind([
          AppBinding(topic: topic, environment: .production, teamID: "TEAM123456", keyID: "KEY1234567")
        ])
      }, version: "1.0", policy: SurfacePolicy(configuration))
    server = try HTTPServer(
      [
        .init(
          address: HostPort(host: "127.0.0.1", port: 0), certificate: nil, surfaces: Set(Configuration.Surface.allCases)
        )
      ],
      trustedProxies: trustedProxies, limits: limits, grace: .seconds(5), context: context)
    port = server.addresses[0].split(separator: ":").last.flatMap { UInt16($0) } ?? 0
    let server = server
    // Awaited by `close`.
    running = Task { await server.run() }
  }

  /// Ends the server, as SIGTERM does, and closes the store.
  func close() async {
    server.stop()
    await running.value
    await store.close()
  }

  /// Makes an API key.
  func key(topics: [String]? = nil, actions: Set<APIAction>? = nil) async throws -> String {
    let secret = APIKeyText.makeSecret()
    let key = try await store.addAPIKey(
      name: "test", secretSHA256: Self.digest(secret), topics: topics, actions: actions)
    return APIKeyText(id: key.id, secret: secret).revealed
  }

  /// Calls with a key over a connection of its own.
  func call(
    _ method: String, _ target: String, key: String? = nil, fields: [String] = [], body: String = ""
  ) async throws -> HTTPReply {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
    if let key { lines.append("Authorization: Bearer \(key)") }
    if !body.isEmpty || method == "POST" { lines.append("Content-Length: \(body.utf8.count)") }
    let reply = try HTTPReply(try await raw(lines.joined(separator: "\r\n") + "\r\n\r\n" + body))
    try DocumentedAnswers.check(reply, to: method, target)
    return reply
  }

  /// Sends bytes on a connection of its own and gives everything that comes back until it is closed.
  func raw(_ text: String) async throws -> [UInt8] {
    let connection = try RawConnection(port: port)
    connection.send(Array(text.utf8))
    return await connection.readAll()
  }

  /// Any function will do where nobody attacks: FNV-1a.
  private static let digest: @Sendable ([UInt8]) -> [UInt8] = { bytes in
    let hash = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) }
  }
}

/// Whatever a test asks: the OpenAPI document has the answer.
private enum DocumentedAnswers {
  private static let router = Router(Routes.all, surfaces: Set(Configuration.Surface.allCases))

  static func check(_ reply: HTTPReply, to method: String, _ target: String) throws {
    guard let segments = try? RequestTarget(raw: target).segments,
      case .route(let route, _) = router.match(method, segments)
    else { return }
    // Where the settings do not open it, nothing is there.
    if route.opening != nil, reply.status == 404 { return }
    let type = reply["content-type"].map { String($0.prefix { $0 != ";" }) }
    let isDocumented = route.allAnswers.contains { answer in
      answer.status == reply.status && (type == nil || answer.content.contains { $0.type == type })
    }
    guard isDocumented else {
      throw SupportError("\(method) \(route.path) answers \(reply.status) \(type ?? ""), which is not in the document")
    }
  }
}

/// Runs `body` with an interface of its own.
func withAPI<Result>(
  limits: HTTPServer.Limits = HTTPServer.Limits(), trustedProxies: [IPAddressRange] = [],
  settings: String = "{}",
  clocks: any Clocks = SystemClocks(), log: LogRecorder = LogRecorder(),
  _ body: (LocalAPI) async throws -> Result
) async throws -> Result {
  let api = try await LocalAPI(
    limits: limits, trustedProxies: trustedProxies, settings: settings, clocks: clocks, log: log)
  do {
    let result = try await body(api)
    await api.close()
    return result
  } catch {
    await api.close()
    throw error
  }
}

/// A TCP connection to this machine on which a test says what it likes.
final class RawConnection: Sendable {
  let descriptor: Int32

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SupportError("no connection to port \(port): error \(errno)") }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { Glibc.close(descriptor) }

  /// Sends bytes; false when the other end takes none any more.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Everything that comes until the other end closes.
  func readAll() async -> [UInt8] { await read { _ in false } }

  /// What comes until `isEnough`, or the other end closes.
  func read(until isEnough: @escaping @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
    let descriptor = descriptor
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isEnough(bytes) {
          let count = recv(descriptor, &buffer, buffer.count, 0)
          guard count > 0 else { break }
          bytes += buffer[..<count]
        }
        continuation.resume(returning: bytes)
      }
    }
  }
}

/// An answer in its parts.
struct HTTPReply {
  var status: Int
  var fields: [(name: String, value: String)]
  var body: [UInt8]

  init(_ bytes: [UInt8]) throws {
    let text = String(decoding: bytes, as: UTF8.self)
    let mark = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else {
      throw SupportError("no answer but '\(text)'")
    }
    let lines = bytes[..<end].split(separator: 10).map { String(decoding: $0.filter { $0 != 13 }, as: UTF8.self) }
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw SupportError("no status in '\(text)'")
    }
    self.status = status
    fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
    }
    body = Array(bytes[(end + mark.count)...])
  }

  subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  var text: String { String(decoding: body, as: UTF8.self) }

  func json() throws -> JSONValue {
    do { return try JSONValue(parsing: body) } catch { throw SupportError("not JSON: \(text)") }
  }
}
