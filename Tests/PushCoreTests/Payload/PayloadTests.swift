import JSON
import PushCore
import Support
import Testing

@Suite("Payloads")
struct PayloadTests {
  @Test(
    "every payload of the case table is accepted byte for byte, warned of, or refused", arguments: Case.all("payload-"))
  func caseTable(row: Case) throws {
    let bytes = try row.bytes()
    var request = NotificationRequest.simple()
    request.payload = bytes

    switch row.outcome {
    case "accept", "warn":
      let (publication, warnings) = try request.checked()
      let expected = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
      #expect(publication.payload == expected)
      #expect(publication.payload.first == UInt8(ascii: "{"))
      #expect(warnings.isEmpty == (row.outcome == "accept"))
    case "reject":
      let faults = try request.faults()
      #expect(faults.findings.count == 1)
      #expect(faults.findings[0].path == "payload")
    default: Issue.record("unknown outcome \(row.outcome)")
    }
  }

  @Test("the case table is not empty")
  func tableIsThere() { #expect(Case.all("payload-").count == 26) }

  static let refusals: [(String, String)] = [
    ("payload-4097.json", "4097 bytes, limit 4096"),
    ("payload-emoji-4097.json", "4097 bytes, limit 4096"),
    ("payload-64k.json", "65536 bytes, limit 4096"),
    ("payload-family-emoji-5000.json", "5000 bytes, limit 4096"),
    ("payload-nul-escape.json", "U+0000"),
    ("payload-aps-string.json", "aps must be an object, not a string"),
    ("payload-array-root.json", "the payload must be a JSON object, not an array"),
    ("payload-deep-nesting.json", "nested more than 64 levels deep"),
    ("payload-empty.json", "the payload is empty"),
    ("payload-infinity.json", "too large"),
    ("payload-nan.json", "line 1, column"),
    ("payload-no-aps.json", "no aps object"),
    ("payload-single-quotes.json", "line 1, column 2"),
    ("payload-trailing-comma.json", "comma before the closing bracket"),
    ("payload-two-documents.json", "after the end of the JSON value"),
  ]

  @Test("a refusal says what is wrong and where", arguments: refusals)
  func refusal(file: String, words: String) throws {
    var request = NotificationRequest.simple()
    request.payload = try Fixture.bytes("cases/\(file)")
    let faults = try request.faults()
    let isTooLarge = words.contains("limit")
    #expect(faults.description.contains(words))
    #expect(faults.isPayloadTooLarge == isTooLarge)
  }

  @Test(
    "what receivers would read differently is refused",
    arguments: [
      "{\"aps\":{},\"aps\":{\"alert\":\"x\"}}", "{\"aps\":{\"alert\":\"x\",\"alert\":\"y\"}}",
      "{\"aps\":{\"alert\":\"\\ud83d\"}}", "{\"aps\":{\"alert\":\"\\ude00x\"}}",
      "{\"aps\":{\"alert\":\"x\"},\"n\":1e400}",
      "{\"aps\":{\"alert\":\"x\"},\"a\\u0000b\":1}", "{\"aps\":[]}", "{\"aps\":null}", "null", "\"x\"",
      "{\"aps\":{\"alert\":\"\u{1}\"}}",
    ])
  func ambiguous(text: String) throws {
    #expect(try NotificationRequest.simple(text).faults().findings.map(\.path) == ["payload"])
  }

  @Test("invalid UTF-8 is refused")
  func invalidUTF8() throws {
    var request = NotificationRequest.simple()
    request.payload = Array("{\"aps\":{\"alert\":\"".utf8) + [0xC3] + Array("\"}}".utf8)
    #expect(try request.faults().description.contains("UTF-8"))
  }

  @Test("exactly one byte order mark is taken off")
  func byteOrderMark() throws {
    var request = NotificationRequest.simple()
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    request.payload = mark + mark + Array("{\"aps\":{}}".utf8)
    _ = try request.faults()
  }

  @Test("misplaced keys are named, and custom data keeps its freedom")
  func misplaced() throws {
    let (_, warnings) = try NotificationRequest.simple(
      "{\"aps\":{\"alert\":\"x\"},\"category\":\"MSG\",\"sound\":\"default\",\"timestamp\":5,\"event\":\"e\",\"id\":1}"
    ).checked()
    #expect(warnings.map(\.path) == ["payload.category", "payload.sound"])
  }

  @Test("values that devices ignore are warned of")
  func wrongTypes() throws {
    let (_, warnings) = try NotificationRequest.simple(
      "{\"aps\":{\"alert\":\"x\",\"badge\":\"3\",\"category\":4,\"interruption-level\":\"loud\",\"payload\":{\"hash\":\"1\"}}}"
    ).checked()
    #expect(warnings.map(\.path) == ["payload.aps.badge", "payload.aps.category", "payload.aps.interruption-level"])
  }

  @Test("a push that shows nothing is warned of")
  func invisible() throws {
    #expect(try NotificationRequest.simple("{\"aps\":{}}").checked().warnings.map(\.path) == ["payload.aps"])
  }
}
