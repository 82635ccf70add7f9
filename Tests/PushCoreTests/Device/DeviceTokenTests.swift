import PushCore
import Support
import Testing

@Suite("Device tokens as people and apps write them")
struct DeviceTokenTests {
  private func token(_ file: String) throws -> DeviceToken {
    try DeviceToken(parsing: try Fixture.text("cases/\(file)"))
  }

  @Test("every token of the case table is accepted in its canonical form, or refused", arguments: Case.all("token-"))
  func caseTable(row: Case) throws {
    guard row.outcome == "accept" else {
      #expect(throws: DeviceToken.Fault.self) { _ = try token(row.file) }
      return
    }
    let expected = try Fixture.text("cases/token-good.txt").filter(\.isHexDigit)
    let found = try token(row.file)
    switch row.file {
    case "token-100-bytes.txt": #expect(found.text.count == 200)
    case "token-80-bytes.txt": #expect(found.text.count == 160)
    default: #expect(found.text == expected)
    }
  }

  @Test("the case table is not empty")
  func tableIsThere() { #expect(Case.all("token-").count == 10) }

  @Test("a refusal names what was given and never the token")
  func messages() throws {
    let cases: [(String, DeviceToken.Fault)] = [
      ("", .empty), ("<>", .empty), ("abc", .oddLength(digits: 3)),
      (String(repeating: "a", count: 202), .tooLong(digits: 202)),
      ("r6htY53azZQOlD7rpIiZ4JeIDK01PdLC", .looksLikeBase64),
      ("{length=32,bytes=0x7c31dc8a}", .dataDescription), ("32 bytes", .dataDescription),
      ("7c31dc8a\u{0}", .notHexadecimal(position: 9)), ("zz", .notHexadecimal(position: 1)),
    ]
    for (text, fault) in cases {
      let error = try #require(throws: DeviceToken.Fault.self) { _ = try DeviceToken(parsing: text) }
      #expect(error == fault)
      if text.count > 8 { #expect(!error.description.contains(text.prefix(8))) }
    }
  }

  @Test("the device surface takes an odd number of digits, stored as sent")
  func oddLength() throws {
    let text = "fcc37fb74f2506277739c1e343c535f131447327105e23ad2a0ce"
    #expect(try DeviceToken(parsing: text, allowsOddLength: true).text == text)
  }
}
