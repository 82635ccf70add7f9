import JSON
import Operations
import PushCore
import Support
import Testing

/// One row of `cases.tsv`: an input and what it must give.
struct Case: Sendable, CustomTestStringConvertible {
  let file: String
  let outcome: String
  let expected: String

  var testDescription: String { file }

  /// The rows whose file name begins so; none when the table is missing, which a test of their number notices.
  static func all(_ prefix: String) -> [Case] {
    let rows = (try? Fixture.text("cases/cases.tsv"))?.split(separator: "\n").dropFirst() ?? []
    return rows.map { $0.split(separator: "\t").map(String.init) }.filter { $0[0].hasPrefix(prefix) }
      .map { Case(file: $0[0], outcome: $0[2], expected: $0[3]) }
  }

  func bytes() throws -> [UInt8] { try Fixture.bytes("cases/\(file)") }
}

let testNow = UnixMilliseconds(1_767_225_600_000)
let testToken = "7c31dc8a36b55c53e6818737da25e82071ede9aa827eff4c5e98b762eab5a0ab"

extension NotificationRequest {
  /// A request to one device that needs only a payload.
  static func simple(_ payload: String? = "{\"aps\":{\"alert\":\"x\"}}") -> NotificationRequest {
    var request = NotificationRequest()
    request.topic = "com.example.app"
    request.tokens = [testToken]
    request.payload = payload.map { Array($0.utf8) }
    return request
  }

  func checked(
    _ defaults: NotificationDefaults = NotificationDefaults()
  ) throws -> (publication: Publication, warnings: [NotificationFinding]) {
    try publication(now: testNow, defaults: defaults)
  }

  /// The faults of a request that must have some.
  func faults(_ location: SourceLocation = #_sourceLocation) throws -> NotificationFaults {
    try #require(throws: NotificationFaults.self, sourceLocation: location) { _ = try checked() }
  }
}
