import Testing

@testable import APNsSimulator

@Suite("Warnings about accepted requests")
struct WarningTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var type: PushType
    var body: String
    var warning: String?
    var testDescription: String { "\(type.rawValue) \(body)" }
  }

  static let cases = [
    Case(type: .alert, body: #"{"aps":{"alert":{"title":"a","body":"b"},"badge":1,"sound":"default"},"x":1}"#),
    Case(type: .alert, body: "{}", warning: "alert pushes need an aps object"),
    Case(type: .alert, body: #"{"aps":{}}"#, warning: "an alert push without alert, badge and sound shows nothing"),
    Case(type: .alert, body: #"{"aps":"a"}"#, warning: "aps is a string, not an object"),
    Case(type: .alert, body: #"{"aps":{"alert":"a","badge":"1"}}"#, warning: "aps.badge should be a number"),
    Case(type: .alert, body: #"{"aps":{"alert":1}}"#, warning: "aps.alert should be a string or an object"),
    Case(
      type: .alert, body: #"{"aps":{"alert":"a","payload":{}}}"#,
      warning: "aps has a key that is not Apple's; devices ignore custom keys inside aps"),
    Case(
      type: .alert, body: #"{"aps":{"alert":"a","interruption-level":"loud"}}"#,
      warning: "aps.interruption-level should be one of passive, active, time-sensitive, critical"),
    Case(
      type: .alert, body: #"{"aps":{"alert":"a"},"x":1,"x":2}"#,
      warning: "the payload has a key twice; readers disagree on which one counts"),
    Case(type: .alert, body: "[]", warning: "the payload is an array, not an object"),
    Case(type: .alert, body: "\u{FEFF}{}", warning: "the payload starts with a byte order mark"),
    Case(
      type: .alert, body: #"{"aps":{},}"#,
      warning: "the payload is not JSON in UTF-8: a comma before the closing bracket (line 1, column 10)"),
    Case(type: .background, body: #"{"aps":{"content-available":1}}"#),
    Case(
      type: .background, body: #"{"aps":{"content-available":1,"sound":""}}"#,
      warning: "background pushes must not have aps.sound"),
    Case(
      type: .background, body: #"{"aps":{"content-available":true}}"#,
      warning: "background pushes need aps.content-available 1"),
    Case(type: .voip, body: #"{"caller":"a"}"#),
    Case(type: .mdm, body: #"{"mdm":"magic"}"#),
    Case(type: .mdm, body: #"{"aps":{}}"#, warning: "mdm payloads hold the string mdm alone"),
    Case(type: .fileprovider, body: #"{"container-identifier":"a","domain":"b"}"#),
    Case(
      type: .fileprovider, body: #"{"container-identifier":"a","aps":{}}"#, warning: "fileprovider payloads have no aps"
    ),
    Case(type: .widgets, body: #"{"aps":{"content-changed":true}}"#),
    Case(type: .controls, body: #"{"aps":{"content-changed":1}}"#, warning: "aps.content-changed should be true"),
    Case(type: .liveactivity, body: #"{"aps":{"timestamp":1767225600,"event":"update","content-state":{}}}"#),
    Case(
      type: .liveactivity, body: #"{"aps":{"timestamp":1767225600000,"event":"update","content-state":{}}}"#,
      warning: "aps.timestamp looks like milliseconds; it is in seconds"),
    Case(
      type: .liveactivity, body: #"{"aps":{"event":"end","content-state":{}}}"#,
      warning: "liveactivity pushes need aps.timestamp"),
    Case(
      type: .liveactivity,
      body: #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"A","attributes":{}}}"#,
      warning: "the start of a Live Activity needs aps.alert"),
  ]

  @Test("a payload is accepted, and what devices ignore or drop is noted", arguments: cases)
  func payload(test: Case) throws {
    var rules = try SimulatorFixture.rules()
    let request = PushRequest.sample(
      [
        "apns-push-type": test.type.rawValue, "apns-topic": "com.example.app" + (test.type.topicSuffix ?? ""),
        "apns-priority": test.type == .background ? "5" : "10",
      ], body: test.body)

    let verdict = rules.judge(request, now: SimulatorFixture.time(100))

    #expect(verdict.isAccepted)
    if let warning = test.warning {
      #expect(verdict.warnings.contains(warning))
    } else {
      #expect(verdict.warnings == [])
    }
  }

  @Test("a payload that is not UTF-8 is noted")
  func notUTF8() throws {
    var rules = try SimulatorFixture.rules()
    var request = PushRequest.sample()
    request.body = Array(#"{"aps":{"alert":""#.utf8) + [0xE9] + Array(#""}}"#.utf8)

    #expect(
      rules.judge(request, now: SimulatorFixture.time(100)).warnings.contains {
        $0.hasPrefix("the payload is not JSON")
      })
  }

  @Test(
    "a header of doubtful meaning is noted",
    arguments: [
      ("apns-expiration", "1767225600000", "apns-expiration looks like milliseconds; it is in seconds"),
      ("apns-expiration", "86400", "apns-expiration is in the past"),
      ("apns-priority", "1", "apns-priority 1 is not one of those for alert pushes"),
      ("apns-id", "123E4567-E89B-12D3-A456-4266554400A0", "apns-id is not in lower case"),
      ("apns-collapse-id", "é", "apns-collapse-id is not plain ASCII"),
    ])
  func headers(name: String, value: String, warning: String) throws {
    var rules = try SimulatorFixture.rules()

    #expect(rules.judge(.sample([name: value]), now: SimulatorFixture.time(100)).warnings == [warning])
  }
}
