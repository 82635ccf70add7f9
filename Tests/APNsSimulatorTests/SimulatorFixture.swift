import Foundation
import OpenSSL
import Operations
import Testing

@testable import APNsSimulator

/// A row of a tab-separated fixture, by the names of its columns.
struct FixtureRow: Sendable, CustomTestStringConvertible {
  var cells: [String: String]
  subscript(column: String) -> String { cells[column] ?? "" }
  var testDescription: String { self["name"] }
}

/// The files of `Fixtures/`.
enum SimulatorFixture {
  static func text(_ name: String) throws -> String {
    try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)"),
      encoding: .utf8)
  }

  static func path(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)").path
  }

  /// The rows of a tab-separated file below its line of column names; lines that begin with `#` are comments.
  static func rows(_ name: String) -> [FixtureRow] {
    // A file that cannot be read has no rows, and the test of the numbers of rows fails.
    guard let text = try? text(name) else { return [] }
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    guard let columns = lines.first else { return [] }
    return lines.dropFirst().map { FixtureRow(cells: Dictionary(uniqueKeysWithValues: zip(columns, $0))) }
  }

  static func publicKey(_ name: String) throws -> ES256PublicKey {
    try ES256PublicKey(pem: Array(text(name).utf8))
  }

  /// 2026-01-01T00:00:00Z, the `iat` of ``providerToken``.
  static let issuedAt: Int64 = 1_767_225_600

  /// A provider token of key TESTKEY001, team TESTTEAM01, issued at ``issuedAt``.
  static let providerToken =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IlRFU1RLRVkwMDEifQ.eyJpc3MiOiJURVNUVEVBTTAxIiwiaWF0IjoxNzY3MjI1NjAwfQ"
    + ".uY6GkEE9jSlgKThq0zbsLYlTEOF-zHltOeblNKaOmpHtZGA5W2SMyh7pChbumHlhv6R85RPWzxdxHh9z-dFmIA"

  /// A time so many seconds after ``issuedAt``.
  static func time(_ seconds: Int64 = 0) -> UnixMilliseconds { UnixMilliseconds((issuedAt + seconds) * 1000) }

  /// Rules that know key TESTKEY001.
  static func rules(environment: Environment? = nil) throws -> RequestRules {
    let key = try ProviderKey(
      teamID: "TESTTEAM01", keyID: "TESTKEY001", publicKey: publicKey("testkey001-public.pem"), environment: environment
    )
    return RequestRules(providerTokens: ProviderTokenRules(keys: [key]))
  }
}

extension PushRequest {
  /// A request that breaks no rule and gives no warning, with the given fields in place of its own; nil drops a field.
  static func sample(
    method: String = "POST", path: String = "/3/device/" + String(repeating: "0a", count: 32),
    _ changes: [String: String?] = [:], body: String = #"{"aps":{"alert":"a"}}"#,
    environment: Environment = .production
  ) -> PushRequest {
    let usual = [
      "authorization": "bearer \(SimulatorFixture.providerToken)", "apns-topic": "com.example.app",
      "apns-push-type": "alert",
      "apns-id": "123e4567-e89b-12d3-a456-4266554400a0", "apns-priority": "10",
      "apns-expiration": String(SimulatorFixture.issuedAt + 3600), "apns-collapse-id": "login-1",
    ]
    let fields = usual.merging(changes.compactMapValues(\.self)) { $1 }.filter { changes[$0.key, default: ""] != nil }
    return PushRequest(
      role: ListenerRole(environment), method: method, scheme: "https", path: path,
      fields: fields.sorted { $0.key < $1.key }.map { Field($0.key, $0.value) }, body: Array(body.utf8))
  }
}

extension RequestRules {
  /// The verdict, as the text of a fixture's column: `200` or the reason.
  mutating func answer(to request: PushRequest, at time: UnixMilliseconds = SimulatorFixture.time(100)) -> String {
    judge(request, now: time).rejection?.reason.rawValue ?? "200"
  }
}
