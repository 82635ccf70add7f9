import JSON
import PushCore
import Support
import Testing

@testable import APNs

@Suite("The table of reasons")
struct ReasonTableTests {
  private func reference() throws -> [JSONValue] {
    try #require(try JSONValue(parsing: try Fixture.bytes("reasons.json")).array)
  }

  @Test(
    "the table has the reference's rows in the reference's order, so that stored numbers keep their meaning"
  )
  func rows() throws {
    let expected = try reference().map {
      "\($0["status"]?.integer ?? 0) \($0["reason"]?.string ?? "")"
    }
    #expect(expected.count == 43)
    #expect(ReasonTable.rows.map { "\($0.status) \($0.text)" } == expected)
    #expect(ReasonTable.rows.count < 200)
  }

  @Test("what the reference calls retryable is tried again, what it calls final is not")
  func classes() throws {
    for (row, reference) in zip(ReasonTable.rows, try reference()) {
      let isRetryable = reference["retryable"]?.bool == true
      let scope = reference["scope"]?.string ?? ""
      switch row.kind {
      case .drop: #expect(!isRetryable && scope == "notification", "\(row.text)")
      case .gone, .unfit: #expect(!isRetryable && scope == "device", "\(row.text)")
      case .holdKey: #expect(!isRetryable && scope == "credential", "\(row.text)")
      case .holdApp:
        #expect(!isRetryable && (scope == "topic" || scope == "credential"), "\(row.text)")
      case .newProviderToken, .waitProviderToken:
        #expect(isRetryable && scope == "credential", "\(row.text)")
      case .reconnect, .ownConnection, .wait:
        #expect(isRetryable && scope == "connection", "\(row.text)")
      case .waitDevice: #expect(isRetryable && scope == "device", "\(row.text)")
      }
    }
  }

  @Test("words and numbers lead to each other")
  func lookUp() {
    for (index, row) in ReasonTable.rows.enumerated() {
      let id = ReasonID(Int32(index + 1))
      #expect(ReasonTable.id(of: row.text) == id)
      #expect(ReasonTable.text(of: id, stored: "other") == row.text)
    }
    #expect(ReasonTable.id(of: "BadDate") == nil)
    #expect(ReasonTable.text(of: .none, stored: nil) == nil)
    #expect(ReasonTable.text(of: .timeout, stored: nil) == "Timeout")
    #expect(ReasonTable.text(of: ReasonID(1000), stored: "BadDate") == "BadDate")
    #expect(ReasonTable.text(of: ReasonID(-5), stored: nil) == nil)
  }

  @Test("advice says what is wrong and what to do, and nothing of what a queue does: pushes are sent without one too")
  func neutral() {
    let own: [ReasonID] = [.connectionLost, .timeout]
    let remedies = ReasonTable.rows.map(\.remedy) + own.compactMap(ReasonTable.remedy)
    for remedy in remedies {
      for claim in ["retired", "sent again", "resume", "same apns-id"] {
        #expect(!remedy.contains(claim), "\(remedy)")
      }
    }
  }

  @Test("every reason has one sentence of advice")
  func remedies() {
    for index in ReasonTable.rows.indices {
      let remedy = ReasonTable.remedy(of: ReasonID(Int32(index + 1))) ?? ""
      #expect(remedy.hasSuffix(".") && remedy.count > 20)
    }
    let invalid = ReasonTable.id(of: "InvalidProviderToken").flatMap(ReasonTable.remedy) ?? ""
    #expect(
      invalid.contains("team id") && invalid.contains("key id") && invalid.contains("revoked"))
    #expect(
      ReasonTable.id(of: "ExpiredProviderToken").flatMap(ReasonTable.remedy)?.contains("clock")
        == true)
    #expect(ReasonTable.remedy(of: .connectionLost) != nil)
    #expect(ReasonTable.remedy(of: .none) == nil)
  }
}
