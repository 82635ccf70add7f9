import JSON
import PushCore
import Testing

@Suite("Placeholders of a payload")
struct PayloadTemplateTests {
  private func template(_ payload: String) throws -> PayloadTemplate {
    try PayloadTemplate(try Payload(Array(payload.utf8)))
  }

  /// The payload with these values, which must be a payload, and whose size must be the one foretold.
  private func render(_ payload: String, _ values: [String: String]) throws -> String {
    let template = try template(payload)
    let entry = template.names.map { PayloadTemplate.escaped(values[$0] ?? "?") }
    let bytes = template.rendered(entry)
    _ = try Payload(bytes)
    #expect(bytes.count == template.byteCount(entry))
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a value stands where its name stood, and every other byte is the sender's")
  func rendering() throws {
    let payload =
      "{ \"n\" : 1.10, \"aps\":{\"alert\":\"Hi {{name}}, \\u00e9\\/ {{n_2}}{{name}}!\"},\"a\":[true,[\"{{name}}\"]] }"
    #expect(try template(payload).names == ["name", "n_2"])
    #expect(
      try render(payload, ["name": "Ada", "n_2": ""])
        == "{ \"n\" : 1.10, \"aps\":{\"alert\":\"Hi Ada, \\u00e9\\/ Ada!\"},\"a\":[true,[\"Ada\"]] }")
  }

  @Test(
    "whatever a value holds, the device reads exactly that and nothing beside it",
    arguments: [
      "", "\"", "\\", "\\\"", "\",\"x\":\"", "\n\r\t\u{8}\u{C}\u{1}\u{1F}", "😀👩‍👩‍👧", "\u{FEFF}é e\u{301}", "{{name}}",
      "}}", "{{",
      "\u{7F}\u{2028}\u{2029}", "</script>", "\\u0041", "\u{10FFFF}",
    ])
  func values(value: String) throws {
    let rendered = try render(#"{"aps":{"alert":"<{{name}}>","x":{"y":"{{name}}"}}}"#, ["name": value])
    let aps = try JSONValue(parsing: Array(rendered.utf8))["aps"]

    #expect(aps?.object?.count == 2 && aps?["x"]?.object?.count == 1)
    #expect(aps?["alert"]?.string.map { Array($0.utf8) } == Array("<\(value)>".utf8))
    #expect(aps?["x"]?["y"]?.string.map { Array($0.utf8) } == Array(value.utf8))
  }

  @Test("keys, single braces and braces written as escapes stay as they are")
  func literals() throws {
    let payload =
      #"{"{{key}}":{"{{name}}":"{a} }} { {"},"e":"\u007b\u007bname}} \\{{name}}","aps":{"alert":"\"{{name}}\""}}"#
    #expect(try template(payload).names == ["name"])
    #expect(
      try render(payload, ["name": "Ada"])
        == #"{"{{key}}":{"{{name}}":"{a} }} { {"},"e":"\u007b\u007bname}} \\Ada","aps":{"alert":"\"Ada\""}}"#)
  }

  @Test(
    "two braces that begin no placeholder are refused: a slip would be on every screen",
    arguments: [
      "{{name}", "{{name", "{{", "{{}}", "{{ name }}", "{{first-name}}", "{{1st}}", "{{{name}}}", "{{a{{b}}}}", "{{é}}",
      "{{n\\u0061me}}", "x{{name}}{{", "{{name}\\u007d",
    ])
  func slips(text: String) throws {
    let payload = try Payload(Array("{\"aps\":{\"alert\":\"\(text)\"}}".utf8))
    let fault = #expect(throws: Payload.Fault.self) { _ = try PayloadTemplate(payload) }
    let place = text.hasPrefix("x") ? 26 : 17
    #expect(
      fault?.description.contains("at byte \(place) begins no placeholder") == true, "\(fault?.description ?? "")")
  }

  @Test("a payload without placeholders has no names and stays as it is")
  func none() throws {
    let payload = #"{"aps":{"alert":"Hi"}}"#
    #expect(try template(payload).names.isEmpty)
    #expect(try render(payload, [:]) == payload)
  }
}
