import PushCore
import Testing

@Suite("Building a payload from options")
struct PayloadBuilderTests {
  private func build(_ set: (inout PayloadBuilder) -> Void) throws -> String {
    var builder = PayloadBuilder()
    set(&builder)
    return String(decoding: try builder.build(), as: UTF8.self)
  }

  private func faults(_ set: (inout PayloadBuilder) -> Void) throws -> [String] {
    var builder = PayloadBuilder()
    set(&builder)
    return try #require(throws: NotificationFaults.self) { _ = try builder.build() }.findings.map(\.path)
  }

  @Test("every value has its place")
  func everything() throws {
    let text = try build {
      $0.title = "T"
      $0.subtitle = "S"
      $0.body = "B"
      $0.badge = 3
      $0.sound = "default"
      $0.category = "MSG"
      $0.threadID = "t1"
      $0.interruptionLevel = "time-sensitive"
      $0.data = ["k=v"]
    }
    #expect(
      text
        == "{\"aps\":{\"alert\":{\"title\":\"T\",\"subtitle\":\"S\",\"body\":\"B\"},\"badge\":3,\"sound\":\"default\",\"category\":\"MSG\",\"thread-id\":\"t1\",\"interruption-level\":\"time-sensitive\"},\"k\":\"v\"}"
    )
  }

  @Test("a title of digits stays a string, and badge 0 is a value")
  func types() throws {
    #expect(try build { $0.title = "123456789123456789" } == "{\"aps\":{\"alert\":{\"title\":\"123456789123456789\"}}}")
    #expect(try build { $0.badge = 0 } == "{\"aps\":{\"badge\":0}}")
  }

  @Test("key=value is a string, key:=json is JSON with its own spelling")
  func data() throws {
    let text = try build {
      $0.data = [
        "credits=100", "code=007", "ok=true", "n:=1.10", "big:=18446744073709551615", "flag:=true", "list:= [1, 2]",
        "url=a:=b=c", "{\"o\":{\"x\":1.0},\"s\":\"\\u00e9\"}", "q=\"é/\n\"",
      ]
    }
    #expect(
      text
        == "{\"aps\":{},\"credits\":\"100\",\"code\":\"007\",\"ok\":\"true\",\"n\":1.10,\"big\":18446744073709551615,\"flag\":true,\"list\":[1, 2],\"url\":\"a:=b=c\",\"o\":{\"x\":1.0},\"s\":\"\\u00e9\",\"q\":\"\\\"é/\\n\\\"\"}"
    )
  }

  @Test("faulty data is named by its place")
  func dataFaults() throws {
    #expect(
      try faults { $0.data = ["a=1", "b", "c:=007", "{\"x\":", "aps={}", "=v", "{\"aps\":1}", ":=1"] }
        == ["data[1]", "data[2]", "data[3]", "data[4]", "data[5]", "data[6]", "data[7]"])
    #expect(try faults { $0.data = ["a=1", "{\"a\":2}"] } == ["data"])
  }

  @Test("a negative badge and an unknown level are refused together")
  func otherFaults() throws {
    #expect(
      try faults {
        $0.badge = -1
        $0.interruptionLevel = "loud"
      } == ["badge", "interruption_level"])
  }

  @Test("a background push has content-available and nothing visible")
  func background() throws {
    let text = try build {
      $0.isContentAvailable = true
      $0.data = ["sync=inbox"]
    }
    #expect(text == "{\"aps\":{\"content-available\":1},\"sync\":\"inbox\"}")
  }
}
