import APNsSimulator
import EventLoop
import HTTP2
import OpenSSL
import Operations
import Support

/// An HTTP/2 server that answers what a test says and remembers what it was asked.
final class ScriptedAPNs: Sendable {
  struct Request: Sendable {
    /// From 0, over all connections.
    let number: Int
    let connection: UInt64
    let path: String
    let fields: [String: String]
    let body: String

    var providerToken: String? { fields["authorization"] }
  }

  struct Answer: Sendable {
    var status = 200
    var reason: String?
    var timestamp: Int64?
    var retryAfter: String?
    var uniqueID: String?
    var outcome = ServerReply.Outcome.answer
    var commandsAfter: [ServerCommand] = []

    static let accepted = Answer()
    static func refused(_ status: Int, _ reason: String) -> Answer {
      Answer(status: status, reason: reason)
    }
  }

  typealias Script = @Sendable (Request) -> Answer

  let port: UInt16
  let authorityFile: String
  private let thread: LoopThread
  private let requests: Watched<[Request]>
  private let directory: TemporaryDirectory

  init(streams: UInt32 = 1000, clientAuthority: String? = nil, _ script: @escaping Script = { _ in .accepted })
    async throws
  {
    let directory = try TemporaryDirectory()
    let tls = TLSDirectory(path: directory.path)
    try tls.prepare(names: [], now: SystemClocks().wallTime())
    var configuration = TLSServerConfiguration(
      certificateFile: tls.certificateFile, privateKeyFile: tls.privateKeyFile)
    configuration.clientAuthorityFile = clientAuthority
    let context = try TLSContext(server: configuration)
    let requests = Watched<[Request]>([])
    let thread = try LoopThread(name: "scripted-apns") { _ in }
    self.thread = thread
    port = try await withCheckedThrowingContinuation { continuation in
      thread.execute { loop in
        continuation.resume(
          with: Result {
            let handler = Handler(script, requests)
            let server = HTTP2Server(
              loop: loop, tls: context,
              configuration: ServerConfiguration(settings: [.maxConcurrentStreams(streams)]),
              handler: handler)
            handler.keep(server)
            let socket = try Socket.listen(host: "127.0.0.1", port: 0)
            try server.listen(on: socket)
            return socket.localAddress?.port ?? 0
          })
      }
    }
    self.requests = requests
    self.directory = directory
    authorityFile = tls.authorityFile
  }

  deinit { thread.stop() }

  /// What was asked so far.
  var asked: [Request] { requests.current }

  func waitForRequests(_ count: Int) async throws {
    _ = try await requests.wait("waiting for \(count) requests") { $0.count >= count }
  }

  private final class Handler: ServerHandler {
    private let script: Script
    private let requests: Watched<[Request]>
    private var server: HTTP2Server?

    init(_ script: @escaping Script, _ requests: Watched<[Request]>) {
      self.script = script
      self.requests = requests
    }

    func keep(_ server: HTTP2Server) { self.server = server }
    func connectionOpened(_ connection: UInt64) {}
    func connectionClosed(_ connection: UInt64) {}
    func violated(_ violation: ServerViolation, connection: UInt64) {}

    func received(_ received: ServerRequest, reply: inout ServerReply) {
      var fields: [String: String] = [:]
      received.forEachField { name, value in
        let text = { (bytes: Span<UInt8>) in
          String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
        fields[text(name)] = text(value)
      }
      let connection = received.connection
      let body = String(decoding: received.body, as: UTF8.self)
      let copy = fields
      let request = requests.update { requests in
        let request = Request(
          number: requests.count, connection: connection, path: copy[":path"] ?? "", fields: copy,
          body: body)
        requests.append(request)
        return request
      }
      fill(&reply, script(request))
    }

    private func fill(_ reply: inout ServerReply, _ answer: Answer) {
      reply.outcome = answer.outcome
      reply.status = answer.status
      reply.commandsAfter = answer.commandsAfter
      if let reason = answer.reason {
        let timestamp = answer.timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        reply.body = Array("{\"reason\":\"\(reason)\"\(timestamp)}".utf8)
      }
      if let retryAfter = answer.retryAfter { reply.addField("retry-after", retryAfter) }
      if let uniqueID = answer.uniqueID { reply.addField("apns-unique-id", uniqueID) }
    }
  }
}
