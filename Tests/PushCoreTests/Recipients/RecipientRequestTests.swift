import PushCore
import Testing

@Suite("Recipients with values of their own")
struct RecipientRequestTests {
  private static let greeting = #"{"aps":{"alert":"Hi {{name}}"}}"#
  private static let token = String(repeating: "ab", count: 32)

  private func request(
    _ recipients: String, payload: String = greeting, more: String = ""
  ) throws -> NotificationRequest {
    try NotificationRequest(
      json: Array(#"{"topic":"com.example.app","recipients":\#(recipients),"payload":\#(payload)\#(more)}"#.utf8))
  }

  private func paths(_ recipients: String, payload: String = greeting, more: String = "") throws -> [String] {
    try request(recipients, payload: payload, more: more).faults().findings.map(\.path)
  }

  @Test("tokens, users and interests become one target, with the values of each beside it")
  func whole() throws {
    let publication = try request(
      """
      [{"interest":"news","values":{"name":"all","unused":"x"}},{"user":"ada","values":{"name":"A\\"da"}},
       {"token":"<\(Self.token.uppercased())>","values":{"name":"\\u00e9"}},{"interest":"chess","values":{"name":""}}]
      """
    ).checked().publication

    #expect(
      publication.target
        == Target(interests: ["news", "chess"], users: ["ada"], tokens: [DeviceToken(stored: Self.token)]))
    #expect(publication.payload == Array(Self.greeting.utf8))
    var values = RecipientValues(names: ["name"])
    values.interests = [[Array("all".utf8)], [[]]]
    values.users = [[Array(#"A\"da"#.utf8)]]
    values.tokens = [[Array("é".utf8)]]
    #expect(publication.recipientValues == values)
  }

  @Test("each fault has its path, and all are told at once")
  func faults() throws {
    #expect(
      try paths(
        """
        [{"values":{"name":"a"}},{"token":"\(Self.token)","user":"a","values":{"name":"a"}},{"user":"b"},5,
         {"user":"c","values":{"name":7}},{"user":"","values":{"name":"a"}},{"token":"xyz","values":{"name":"a"}},
         {"interest":"n e w s","values":{"name":"a"}},{"users":"d","values":{"name":"a"}},{"user":"e","values":[]},
         {"user":5,"values":{"name":"a"}},{"user":"f","values":{"name":"a\\u0000"}},{"user":"g","values":{"name":"a","name":"b"}},
         {"user":null,"values":{"name":"a"}},{"user":"h","values":null},{"user":"i","user":"j","values":{"name":"a"}}]
        """
      ) == [
        "recipients[0]", "recipients[1]", "recipients[3]", "recipients[4].values.name", "recipients[8].users",
        "recipients[8]", "recipients[9].values", "recipients[10].user", "recipients[12].values.name",
        "recipients[13].user", "recipients[14].values", "recipients[15].user", "recipients[2].values.name",
        "recipients[5].user", "recipients[6].token", "recipients[7].interest",
        "recipients[11].values.name",
      ])
    let numbers = try request(#"[{"user":"c","values":{"name":7}}]"#).faults()
    #expect(
      numbers.description
        == "recipients[0].values.name: it must be a string, not a number: write it as the device is to show it")
    #expect(try request(#"[{"users":"d"}]"#).faults().description.contains("did you mean user?"))
  }

  @Test("nobody, everybody twice, too many, and target beside recipients are refused")
  func refused() throws {
    #expect(try paths("[]") == ["recipients"])
    #expect(try paths(#"{"user":"a"}"#) == ["recipients"])
    let both = #"[{"user":"a","values":{"name":"x"}}]"#
    #expect(try paths(both, more: #","target":{"users":["a"]}"#) == ["recipients"])
    #expect(try paths(both, more: #","target":{}"#) == ["recipients"])
    #expect(try request(both, more: #","target":null"#).checked().publication.target.users == ["a"])
    let twice = try request(
      """
      [{"user":"a","values":{"name":"x"}},{"interest":"a","values":{"name":"x"}},{"user":"a","values":{"name":"y"}},
       {"token":"\(Self.token)","values":{"name":"x"}},{"token":"\(Self.token.uppercased())","values":{"name":"x"}}]
      """
    ).faults()
    #expect(
      twice.description
        == "recipients[2].user: it is in recipients[0] already; recipients[4].token: it is in recipients[3] already")
  }

  @Test("a thousand recipients are taken, a hundred of them interests, and not one more")
  func limits() throws {
    func entries(_ member: String, _ count: Int) -> String {
      "[" + (0..<count).map { #"{"\#(member)":"a\#($0)","values":{"name":"\#($0)"}}"# }.joined(separator: ",") + "]"
    }
    let most = try request(entries("user", 1000)).checked().publication
    #expect(most.target.users.count == 1000 && most.recipientValues?.users.last == [Array("999".utf8)])
    #expect(try paths(entries("user", 1001)) == ["recipients"])
    #expect(try request(entries("interest", 100)).checked().publication.target.interests.count == 100)
    #expect(try paths(entries("interest", 101)) == ["recipients"])
  }

  @Test("users that only look alike are two recipients")
  func sameLook() throws {
    let request = try request(#"[{"user":"\u00e9","values":{"name":"1"}},{"user":"e\u0301","values":{"name":"2"}}]"#)
    #expect(try request.checked().publication.recipientValues?.users == [[Array("1".utf8)], [Array("2".utf8)]])
  }

  @Test("the limit holds for what each recipient gets, not for the payload with its placeholders")
  func sizes() throws {
    let frame = Self.greeting.utf8.count - "{{name}}".utf8.count
    func entry(_ name: String, _ character: String, _ count: Int) -> String {
      #"{"user":"\#(name)","values":{"name":"\#(String(repeating: character, count: count))"}}"#
    }
    let fitting = entry("a", "x", 4096 - frame)
    _ = try request("[\(fitting)]").checked()
    let faults = try request("[\(fitting),\(entry("b", "x", 4097 - frame)),\(entry("c", #"\""#, (4098 - frame) / 2))]")
      .faults()
    #expect(faults.findings.map(\.path) == ["recipients[1]", "recipients[2]"])
    #expect(faults.findings[0].detail == "with these values the payload has 4097 bytes, limit 4096")
    #expect(faults.isPayloadTooLarge)

    let long = String(repeating: "n", count: 4090)
    _ = try request(#"[{"user":"a","values":{"\#(long)":"x"}}]"#, payload: #"{"aps":{"alert":"{{\#(long)}}"}}"#)
      .checked()
    #expect(try paths(#"[{"user":"a"}]"#, payload: #"{"aps":{"alert":"\#(long)"}}"#) == ["payload"])
  }

  @Test("without placeholders recipients are a target like any other")
  func withoutPlaceholders() throws {
    let publication = try request(
      #"[{"user":"a"},{"user":"b","values":{"x":"y"}}]"#, payload: #"{"aps":{"alert":"Hi"}}"#
    )
    .checked().publication
    #expect(publication.recipientValues == nil && publication.target.users == ["a", "b"])
  }

  @Test("without recipients braces in a payload mean nothing")
  func withoutRecipients() throws {
    let payload = #"{"aps":{"alert":"{{name}} {{ {{"}}"#
    let publication = try NotificationRequest.simple(payload).checked().publication
    #expect(publication.payload == Array(payload.utf8) && publication.recipientValues == nil)
  }

  @Test("braces that begin no placeholder are a fault of the payload")
  func slip() throws {
    #expect(try paths(#"[{"user":"a"}]"#, payload: #"{"aps":{"alert":"{{ name }}"}}"#) == ["payload"])
  }

  @Test("a login approval whose hash is a value is urgent all the same")
  func loginApproval() throws {
    let publication = try request(
      #"[{"user":"a","values":{"hash":"h"}}]"#,
      payload: #"{"aps":{"alert":"x","category":"LoginActions","payload":{"hash":"{{hash}}"}}}"#
    ).checked().publication
    #expect(publication.lane == .urgent)
  }
}
