import Foundation
import JSON
import Testing

@Suite("Parsed values")
struct ValueTests {
  func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

  func fixture(_ name: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")
    return Array(try Data(contentsOf: folder.appendingPathComponent(name)))
  }

  @Test(
    "payloads are taken or refused as they should be",
    arguments: [
      ("payload-4096.json", true), ("payload-bigint.json", true), ("payload-bom.json", false),
      ("payload-bool-int.json", true),
      ("payload-deep-nesting.json", false), ("payload-empty.json", false), ("payload-emoji-4096.json", true),
      ("payload-floats.json", true), ("payload-infinity.json", false), ("payload-nan.json", false),
      ("payload-nul-escape.json", true),
      ("payload-single-quotes.json", false), ("payload-trailing-comma.json", false),
      ("payload-two-documents.json", false),
      ("payload-array-root.json", true),
    ])
  func payloads(name: String, isTaken: Bool) throws {
    let bytes = try fixture(name)
    #expect(((try? JSONValue(parsing: bytes)) != nil) == isTaken)
  }

  @Test("true is not 1 and 1 is not true")
  func truth() throws {
    let value = try JSONValue(parsing: fixture("payload-bool-int.json"))

    #expect(value["flag"]?.bool == true)
    #expect(value["flag"]?.integer == nil)
    #expect(value["one"]?.integer == 1)
    #expect(value["one"]?.bool == nil)
    #expect(value["zero"]?.bool == nil)
    #expect(value["off"]?.bool == false)
  }

  @Test(
    "a number keeps its spelling",
    arguments: [
      "0", "-0", "1.0", "1.10", "1e2", "1E+2", "0.1", "18446744073709551615", "9007199254740993",
      "123456789012345678901234567890",
      "-0.000000000000000000000000000001", "1e-400", "4.9e-324", "1.7976931348623157e308",
    ])
  func spelling(text: String) throws {
    #expect(try parse("[\(text)]").array?.first?.number?.text == text)
  }

  @Test("whole numbers are exact, and only those that are spelled as such")
  func integers() throws {
    let values = try #require(
      try parse("[9223372036854775807, -9223372036854775808, 9223372036854775808, 1.0, 1e2, -0, 9007199254740993]")
        .array)

    #expect(values.map(\.integer) == [.max, .min, nil, nil, nil, 0, 9_007_199_254_740_993])
    #expect(values[3].number?.double == 1)
    #expect(values[4].number?.double == 100)
    #expect(try parse("1e-400").number?.double == 0)
  }

  @Test("a number of 400 digits is too large, one of 308 is not")
  func longNumbers() throws {
    #expect(throws: Never.self) { try parse(String(repeating: "1", count: 308)) }
    #expect(throws: Never.self) { try parse("0." + String(repeating: "1", count: 1000)) }
    let error = #expect(throws: JSONError.self) { try parse("[1" + String(repeating: "0", count: 400) + "]") }
    #expect(error?.message == "the number is too large for a 64-bit floating-point value")
    #expect(error?.column == 2)
  }

  @Test("every escape gives its character")
  func escapes() throws {
    #expect(try parse(#""\"\\\/\b\f\n\r\t""#).string == "\"\\/\u{8}\u{C}\n\r\t")
    #expect(try parse(#""\u0041\u00e9\u20AC\ud83d\ude00x""#).string == "Aé€😀x")
    #expect(try parse(#""\u0000""#).string == "\0")
    #expect(try parse(#""\ud800\udc00\udbff\udfff\ud7ff\ue000""#).string == "\u{10000}\u{10FFFF}\u{D7FF}\u{E000}")
  }

  @Test("characters are neither composed nor decomposed")
  func normalization() throws {
    let text = "e\u{301}\u{E9}\u{AC00}"
    #expect(try parse("\"\(text)\"").string.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
  }

  @Test("ranges are those of the values in the document")
  func ranges() throws {
    let text = " { \"a\" : [ 1.50 , \"é\\n\" ] , \"b\":{ } } "
    let bytes = Array(text.utf8)
    let value = try JSONValue(parsing: bytes)
    func slice(_ range: Range<Int>?) -> String { String(decoding: bytes[range ?? 0..<0], as: UTF8.self) }

    #expect(slice(value.range) == "{ \"a\" : [ 1.50 , \"é\\n\" ] , \"b\":{ } }")
    #expect(slice(value["a"]?.range) == "[ 1.50 , \"é\\n\" ]")
    #expect(value["a"]?.array?.map { slice($0.range) } == ["1.50", "\"é\\n\""])
    #expect(slice(value["b"]?.range) == "{ }")
    #expect(value.object?.map { slice($0.nameRange) } == ["\"a\"", "\"b\""])
  }

  @Test("members stay in order, repeated names too; the first one is found")
  func members() throws {
    let value = try parse(#"{"b":1,"a":2,"b":3}"#)

    #expect(value.object?.map(\.name) == ["b", "a", "b"])
    #expect(value["b"]?.integer == 1)
    #expect(value["c"] == nil)
    #expect(try parse("[1]")["0"] == nil)
  }

  @Test("each kind is only itself")
  func kinds() throws {
    let values = try #require(try parse(#"[null,true,1,"s",[],{}]"#).array)

    #expect(values.map(\.isNull) == [true, false, false, false, false, false])
    #expect(values.map { $0.bool != nil } == [false, true, false, false, false, false])
    #expect(values.map { $0.number != nil } == [false, false, true, false, false, false])
    #expect(values.map { $0.string != nil } == [false, false, false, true, false, false])
    #expect(values.map { $0.array != nil } == [false, false, false, false, true, false])
    #expect(values.map { $0.object != nil } == [false, false, false, false, false, true])
    #expect(values.map(\.kindName) == ["null", "true or false", "a number", "a string", "an array", "an object"])
  }

  @Test(
    "a fault has its line and column, whatever ends the lines",
    arguments: [
      ("[1,\n2,\nx]", 3, 1), ("[1,\r\n2,\r\n x]", 3, 2), ("[1,\r2,\rx]", 3, 1), ("x", 1, 1), ("", 1, 1), ("[\n", 2, 1),
      ("\"é\" x", 1, 6),
      ("{\"a\":tru}", 1, 9), ("[1,\n]", 1, 3), ("[\n\"a\u{1}\"]", 2, 3), ("{\"a\" 1}", 1, 6),
      ("{\n\"a\":1\n\"b\":2}", 3, 1),
    ])
  func places(text: String, line: Int, column: Int) {
    let error = #expect(throws: JSONError.self) { try parse(text) }
    #expect(error?.line == line)
    #expect(error?.column == column)
  }

  @Test("a message says what was found and what should be there, and no more of the document")
  func messages() {
    func message(_ text: String) -> String? {
      #expect(throws: JSONError.self) { try parse(text) }?.description
    }

    #expect(message("{'a':1}") == "found ''' where a name in double quotes should be (line 1, column 2)")
    #expect(message("[1;2]") == "found ';' where ',' or ']' should be (line 1, column 3)")
    #expect(message("[\u{7}]") == "found byte 0x07 where a value should be (line 1, column 2)")
    #expect(message("[1") == "the text ends where ',' or ']' should be (line 1, column 3)")
    #expect(message("{}{}") == "there is more after the end of the JSON value (line 1, column 3)")
    #expect(message("") == "the text is empty (line 1, column 1)")
    #expect(message("[1,]") == "a comma before the closing bracket (line 1, column 3)")
    #expect(message("\"secret") == "the string is not closed (line 1, column 1)")
  }
}
