import Operations
import PushCore
import Support

@testable import APNs

/// A sender whose answers can be waited for.
final class TestSender: Sendable {
  let sender: APNsSender
  let tokens: ProviderTokens
  private let answers = Watched<[PushAnswer]>([])

  static let production = Credential(
    id: CredentialID(1), appID: AppID(1), topic: "com.example.app", environment: .production,
    teamID: "TESTTEAM01",
    keyID: "TESTKEY001", heldSince: nil, heldReason: nil)

  init(
    port: UInt16, authorityFile: String?, host: String = "localhost",
    clocks: any Clocks = SystemClocks(),
    store: any ProviderTokenStore = ProviderTokenMemory(), apps: [SigningApp]? = nil,
    credentials: [Credential] = [production],
    configure: (inout APNsSenderConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = APNsSenderConfiguration()
    configuration.production = HostPort(host: host, port: port)
    configuration.sandbox = HostPort(host: host, port: port)
    configuration.authoritiesFile = authorityFile
    configure(&configuration)
    tokens = ProviderTokens(store: store, clocks: clocks)
    let key = try ProviderTokenTests.key()
    sender = try APNsSender(
      configuration: configuration, apps: apps ?? [SigningApp(topic: "com.example.app", key: key)],
      tokens: tokens,
      clocks: clocks)
    let answers = answers
    sender.onAnswers { new in answers.update { $0 += new } }
    sender.learn(credentials)
  }

  convenience init(_ server: ScriptedAPNs, clocks: any Clocks = SystemClocks()) throws {
    try self.init(port: server.port, authorityFile: server.authorityFile, clocks: clocks)
  }

  /// A batch to devices 1 to `count`, whose tokens are their numbers.
  static func batch(
    _ count: Int = 1, id: UInt64 = 1, credential: CredentialID = CredentialID(1),
    lane: Lane = .normal,
    notification: Int64 = 42,
    headers: PushHeaders = PushHeaders(pushType: .alert, priority: .immediate),
    topic: String = "com.example.app", payload: String = "{\"aps\":{\"alert\":\"x\"}}"
  ) -> PushBatch {
    var devices = DeviceWindow()
    for number in 1...count {
      devices.append(
        id: DeviceID(Int64(number)), credential: credential, registeredAt: UnixMilliseconds(0),
        token: token(number))
    }
    let content = PushContent(
      notificationID: NotificationID(notification), topic: topic, headers: headers,
      expiresAt: UnixMilliseconds(SystemClocks().wallTime().value + 3_600_000),
      payload: Array(payload.utf8))
    return PushBatch(
      id: id, credential: credential, lane: lane, content: content, devices: devices,
      notAfter: .distantFuture)
  }

  static func token(_ number: Int) -> [UInt8] {
    let digits = String(number, radix: 16)
    return Array((String(repeating: "0", count: 64 - digits.count) + digits).utf8)
  }

  /// Sends a batch and gives its answers by index.
  func send(_ batch: PushBatch) async throws -> [PushAnswer] {
    let before = answers.current.count
    sender.send(batch)
    return try await answers(before + batch.devices.count).suffix(batch.devices.count).sorted {
      $0.index < $1.index
    }
  }

  func answers(_ count: Int) async throws -> [PushAnswer] {
    try await answers.wait("waiting for \(count) answers") { $0.count >= count }
  }

  var answerCount: Int { answers.current.count }
}
