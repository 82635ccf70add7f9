import JSON
import Testing

@Suite("Written JSON")
struct WriterTests {
  @Test("objects and arrays nest, with commas between and none around")
  func nesting() throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("id", "a")
      writer.member("none", nil as String?)
      writer.member("count", 3)
      writer.member("missing", nil as Int?)
      writer.member("ok", true)
      writer.member("names", ["x", "y"])
      writer.name("empty")
      writer.object { _ in }
      writer.name("list")
      writer.array { writer in
        writer.array { _ in }
        writer.null()
        writer.raw(#"{"as":1.0}"#.utf8)
        writer.integer(Int64.min)
        writer.integer(UInt64.max)
        writer.bool(false)
        writer.string("s")
      }
    }

    #expect(
      writer.text == #"{"id":"a","none":null,"count":3,"missing":null,"ok":true,"names":["x","y"],"empty":{},"#
        + #""list":[[],null,{"as":1.0},-9223372036854775808,18446744073709551615,false,"s"]}"#)
    #expect(throws: Never.self) { try JSONValue(parsing: writer.bytes) }
  }

  @Test("strings are escaped as far as JSON demands, and stay as they are otherwise")
  func escaping() {
    var writer = JSONWriter()
    writer.string("\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1F} é😀\u{7F}\u{2028}")

    #expect(writer.text == "\"\\\"\\\\/\\u0008\\t\\n\\u000c\\r\\u0000\\u001f é😀\u{7F}\u{2028}\"")
  }

  @Test("every scalar comes back as it was written")
  func roundTrip() throws {
    let scalars = (UInt32(0)...0x10FFFF).lazy.compactMap(Unicode.Scalar.init)
    var text = String.UnicodeScalarView()
    for scalar in scalars where scalar.value < 0x3000 || scalar.value % 251 == 0 { text.append(scalar) }
    var writer = JSONWriter()
    writer.object { $0.member(String(text), String(text)) }

    let member = try #require(try JSONValue(parsing: writer.bytes).object?.first)

    #expect(member.name.unicodeScalars.elementsEqual(text))
    #expect(member.value.string?.unicodeScalars.elementsEqual(text) == true)
  }
}
