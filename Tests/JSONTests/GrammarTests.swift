import JSON
import Testing

@Suite("What is JSON and what is not")
struct GrammarTests {
  /// Texts of RFC 8259, most after the cases of https://github.com/nst/JSONTestSuite.
  static let accepted: [String] = [
    "{}", "[]", "[[]]", "[[]   ]", #"[""]"#, "[false]", "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]",
    "[1,null,null,null,2]",
    "[2] ", "[0e+1]", "[0e1]", "[ 4]", "[-0]", "[-0.0]", "[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]",
    "[123.456e78]", "[1e-2]", "[1e+2]", "[123]", "[123.456789]", "[20e1]", "[123e65]",
    "[-0.000000000000000000000000000001]",
    #"{"asd":"sdf"}"#, #"{"a":"b","a":"c"}"#, #"{"":0}"#, #"{"foo\u0000bar": 42}"#,
    #"{"min": -1.0e+28, "max": 1.0e+28 }"#,
    #"{"a":[]}"#, "{\n\"a\": \"b\"\n}", #"["\u0060\u012a\u12AB"]"#, #"["\uD801\udc37"]"#,
    #"["\ud83d\ude39\ud83d\udc8d"]"#,
    #"["\"\\\/\b\f\n\r\t"]"#, #"["\\u0000"]"#, #"["\""]"#, #"["a/*b*/c/*d//e"]"#, #"["\u0012"]"#, #"["\uFFFF"]"#,
    #"["\uDBFF\uDFFF"]"#, #"["new\u00A0line"]"#, "[\"\u{10FFFF}\"]", "[\"\u{FFFF}\"]", #"["\u0000"]"#, #"["\u002c"]"#,
    "[\"π\"]", "[\"\u{1BFFF}\"]", "[\"asd \"]", #"" ""#, "[\"\u{2028}\u{2029}\"]", #"["\u0821"]"#, "[\"€𝄞\"]",
    "[\"aa\u{7F}\"]",
    "false", "42", "-0.1", "null", "\"asd\"", "true", "\"\"", "[\"a\"]\n", "[true]", " [] ", "\t\r\n 1 \t\r\n",
    "123123e-10000000",
    "0", "-1", "1.5", "[100000000000000000000]",
  ]

  static let refused: [String] = [
    "", " ", "[1 true]", #"["": 1]"#, #"[""],"#, "[,1]", "[1,,2]", #"["x",,]"#, #"["x"]]"#, #"["",]"#, #"["x""#, "[x",
    "[3[4]]",
    "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[\"\u{0B}a\"\\f]", "[*]", "[\"\"", "[1,",
    "[1,\n1\n,1",
    "[{}", "[fals]", "[nul]", "[tru]", "123\u{0}", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]",
    "[.-1]",
    "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]",
    "[1.0e]", "[1 000.0]",
    "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[\u{FF11}]", "[1+2]", "[0x1]", "[0x42]",
    "[Infinity]",
    "[0e+-1]", "[-123.123foo]", "[-Infinity]", "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1.]",
    "[.123]", "[1.2a-3]",
    "[1.8011670033376514H-308]", "[012]", "[\"x\", truth]", "{[: \"x\"}\n", "{\"x\", null}", "{\"x\"::\"b\"}", "{🇨🇭}",
    "{\"a\":\"a\" 123}", "{key: 'value'}", "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}",
    "{9999E9999:1}",
    "{null:null,null:null}", "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}/**//",
    "{\"a\":\"b\"}//",
    "{\"a\":\"b\"}/", "{\"a\":\"b\",,\"c\":\"d\"}", "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }",
    "{\"a\":\"b\"}#", "{\"\":",
    #"["\uD800\"]"#, #"["\uD800\u"]"#, #"["\uD800\u1"]"#, #"["\uD800\u1x"]"#, "[é]", #"["\x00"]"#, #"["\\\"]"#,
    "[\"\\\t\"]", "[\"\\🌀\"]",
    #"["\"]"#, #"["\u00A"]"#, #"["\uD834\uDd"]"#, #"["\uD800\uD800\x"]"#, #"["\u"#, #"["\a"]"#, #"["\uqqqq"]"#,
    "[\\u0020\"asd\"]",
    "[\\n]", "\"", "['single quote']", "abc", #"["\"#, "[\"a\u{0}a\"]", "[\"new\nline\"]", "[\"\t\"]", #""\UA66D""#,
    "\"\"x", "<.>",
    "[<null>]", "[1]x", "[1]]", "[\"asd]", "aå", "[True]", "1]", "{\"x\": true,", "[][]", "]", "{}}", "{", "[", "{,",
    "[{\"\":[{\"\":",
    "*", "{\"a\":\"b\"}#{}", "[\"a", "[\"a\"", "[1", "[ false, nul", "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"",
    "['", "[,", "{[",
    "{]", "å", "[\u{2060}]", "\u{FEFF}", "\u{FEFF}{}", "[\u{0C}]", "\u{00A0}1", "[\"\\{[\"\\{[\"\\{[\"\\{",
    #"["\uD800"]"#, #"["\uDC00"]"#,
    #"["\uDC00\uD800"]"#, #"["\uD800\uD800"]"#, #"["\uD83Dx"]"#, "1e400", "-1e400", "[1e999]", "tru", "nul", "truee",
    "--1",
    "01", "1 2", "{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]",
  ]

  @Test("RFC 8259 is taken", arguments: accepted)
  func takes(text: String) throws {
    let bytes = Array(text.utf8)
    let strict = try JSONValue(parsing: bytes)
    #expect(try JSONValue(parsing: bytes, syntax: .relaxed) == strict)
  }

  @Test("everything else is refused", arguments: refused)
  func refuses(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
  }

  @Test("no beginning of a text is taken for the whole, and none crashes")
  func beginnings() {
    let text = Array(#"{"a":[1.5e+3,"\ud83d\ude00é",true,null],"b":{"c":-0.1}} "#.utf8)
    for end in 0..<text.count - 1 {
      #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text[..<end])) }
    }
    #expect(throws: Never.self) { try JSONValue(parsing: text) }
  }

  @Test("a changed byte anywhere is taken or refused, never fatal")
  func mutations() {
    let text = Array(#"{"a":[1.5e+3,"\ud83d\ude00é",true,null],"b":{"c":-0.1}} "#.utf8)
    var taken = 0
    for index in text.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = text
        changed[index] = byte
        for syntax in [JSONSyntax.strict, .relaxed] where (try? JSONValue(parsing: changed, syntax: syntax)) != nil {
          taken += 1
        }
      }
    }
    #expect(taken > text.count)
  }

  @Test(
    "UTF-8 must be valid, and the fault has the place of the byte",
    arguments: [
      ([0x22, 0xFF, 0x22], 1), ([0x22, 0x61, 0xC0, 0xAF, 0x22], 2), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
      ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1), ([0x22, 0xE2, 0x82, 0x22], 1), ([0x22, 0x81, 0x22], 1),
      ([0x22, 0x5C, 0x6E, 0xC3, 0x22], 3), ([0x22, 0xF0, 0x80, 0x80, 0x80, 0x22], 1), ([0xFF], 0),
      ([0x5B, 0xE9, 0x5D], 1),
      ([0x7B, 0x22, 0xB9, 0x22, 0x3A, 0x31, 0x7D], 2),
    ] as [([UInt8], Int)])
  func invalidUTF8(bytes: [UInt8], offset: Int) {
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
    #expect(error?.offset == offset)
  }

  @Test("other encodings are named")
  func encodings() {
    let utf16 = #expect(throws: JSONError.self) { try JSONValue(parsing: [0xFF, 0xFE, 0x7B, 0, 0x7D, 0]) }
    #expect(utf16?.message == "the text is UTF-16; save it as UTF-8")
    let mark = #expect(throws: JSONError.self) { try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x7B, 0x7D]) }
    #expect(mark?.message == "the text begins with a byte order mark")
    #expect(throws: Never.self) { try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x7B, 0x7D], syntax: .relaxed) }
  }

  @Test("nesting has a limit that the caller may set")
  func depth() throws {
    func nested(_ depth: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
    }

    #expect(throws: Never.self) { try JSONValue(parsing: nested(64)) }
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: nested(65)) }
    #expect(error?.message == "nested more than 64 levels deep")
    #expect(error?.offset == 64)
    #expect(throws: JSONError.self) { try JSONValue(parsing: nested(100_000)) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)) }
    #expect(throws: Never.self) { try JSONValue(parsing: nested(3), maximumDepth: 3) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: nested(4), maximumDepth: 3) }
    // Depth counts what is open at once.
    let wide = Array("[\(Array(repeating: "[[]]", count: 1000).joined(separator: ","))]".utf8)
    #expect(throws: Never.self) { try JSONValue(parsing: wide, maximumDepth: 3) }
  }

  @Test(
    "relaxed syntax also has comments and a comma at the end, and nothing more",
    arguments: [
      ("// a\n{ /* b */ \"a\" /**/ : [1, 2, /* c */ ], } // d", true), ("[1,]", true), ("{\"a\":1,}", true),
      ("[/***/]", true),
      ("[1//\r,2]", true), ("[]/*", false), ("[] /", false), ("[,]", false), ("{,}", false), ("[1,,]", false),
      ("/*/ []", false),
      ("[1/ 2]", false), ("['a']", false), ("{a:1}", false), ("[+1]", false), ("#\n[]", false), ("//", false),
      ("", false),
      ("[0x1]", false), ("[Infinity]", false),
    ])
  func relaxed(text: String, isTaken: Bool) {
    #expect(((try? JSONValue(parsing: Array(text.utf8), syntax: .relaxed)) != nil) == isTaken)
  }
}
