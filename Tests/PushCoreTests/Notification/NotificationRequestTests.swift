import JSON
import Operations
import PushCore
import Support
import Testing

@Suite("Checking a notification's request")
struct NotificationRequestTests {
  /// A request file of the case table, in the members of a notification object.
  private func request(_ file: String) throws -> NotificationRequest {
    let bytes = try Fixture.bytes("cases/\(file)")
    let value = try JSONValue(parsing: bytes)
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("topic", "com.example.app")
      writer.name("target")
      writer.object { $0.member("tokens", [value["token"]?.string ?? ""]) }
      for name in ["push_type", "priority", "expiration", "payload"] {
        guard let member = value[name] else { continue }
        writer.name(name)
        writer.raw(bytes[member.range])
      }
    }
    return try NotificationRequest(json: writer.bytes)
  }

  @Test("every request of the case table is accepted or refused as the table says", arguments: Case.all("request-"))
  func caseTable(row: Case) throws {
    let request = try request(row.file)
    if row.outcome == "reject" {
      _ = try request.faults()
    } else {
      _ = try request.checked()
    }
  }

  @Test("the case table is not empty")
  func tableIsThere() { #expect(Case.all("request-").count == 7) }

  @Test("an expiration in another unit is recognized")
  func expirationUnits() throws {
    #expect(try request("request-expiration-ms.json").faults().description.contains("milliseconds"))
    #expect(try request("request-expiration-float.json").faults().description.contains("integer UNIX seconds"))
    #expect(try request("request-expiration-relative.json").faults().description.contains("--expires-in 120s"))
    #expect(try request("request-expiration-0.json").checked().publication.deadline == .immediate)
    #expect(try request("request-expiration-0.json").checked().publication.headers.expiresImmediately)
  }

  @Test("a past expiration is taken, and warned of")
  func pastExpiration() throws {
    let (publication, warnings) = try request("request-expiration-past.json").checked()
    #expect(publication.deadline == .at(UnixMilliseconds(1_600_000_000_000)))
    #expect(warnings.map(\.path) == ["expiration"])
  }

  @Test("a background push takes priority 5 or 1, and 10 is refused with the reason")
  func backgroundPriority() throws {
    let faults = try request("request-background-priority-10.json").faults()
    #expect(faults.findings.map(\.path) == ["priority"])
    #expect(faults.description.contains("must use priority 5 or 1"))

    var background = NotificationRequest.simple("{\"aps\":{\"content-available\":1}}")
    #expect(
      try background.checked().publication.headers == PushHeaders(pushType: .background, priority: .powerConscious))
    background.priority = 1
    #expect(try background.checked().publication.headers.priority == .low)
  }

  @Test("a push type that contradicts the payload is refused, never rewritten")
  func contradiction() throws {
    let faults = try request("request-background-with-alert.json").faults()
    #expect(faults.description.contains("background contradicts alert, sound"))

    var alert = NotificationRequest.simple("{\"aps\":{\"content-available\":1}}")
    alert.pushType = "alert"
    #expect(try alert.faults().findings.map(\.path) == ["push_type"])

    let both = try NotificationRequest.simple("{\"aps\":{\"alert\":\"x\",\"content-available\":1}}").checked()
    #expect(both.publication.headers == PushHeaders(pushType: .alert, priority: .immediate))
  }

  @Test("collapse ids are measured in bytes", arguments: Case.all("collapse-id-"))
  func collapseIDs(row: Case) throws {
    var request = NotificationRequest.simple()
    request.collapseID = String(decoding: try row.bytes(), as: UTF8.self)
    if row.outcome == "accept" {
      #expect(try request.checked().publication.headers.collapseID == request.collapseID)
    } else {
      let faults = try request.faults()
      #expect(faults.findings.map(\.path) == ["collapse_id"])
      let words = row.file.contains("newline") ? "control character" : "bytes, limit 64"
      #expect(faults.description.contains(words))
    }
  }

  @Test("interest names are accepted or refused as the table says")
  func interestNames() throws {
    let rows = try Fixture.text("cases/interests.tsv").split(separator: "\n").dropFirst()
    #expect(rows.count == 12)
    for row in rows {
      let fields = row.split(separator: "\t").map(String.init)
      let name = try #require(try JSONValue(parsing: Array(fields[0].utf8)).string)
      let fault = InterestName.fault(in: name)
      #expect((fault == nil) == fields[1].hasPrefix("accept"), "\(fields[0])")
      if let words = fields[1].split(separator: ": ").last, fields[1].hasPrefix("reject") {
        let expected = words.replacing("character not allowed", with: "not allowed")
        #expect(fault?.contains(expected) == true, "\(fault ?? "") lacks \(expected)")
      }
    }
  }

  @Test("a notification names 1 to 100 interests, each once")
  func interestCount() throws {
    var request = NotificationRequest.simple()
    request.tokens = []
    #expect(try request.faults().findings.map(\.path) == ["target"])
    request.interests = ["news", "sports", "news"]
    #expect(try request.checked().publication.target.interests == ["news", "sports"])
    request.interests = (0..<100).map { "i\($0)" }
    #expect(try request.checked().publication.target.interests.count == 100)
    request.interests.append("i100")
    #expect(try request.faults().description.contains("101 are given, limit 100"))
  }

  @Test("users and tokens have their limits, and a faulty one is named without its value")
  func usersAndTokens() throws {
    var request = NotificationRequest.simple()
    request.users = (0...1000).map { "u\($0)" } + ["", "a\u{0}b"]
    request.tokens = [testToken, testToken.uppercased(), "<\(testToken)>", "xyz\(testToken)"]
    let faults = try request.faults()
    #expect(
      faults.findings.map(\.path) == ["target.users", "target.users[1001]", "target.users[1002]", "target.tokens[3]"])
    #expect(!faults.description.contains(testToken.prefix(10)))
  }

  @Test("the topic gets the suffix of the push type, or is checked for it")
  func topics() throws {
    func topic(_ topic: String, _ type: String?, _ payload: String) throws -> String {
      var request = NotificationRequest.simple(payload)
      request.topic = topic
      request.pushType = type
      let publication = try request.checked().publication
      return "\(publication.topic) \(publication.headers.pushType.rawValue)"
    }
    let alert = "{\"aps\":{\"alert\":\"x\"}}"
    #expect(try topic("com.a", nil, alert) == "com.a alert")
    #expect(try topic("com.a", "voip", "{}") == "com.a.voip voip")
    #expect(try topic("com.a.voip", "voip", "{}") == "com.a.voip voip")
    #expect(try topic("com.a.voip", nil, "{\"caller\":1}") == "com.a.voip voip")
    #expect(try topic("com.a.voip-ptt", nil, "{\"aps\":{}}") == "com.a.voip-ptt pushtotalk")
    #expect(try topic("com.a", "widgets", "{\"aps\":{\"content-changed\":true}}") == "com.a.push-type.widgets widgets")
    #expect(
      try topic("com.a.pushkit.fileprovider", nil, "{\"container-identifier\":\"c\"}")
        == "com.a.pushkit.fileprovider fileprovider")
    #expect(try topic("com.apple.mgmt.External.1", "mdm", "{\"mdm\":\"m\"}") == "com.apple.mgmt.External.1 mdm")
    #expect(throws: NotificationFaults.self) { try topic("com.a.voip", "alert", alert) }
    #expect(throws: NotificationFaults.self) { try topic("com.a.voip", "complication", "{}") }
    #expect(throws: NotificationFaults.self) { try topic("com.a b", nil, alert) }
  }

  @Test("a voip push may have 5120 bytes, every other 4096")
  func sizes() throws {
    func faults(_ count: Int, _ type: String) throws -> NotificationFaults? {
      let text = "{\"aps\":{\"alert\":\"\(String(repeating: "a", count: count - 20))\"}}"
      var request = NotificationRequest.simple(text)
      request.pushType = type
      do {
        _ = try request.checked()
        return nil
      } catch let error as NotificationFaults { return error }
    }
    #expect(try faults(4096, "alert") == nil)
    #expect(try faults(4097, "alert")?.isPayloadTooLarge == true)
    #expect(try faults(5120, "voip") == nil)
    #expect(try faults(5121, "voip")?.isPayloadTooLarge == true)
  }

  @Test("a Live Activity push has what its event needs")
  func liveActivity() throws {
    func faults(_ aps: String) throws -> [String] {
      var request = NotificationRequest.simple("{\"aps\":{\(aps)}}")
      request.pushType = "liveactivity"
      do {
        _ = try request.checked()
        return []
      } catch let error as NotificationFaults { return error.findings.map { String($0.path.dropFirst(12)) } }
    }
    #expect(try faults("\"timestamp\":1767225600,\"event\":\"update\",\"content-state\":{}") == [])
    #expect(try faults("\"timestamp\":1767225600,\"event\":\"end\"") == [])
    #expect(try faults("\"timestamp\":1767225600000,\"event\":\"update\",\"content-state\":{}") == ["timestamp"])
    #expect(try faults("\"event\":\"pause\"") == ["timestamp", "event"])
    #expect(
      try faults("\"timestamp\":1,\"event\":\"start\"") == ["attributes-type", "attributes", "content-state", "alert"])
  }

  @Test("every fault is listed at once")
  func everyFault() throws {
    let document = """
      {"topic":5,"target":{"interest":["a"],"users":"u","tokens":[1]},"payload":{"aps":1},"push_typ":"alert","priority":"10",
      "expires_in":90,"collapse_id":"","send_at":"tomorrow","lane":"fast","environment":"test","recipients":5,"topic":"x"}
      """
    let request = try NotificationRequest(json: Array(document.utf8))
    #expect(
      try request.faults().findings.map(\.path) == [
        "topic", "target.interest", "target.users", "target.tokens[0]", "push_typ", "priority", "expires_in", "send_at",
        "recipients", "topic", "recipients", "payload", "collapse_id", "lane", "environment",
      ])
    #expect(try request.faults().description.contains("did you mean push_type?"))
  }

  @Test("a document that is no JSON is told apart from one with faults")
  func notJSON() throws {
    #expect(throws: JSONError.self) { _ = try NotificationRequest(json: Array("{".utf8)) }
    #expect(try NotificationRequest(json: Array("[]".utf8)).faults().findings.first?.path == "")
  }

  @Test("a whole notification object becomes a publication with its payload untouched")
  func wholeObject() throws {
    let payload = "{ \"aps\" : {\"alert\":{\"title\":\"\\u00e9\\/\"},\"category\":\"LoginActions\"},\"n\":1.10 }"
    let document = """
      {"topic":"com.example.dashboard","target":{"interests":["auth-a"],"users":[],"tokens":[],"everyone":false},"payload":\(payload),
      "push_type":"alert","priority":5,"expires_in":"5m","collapse_id":"c","send_at":"2026-01-02T00:00:00Z","lane":null,"environment":"sandbox"}
      """
    let (publication, warnings) = try NotificationRequest(json: Array(document.utf8)).checked()
    #expect(
      publication
        == Publication(
          topic: "com.example.dashboard", target: Target(interests: ["auth-a"]), environment: .sandbox,
          payload: Array(payload.utf8),
          headers: PushHeaders(pushType: .alert, priority: .powerConscious, collapseID: "c"), lane: .urgent,
          deadline: .after(.seconds(300)), sendAt: UnixMilliseconds(1_767_312_000_000)))
    #expect(warnings.isEmpty)
  }

  @Test("the lane is urgent for login approvals, bulk for everyone, else the default")
  func lanes() throws {
    let login = NotificationRequest.simple("{\"aps\":{\"alert\":\"x\",\"category\":\"LoginActions\"}}")
    #expect(try login.checked(NotificationDefaults(lane: .bulk)).publication.lane == .urgent)
    var everyone = NotificationRequest.simple()
    everyone.everyone = true
    #expect(try everyone.checked().publication.lane == .bulk)
    everyone.lane = "normal"
    #expect(try everyone.checked().publication.lane == .normal)
    #expect(try NotificationRequest.simple().checked(NotificationDefaults(lane: .bulk)).publication.lane == .bulk)
    #expect(try NotificationRequest.simple().checked().publication.lane == .normal)
  }

  @Test("times and lifetimes have their bounds")
  func times() throws {
    func paths(_ change: (inout NotificationRequest) -> Void) throws -> [String] {
      var request = NotificationRequest.simple()
      change(&request)
      return try request.faults().findings.map(\.path)
    }
    #expect(try paths { $0.sendAt = UnixMilliseconds(testNow.value + 30 * 86_400_000 + 1) } == ["send_at"])
    #expect(try paths { $0.expiration = -1 } == ["expiration"])
    #expect(try paths { $0.expiration = .max } == ["expiration"])
    #expect(try paths { $0.expiration = 999_999_999 } == ["expiration"])
    #expect(try paths { $0.expiresIn = .seconds(3651 * 86_400) } == ["expires_in"])
    #expect(
      try paths {
        $0.expiresIn = .seconds(5)
        $0.expiration = 0
      } == ["expiration"])

    var request = NotificationRequest.simple()
    #expect(try request.checked().publication.deadline == .after(.seconds(86_400)))
    request.expiresIn = .zero
    #expect(try request.checked().publication.deadline == .immediate)
    request.sendAt = UnixMilliseconds(testNow.value + 30 * 86_400_000)
    #expect(try request.checked().publication.sendAt == request.sendAt)
    request.sendAt = UnixMilliseconds(testNow.value - 1)
    #expect(try request.checked().warnings.map(\.path) == ["send_at"])
  }

  @Test("an apns-id of the sender's own is for one device token")
  func apnsID() throws {
    var request = NotificationRequest.simple()
    request.apnsID = "123e4567-e89b-12d3-a456-4266554400a0"
    #expect(try request.checked().publication.headers.apnsID == request.apnsID)
    request.interests = ["news"]
    #expect(try request.faults().findings.map(\.path) == ["apns_id"])
    for text in ["1-1-1-1-1", "123e4567e89b12d3a4564266554400a0", "123e4567-e89b-12d3-a456-4266554400a", "", "{x}"] {
      #expect(NotificationLimits.fault(inAPNsID: text) != nil)
    }
  }

  @Test("headers come back from the store as they went in")
  func storedHeaders() throws {
    let headers = PushHeaders(
      pushType: .voip, priority: .low, collapseID: "é\"", expiresImmediately: true,
      apnsID: "123e4567-e89b-12d3-a456-4266554400a0")
    #expect(PushHeaders(encoded: headers.encoded) == headers)
    let plain = PushHeaders(pushType: .alert, priority: .immediate)
    #expect(PushHeaders(encoded: plain.encoded) == plain)
    #expect(PushHeaders(encoded: Array("{}".utf8)) == nil)
  }
}
