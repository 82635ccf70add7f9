import Foundation
import JSON
import OpenSSL
import Operations
import Support
import Testing

@testable import APNsSimulator

/// A simulator within the test's process, with a folder of its own, a log, key TESTKEY001, and further keys with the same
/// public half: OTHERKEY01 of another team, and APPKEY0001 and APPKEY0002 for the topic com.example.app alone.
final class LocalSimulator: Sendable {
  let folder: TemporaryDirectory
  let simulator: Simulator

  /// Starts it with a script and whatever else the test changes.
  init(
    _ script: String = "{}", checks: Bool = true, _ change: (inout SimulatorConfiguration) -> Void = { _ in }
  ) async throws {
    folder = try TemporaryDirectory()
    let publicKey = try SimulatorFixture.publicKey("testkey001-public.pem")
    let keys = BrokenToken.teams.map { keyID, teamID in
      var key = ProviderKey(teamID: teamID, keyID: keyID, publicKey: publicKey)
      if keyID.hasPrefix("APPKEY") { key.scope = .topics(["com.example.app"], relatedKeyID: nil) }
      return key
    }
    var configuration = SimulatorConfiguration(
      tlsDirectory: folder.path(of: "tls"), rules: RequestRules(providerTokens: ProviderTokenRules(keys: keys)))
    configuration.checks = checks
    configuration.logPath = folder.path(of: "log")
    configuration.script = try FaultScript(parsing: Array(script.utf8))
    change(&configuration)
    simulator = try await Simulator.start(configuration)
  }

  var port: Int { Int(simulator.addresses[0].port) }
  var authorityFile: String { folder.path(of: "tls/ca.pem") }
  var summary: Summary { simulator.summary }

  /// The objects of the log so far.
  func log() throws -> [JSONValue] { try JSONLines.read(folder.path(of: "log")) }

  /// A client that has shaken hands.
  func client() throws -> RawClient { try RawClient(RawPeer(port: port, authorityFile: authorityFile)) }

  /// A call of the control interface: status and body.
  func control(_ method: String, _ path: String, _ body: String = "") async throws -> (status: Int, body: JSONValue) {
    let address = try #require(simulator.controlAddress)
    let data = body.isEmpty ? [] : ["--data-binary", body]
    let result = try await BuiltProgram(path: "/usr/bin/curl").run(
      ["--silent", "--write-out", "\n%{http_code}", "--request", method] + data + ["http://\(address)\(path)"])
    let lines = result.output.split(separator: "\n")
    return (Int(lines.last ?? "") ?? 0, try JSONValue(parsing: Array(lines.dropLast().joined().utf8)))
  }
}

/// A client of whole pushes over frames written by hand, which does only what it is told.
struct RawClient {
  typealias Field = (name: String, value: String)

  let peer: RawPeer

  /// Sends the preface, and with it the acknowledgment of settings that are yet to come.
  init(_ peer: RawPeer, acknowledges: Bool = true) {
    self.peer = peer
    peer.send(RawFrames.preface + RawFrames.settings + (acknowledges ? RawFrames.settingsAcknowledged : []))
  }

  static let device = String(repeating: "0a", count: 32)

  /// A sound push, with the given fields in place of its own; nil drops a field.
  static func fields(_ changes: [String: String?] = [:]) throws -> [Field] {
    var fields: [Field] = [
      (":method", "POST"), (":scheme", "https"), (":path", "/3/device/\(device)"), (":authority", "localhost"),
      ("authorization", "bearer \(try SimulatorProcess.providerToken.get())"), ("apns-topic", "com.example.app"),
      ("apns-push-type", "alert"), ("apns-priority", "10"),
    ]
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      if let index = fields.firstIndex(where: { $0.name == name }) {
        if let value { fields[index].value = value } else { fields.remove(at: index) }
      } else if let value {
        fields.append((name, value))
      }
    }
    return fields
  }

  /// Sends a push on a stream.
  func send(_ stream: Int, _ fields: [Field], body: String = #"{"aps":{"alert":"a"}}"#) {
    let isEmpty = body.isEmpty
    peer.send(
      RawFrames.headers(stream: stream, fields, endsStream: isEmpty)
        + (isEmpty ? [] : RawFrames.data(stream: stream, body)))
  }

  func send(_ stream: Int, _ changes: [String: String?] = [:], body: String = #"{"aps":{"alert":"a"}}"#) throws {
    send(stream, try Self.fields(changes), body: body)
  }

  /// Sends a push and waits until its stream has ended.
  @discardableResult
  func push(
    _ stream: Int, _ changes: [String: String?] = [:], body: String = #"{"aps":{"alert":"a"}}"#
  ) async throws -> [RawFrame] {
    try send(stream, changes, body: body)
    return try await peer.frames { $0.contains { $0.stream == stream && $0.endsStream } }
      .filter { $0.stream == stream }
  }

  /// Waits until the server has read everything so far, and acknowledges its PINGs.
  func settle() async throws {
    let frames = try await roundTrip(1)
    for frame in frames where frame.type == 6 && frame.flags == 0 {
      peer.send(RawFrames.frame(type: 6, flags: 1, stream: 0, frame.payload))
    }
    _ = try await roundTrip(2)
  }

  private func roundTrip(_ mark: UInt8) async throws -> [RawFrame] {
    let own = [UInt8](repeating: mark, count: 8)
    peer.send(RawFrames.frame(type: 6, flags: 0, stream: 0, own))
    return try await peer.frames { $0.contains { $0.type == 6 && $0.flags == 1 && $0.payload == own } }
  }
}

extension RawFrame {
  /// RST_STREAM, or the last frame of an answer.
  var endsStream: Bool { type == 3 || (type == 0 || type == 1) && flags & 1 == 1 }

  /// A number of four bytes within the payload.
  func number(at offset: Int) -> Int { payload[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } }
}

extension RawFrames {
  /// HEADERS with fields as given, without any compression.
  static func headers(stream: Int, _ fields: [RawClient.Field], endsStream: Bool) -> [UInt8] {
    var block: [UInt8] = []
    for field in fields { block += [0] + string(field.name) + string(field.value) }
    return frame(type: 1, flags: endsStream ? 5 : 4, stream: stream, block)
  }
}

/// Provider tokens that are not as they should be.
enum BrokenToken {
  static func make(
    header: String = #"{"alg":"ES256","kid":"TESTKEY001"}"#, claims: String? = nil, age: Int64 = 0,
    encode: (String) -> String = { $0 }, signature: (_ sign: () throws -> [UInt8]) throws -> [UInt8] = { try $0() }
  ) throws -> String {
    let issuedAt = SystemClocks().wallTime().seconds - age
    let claims = claims ?? #"{"iss":"TESTTEAM01","iat":\#(issuedAt)}"#
    let input = [header, claims].map { encode(Base64URL.encode(Array($0.utf8))) }.joined(separator: ".")
    let key = try ES256PrivateKey(pem: SimulatorFixture.text("testkey001.p8"))
    let signed = try signature { try key.sign(Array(input.utf8)) }
    return "bearer \(input).\(encode(Base64URL.encode(signed)))"
  }

  /// The keys that a ``LocalSimulator`` knows, with their teams.
  static let teams = [
    "TESTKEY001": "TESTTEAM01", "OTHERKEY01": "OTHERTEAM1", "APPKEY0001": "TESTTEAM01", "APPKEY0002": "TESTTEAM01",
  ]

  /// A sound token of one of those keys.
  static func make(of keyID: String) throws -> String {
    let teamID = try #require(teams[keyID])
    return try make(
      header: #"{"alg":"ES256","kid":"\#(keyID)"}"#, claims: #"{"iss":"\#(teamID)","iat":\#(now)}"#)
  }

  static var now: Int64 { SystemClocks().wallTime().seconds }

  /// The ASN.1 form that OpenSSL gives by itself.
  static func der(_ raw: [UInt8]) -> [UInt8] {
    func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      let digits = Array(bytes.drop { $0 == 0 })
      let whole = digits[0] > 0x7F ? [0] + digits : digits
      return [2, UInt8(whole.count)] + whole
    }
    let body = integer(raw[..<32]) + integer(raw[32...])
    return [0x30, UInt8(body.count)] + body
  }

  /// A signature whose r begins with a zero byte, which is then left out: one in 256 has one.
  static func unpadded(_ sign: () throws -> [UInt8]) throws -> [UInt8] {
    while true {
      let raw = try sign()
      if raw[0] == 0 { return Array(raw.dropFirst()) }
    }
  }
}
