import Operations
import PushCore

/// Notifications for `enqueue`, as requests and as calls in SQL.
enum EnqueueCases {
  /// A good request with a change.
  static func request(_ change: (inout NotificationRequest) -> Void = { _ in }) -> NotificationRequest {
    var request = NotificationRequest()
    request.topic = AppBinding.example.topic
    request.interests = ["news"]
    request.payload = Array(#"{"aps":{"alert":"Hi"}}"#.utf8)
    change(&request)
    return request
  }

  /// Each kind of target.
  static let targets = [
    request(), request { $0.everyone = true }, request { $0.lane = "urgent" },
    request { ($0.interests, $0.users) = ([], ["ada"]) },
    request { ($0.interests, $0.tokens) = ([], ["a1", "ff", "ee"]) },
    request { ($0.interests, $0.tokens, $0.environment) = ([], ["a1", "dd"], "sandbox") },
    request { $0.environment = "production" },
  ]

  /// What is taken.
  static let accepted =
    targets + payloads.map { text in request { $0.payload = Array(text.utf8) } } + [
      request { $0.interests = ["b", "a", "a", "B", "a-z=@,.;_9"] },
      request { ($0.interests, $0.users) = ([], ["é", "e\u{301}", "z", "Z", "ada", "ada", "日本 x"]) },
      request { ($0.interests, $0.users) = ([], (1...300).map { "user\($0)" }) },
      request { ($0.interests, $0.tokens) = ([], [" <00 AA\t11> ", "00aa11", String(repeating: "f0", count: 100)]) },
      request { ($0.interests, $0.tokens) = ([], (1...200).map { String($0 + 4096, radix: 16) }) },
      request { $0.interests = (1...100).map { "interest\($0)" } },
      request { $0.collapseID = #"a"b\c/é日😀"# },
      request { $0.collapseID = String(repeating: "é", count: 32) },
      request { $0.expiresIn = .zero }, request { $0.expiresIn = .milliseconds(1500) },
      request { $0.expiresIn = .seconds(3650 * 86_400) },
      request { $0.priority = 5 }, request { $0.priority = 1 }, request { $0.lane = "bulk" },
      request { $0.lane = "normal" }, request { ($0.everyone, $0.lane) = (true, "urgent") },
      request { $0.sendAt = UnixMilliseconds(SystemClocks().wallTime().value + 86_400_123) },
      request { $0.sendAt = UnixMilliseconds(1_600_000_000_000) },
      request { $0.pushType = "alert" },
      request { $0.payload = Array(#"{"aps":{"alert":""}}"#.utf8) + Array(repeating: 0x20, count: 4096 - 20) },
    ]

  private static let payloads = [
    #"{ "aps" : {"alert":"é\/\u00e9","badge":1.10},"n":-0,"big":12345678901234567890 }"#,
    "\u{FEFF}{\"aps\":{\"alert\":1}}", "\t{\"aps\":{\"alert\":1}}\n",
    #"{"aps":{"content-available":1}}"#, #"{"aps":{"content-available":true,"sound":"x"}}"#,
    #"{"aps":{"category":"LoginActions","alert":"x"}}"#, #"{"aps":{"category":7,"alert":"x"}}"#,
    #"{"aps":{"alert":"\ud83d\ude00 \\u0000 \\\\ud83d"},"a":{"b":1,"b":2},"a":3}"#,
    #"{"aps":{"alert":"x"},"n":[1e308,1e-400,-1.5E+3,0.1,"1e400","[[{"]}"#,
    #"{"aps":{"alert":"x"},"d":"# + String(repeating: "[", count: 63) + String(repeating: "]", count: 63) + "}",
  ]

  /// What is refused, under the name of the argument that says why.
  static let refused: [(String, NotificationRequest)] =
    [
      "", " \n", "{", "nul", "[1]", "1", #"{"aps":{"alert":1,}}"#, "{'aps':{}}", #"{"aps":{"badge":NaN}}"#,
      #"{"aps":{"alert":"\ud83d"}}"#, #"{"aps":{"alert":"\ude00\ud83d"}}"#, #"{"aps":{"alert":"a\u0000"}}"#,
      #"{"aps":{"alert":1},"\u0000":1}"#, #"{"aps":{"alert":1},"n":1e400}"#, #"{"aps":{"alert":1},"n":-1e309}"#,
      #"{"aps":1}"#, #"{"aps":null}"#, #"{"aps":{"alert":1},"aps":{"alert":1}}"#, #"{"aps":{"alert":1,"alert":2}}"#,
      #"{"aps":{"alert":1,"\u0061lert":2}}"#, #"{"aps":{"alert":1}} {}"#, #"{"aps":{"alert":01}}"#, #"{"a":1}"#,
      #"{"aps":{"alert":"# + String(repeating: "[", count: 63) + String(repeating: "]", count: 63) + "}}",
      #"{"aps":{"alert":"\#(String(repeating: "x", count: 4096))"}}"#,
      #"{"aps":{"alert":"\#(String(repeating: "x", count: 6000))"}}"#,
    ].map { text in ("payload: ", request { $0.payload = Array(text.utf8) }) }
    + [
      ("payload: ", request { $0.payload = nil }),
      ("topic: ", request { $0.topic = nil }), ("topic: ", request { $0.topic = "" }),
      ("topic: ", request { $0.topic = "com example" }),
      ("topic: ", request { $0.topic = String(repeating: "x", count: 256) }),
      ("topic: ", request { ($0.topic, $0.pushType) = ("com.example.app.voip", "alert") }),
      ("everyone: ", request { $0.interests = [] }),
      ("interests[2]: ", request { $0.interests = ["a", "b c"] }), ("interests[1]: ", request { $0.interests = [""] }),
      ("interests[1]: ", request { $0.interests = ["ä"] }),
      ("interests[1]: ", request { $0.interests = [String(repeating: "x", count: 165)] }),
      ("interests: ", request { $0.interests = (1...101).map { "i\($0)" } }),
      ("users[1]: ", request { $0.users = [""] }), ("users[1]: ", request { $0.users = ["a\nb"] }),
      ("users[1]: ", request { $0.users = ["a\u{85}"] }),
      ("users[1]: ", request { $0.users = [String(repeating: "é", count: 128)] }),
      ("users: ", request { $0.users = (1...1001).map { "u\($0)" } }),
      ("tokens[1]: ", request { $0.tokens = ["abc"] }), ("tokens[2]: ", request { $0.tokens = ["ab", "xy"] }),
      ("tokens[1]: ", request { $0.tokens = ["<>"] }), ("tokens[1]: ", request { $0.tokens = ["<<ab>>"] }),
      ("tokens[1]: ", request { $0.tokens = [String(repeating: "a", count: 202)] }),
      ("tokens: ", request { $0.tokens = (1...1001).map { String($0 + 4096, radix: 16) } }),
      ("collapse_id: ", request { $0.collapseID = "" }), ("collapse_id: ", request { $0.collapseID = "a\tb" }),
      ("collapse_id: ", request { $0.collapseID = " a" }), ("collapse_id: ", request { $0.collapseID = "a " }),
      ("collapse_id: ", request { $0.collapseID = String(repeating: "é", count: 33) }),
      ("priority: ", request { $0.priority = 3 }), ("priority: ", request { $0.priority = 300 }),
      ("push_type: ", request { $0.pushType = "Alert" }), ("push_type: ", request { $0.pushType = "" }),
      ("expires_in: ", request { $0.expiresIn = .seconds(-1) }),
      ("expires_in: ", request { $0.expiresIn = .seconds(3650 * 86_400 + 1) }),
      ("lane: ", request { $0.lane = "Urgent" }), ("environment: ", request { $0.environment = "development" }),
      ("send_at: ", request { $0.sendAt = UnixMilliseconds(SystemClocks().wallTime().value + 31 * 86_400_000) }),
    ] + types.map { type, text in ("p", request { ($0.pushType, $0.payload) = (type, Array(text.utf8)) }) }

  /// Payloads that do not fit their push type.
  private static let types = [
    ("alert", #"{"aps":{"content-available":1}}"#), ("background", #"{"aps":{"content-available":1,"alert":"x"}}"#),
    ("background", #"{"aps":{}}"#), ("background", #"{"aps":{"content-available":"1"}}"#),
    ("background", #"{"aps":{"content-available":1.0}}"#), ("widgets", #"{"aps":{}}"#),
    ("controls", #"{"aps":{"content-changed":"true"}}"#), ("mdm", #"{"aps":{}}"#), ("mdm", #"{"mdm":1}"#),
    ("fileprovider", #"{"container-identifier":null}"#),
    ("liveactivity", #"{"aps":{"event":"update","content-state":{}}}"#),
    ("liveactivity", #"{"aps":{"event":"update","timestamp":1790000000000,"content-state":{}}}"#),
    ("liveactivity", #"{"aps":{"event":"update","timestamp":1790000000,"content-state":1}}"#),
    ("liveactivity", #"{"aps":{"event":"stop","timestamp":1790000000}}"#),
    ("liveactivity", #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"x","alert":1}}"#),
    ("liveactivity", #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes":{},"alert":1}}"#),
    (
      "liveactivity",
      #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"x","attributes":{}}}"#
    ),
  ]

  // MARK: SQL

  /// The call that asks for the same in SQL.
  static func call(_ request: NotificationRequest) -> String {
    var arguments = [
      "topic=>\(quoted(request.topic))",
      "payload=>\(quoted(request.payload.map { String(decoding: $0, as: UTF8.self) }))",
    ]
    func add(_ name: String, _ value: String?) {
      if let value { arguments.append("\(name)=>\(value)") }
    }
    func array(_ values: [String]) -> String? {
      values.isEmpty ? nil : "ARRAY[\(values.map { quoted($0) }.joined(separator: ","))]"
    }
    add("interests", array(request.interests))
    add("users", array(request.users))
    add("tokens", array(request.tokens))
    add("everyone", request.everyone ? "true" : nil)
    add("environment", request.environment.map { quoted($0) })
    add("lane", request.lane.map { quoted($0) })
    add("push_type", request.pushType.map { quoted($0) })
    add("priority", request.priority.map { String($0) })
    add("collapse_id", request.collapseID.map { quoted($0) })
    add("expires_in", request.expiresIn.map { "interval '\($0.wholeMilliseconds) milliseconds'" })
    add("send_at", request.sendAt.map { "to_timestamp(\($0.value)/1000.0)" })
    return "SELECT pushrelay.enqueue(\(arguments.joined(separator: ", ")))"
  }

  private static func quoted(_ text: String?) -> String {
    guard let text else { return "NULL" }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }
}
