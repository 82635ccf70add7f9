import PushCore
import Testing

@Suite("Login approvals and the interests they go to")
struct LoginApprovalTests {
  static let slugs: [(String, String)] = [
    ("janedoe@pusher.com", "janedoe-at-pushercom"),
    ("Jane.Doe@Pusher.com", "janedoe-at-pushercom"),
    ("jane+tag@sub.example.co.uk", "janetag-at-subexamplecouk"),
    ("jane_doe@ex-ample.com", "jane-doe-at-ex-amplecom"),
    ("ana.maría@exämple.es", "anamaria-at-examplees"),
    ("a@b@c.d", "a-at-b-at-cd"),
    ("o'brien@x.ie", "obrien-at-xie"),
    ("a..b--c@x--y.z", "ab-c-at-x-yz"),
    ("Ġorġ@ħal.mt", "gorg-at-halmt"),
    ("straße@köln.de", "strasse-at-kolnde"),
    ("SØREN@ÆRØ.dk", "soren-at-aerodk"),
    ("łukasz@żółw.pl", "lukasz-at-zolwpl"),
    ("jose\u{301}@x.es", "jose-at-xes"),
    ("_a b_@x\u{A0}y.z", "a-b-at-x-yz"),
    ("tab\tbed@x.y", "tabbed-at-xy"),
    ("001234.0123456789abcdef.0123", "0012340123456789abcdef0123"),
    ("@x", "at-x"),
    ("Ĝis@x.eo", "gxis-at-xeo"),
  ]

  @Test("an address gives the interest that the apps subscribe to", arguments: slugs)
  func slug(email: String, expected: String) throws {
    #expect(try InterestSlug.slug(of: email) == expected)
  }

  @Test(
    "an address whose letters would be lost is refused",
    arguments: ["用户@例子.公司", "иван@почта.рф", "ǧ@x.y", "", "...", "名"])
  func lostLetters(email: String) {
    #expect(throws: InterestSlug.Fault.self) { _ = try InterestSlug.slug(of: email) }
  }

  /// Stands in for SHA-256: its digest of anything is these 32 bytes.
  private let digest: @Sendable ([UInt8]) -> [UInt8] = { _ in (0..<32).map { $0 * 8 } }

  @Test("an approval is a LoginActions push to the user's interest, urgent, for five minutes")
  func filled() throws {
    var request = NotificationRequest()
    request.topic = "com.example.dashboard"
    try LoginApproval(email: "janedoe@pusher.com", hash: "0012.3\"4").fill(&request, sha256: digest)

    let (publication, warnings) = try request.checked()
    #expect(
      String(decoding: publication.payload, as: UTF8.self)
        == "{\"aps\":{\"alert\":{\"title\":\"Login approval\",\"body\":\"Approve the login of janedoe@pusher.com?\"},\"sound\":\"default\",\"category\":\"LoginActions\",\"interruption-level\":\"time-sensitive\",\"payload\":{\"hash\":\"0012.3\\\"4\",\"email\":\"janedoe@pusher.com\"}}}"
    )
    #expect(publication.target == Target(interests: ["auth-janedoe-at-pushercom"]))
    #expect(publication.lane == .urgent)
    #expect(publication.deadline == .after(.seconds(300)))
    #expect(
      publication.headers
        == PushHeaders(
          pushType: .alert, priority: .immediate, collapseID: "login-00081018202830384048505860687078"))
    #expect(warnings.isEmpty)
  }

  @Test("what the sender gave stays")
  func given() throws {
    var request = NotificationRequest()
    request.topic = "com.example.dashboard"
    request.users = ["u1"]
    request.expiration = 0
    request.collapseID = "mine"
    request.lane = "normal"
    try LoginApproval(email: "用户@例子.公司", hash: "h", title: "T", body: "B").fill(&request, sha256: digest)

    let publication = try request.checked().publication
    #expect(publication.target == Target(users: ["u1"]))
    #expect(publication.deadline == .immediate)
    #expect(publication.headers.collapseID == "mine")
    #expect(publication.lane == .normal)
    #expect(String(decoding: publication.payload, as: UTF8.self).contains("{\"title\":\"T\",\"body\":\"B\"}"))
  }

  @Test("an address that cannot name an interest asks for a user or interest")
  func refused() throws {
    var request = NotificationRequest()
    let error = try #require(throws: NotificationFaults.self) {
      try LoginApproval(email: "用户@例子.公司", hash: "h").fill(&request, sha256: digest)
    }
    #expect(error.description.contains("give --user or --interest"))
    let empty = try #require(throws: NotificationFaults.self) {
      try LoginApproval(email: "", hash: "").fill(&request, sha256: digest)
    }
    #expect(empty.findings.map(\.path) == ["email", "hash"])
  }

  @Test("an address has one @ with something on both sides", arguments: ["x", "@", "a@", "@b", "a@b@c"])
  func noAddress(email: String) throws {
    var request = NotificationRequest()
    request.users = ["u1"]
    let error = try #require(throws: NotificationFaults.self) {
      try LoginApproval(email: email, hash: "h").fill(&request, sha256: digest)
    }
    #expect(error.findings.map(\.path) == ["email"])
  }
}
