import JSON
import Operations
import PushCore
import Support
import Testing

@testable import HTTPAPI

/// What the Beams SDKs of apps call.
@Suite(.timeLimit(.minutes(1))) struct BeamsDeviceTests {
  private static let devices = BeamsSettings.devices

  @Test("a device is registered, shown, described anew and removed; the same token keeps id and interests")
  func life() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let id = try await api.beamsDevice("ABCD")
      let device = "\(Self.devices)/\(id)"
      let added = try await api.beams("POST", device + "/interests/auth-janedoe-at-pushercom")
      let again = try await api.beams("POST", Self.devices, #"{"token":"abcd","bundleIdentifier":""}"#).json()
      let shown = try await api.beams("GET", device).json()

      #expect(id.hasPrefix("apns-") && added.status == 200 && added.body.isEmpty)
      #expect(again["id"]?.string == id)
      #expect(again["initialInterestSet"]?.array?.compactMap(\.string) == ["auth-janedoe-at-pushercom"])
      #expect(
        shown["id"]?.string == id && shown["userId"] == nil && shown["metadata"]?["sdkVersion"]?.string == "1.2.1")
      #expect(try await api.beams("PUT", device + "/metadata", #"{"sdkVersion":"2"}"#).status == 200)
      #expect(try await api.beams("GET", device).json()["metadata"]?["sdkVersion"]?.string == "2")
      for _ in 1...2 { #expect(try await api.beams("DELETE", device).status == 200) }
      #expect(try await api.beams("GET", device).status == 404)
    }
  }

  @Test("interests are replaced, listed page by page and removed; a ; is part of a name")
  func interests() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let path = "\(Self.devices)/\(try await api.beamsDevice("ab"))/interests"
      #expect(try await api.beams("PUT", path, #"{"interests":["a;b=@,.-_","c","b"]}"#).status == 200)
      #expect(try await api.beams("DELETE", path + "/b").status == 200)
      #expect(try await api.beams("POST", path + "/d%3Be").status == 200)

      let first = try await api.beams("GET", path + "?limit=2").json()
      let cursor = try #require(first["responseMetadata"]?["nextCursor"]?.string)
      let second = try await api.beams("GET", path + "?limit=2&cursor=\(cursor)").json()

      #expect(first["interests"]?.array?.compactMap(\.string) == ["a;b=@,.-_", "c"])
      #expect(second["interests"]?.array?.compactMap(\.string) == ["d;e"])
      #expect(second["responseMetadata"]?.object?.isEmpty == true)
    }
  }

  @Test("every refusal has error and description, and none is 422 or 429")
  func refusals() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let device = "\(Self.devices)/\(try await api.beamsDevice("ab"))"
      let gone = "\(Self.devices)/apns-00000000-0000-4000-8000-000000000000"
      let many = #"{"interests":[\#((0..<5001).map { "\"i\($0)\"" }.joined(separator: ","))]}"#
      let calls: [(String, String, String, Int)] = [
        ("POST", Self.devices, "", 400), ("POST", Self.devices, "[]", 400), ("POST", Self.devices, "{}", 400),
        ("POST", Self.devices, #"{"token":"ab"}"#, 400),
        ("POST", Self.devices, #"{"token":"x","bundleIdentifier":""}"#, 400),
        ("POST", Self.devices, #"{"token":"ab","bundleIdentifier":"com.example.other"}"#, 400),
        ("POST", "/device_api/v1/instances/11111111-0000-4000-8000-00000000beef/devices/apns", "{}", 404),
        ("GET", gone, "", 404), ("PUT", gone + "/metadata", "{}", 404),
        ("PUT", gone + "/interests", #"{"interests":[]}"#, 404),
        ("POST", gone + "/interests/x", "", 404), ("DELETE", gone + "/interests/x", "", 404),
        ("GET", gone + "/interests", "", 404), ("PUT", device + "/metadata", "[1]", 400),
        ("POST", device + "/interests/a%20b", "", 400), ("PUT", device + "/interests", #"{"interests":["a/b"]}"#, 400),
        ("PUT", device + "/interests", many, 400), ("GET", device + "/interests?limit=101", "", 400),
        ("GET", device + "/interests?cursor=%2F", "", 400), ("PUT", device + "/user", "", 401),
        ("POST", "/reporting_api/v2/instances/x/events", "{}", 400),
        ("POST", "/reporting_api/v2/instances/\(BeamsSettings.instance)/events", #"{"event":"Open"}"#, 400),
      ]
      for (method, path, body, status) in calls {
        let reply = try await api.beams(method, path, body)
        #expect(reply.status == status, "\(method) \(path) \(body.prefix(40))")
        let error = try reply.json()
        #expect(error["error"]?.string?.isEmpty == false && error["description"]?.string?.isEmpty == false)
      }
      let text = try await api.beams("POST", Self.devices, "{}", type: "text/plain")
      #expect(text.status == 400 && text.text.contains("only application/json"))
    }
  }

  @Test("reports become marks of the receipt, once, and unknown ones are taken without effect")
  func reports() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let id = try await api.beamsDevice("ab")
      _ = try await api.beams("POST", "\(Self.devices)/\(id)/interests/news")
      let publish = try await api.beams(
        "POST", BeamsSettings.publishes, #"{"interests":["news"],"apns":{"aps":{"alert":"x"}}}"#,
        bearer: BeamsSettings.secret)
      let publishID = try #require(try publish.json()["publishId"]?.string)
      let notification = try #require(
        try await api.store.notifications(NotificationQuery(), before: nil, limit: 1).notifications.first)
      let device = try #require(try await api.devices().first)
      try await api.settle(notification.id, accepted: [device.id])
      func report(_ event: String, _ publishID: String, _ device: String) async throws -> Int {
        try await api.beams(
          "POST", "/reporting_api/v2/instances/\(BeamsSettings.instance)/events",
          #"{"event":"\#(event)","publishId":"\#(publishID)","deviceId":"\#(device)","timestampSecs":1700000000}"#
        ).status
      }

      #expect(try await report("Open", publishID, id) == 200)
      #expect(try await report("delivery", publishID, id) == 200)
      #expect(try await report("Delivery", "pubid-unknown", id) == 200)
      #expect(try await report("Delivery", publishID, "apns-unknown") == 200)
      #expect(try await report("Seen", publishID, id) == 400)

      let key = try await api.key()
      let receipts = try await api.call("GET", "/v1/notifications/\(notification.id)/receipts", key: key).json()
      let receipt = try #require(receipts["receipts"]?.array?.first)
      #expect(receipt["delivered_at"]?.string == "2023-11-14T22:13:20.000Z")
      #expect(receipt["opened_at"]?.string == "2023-11-14T22:13:20.000Z")
    }
  }
}

extension LocalAPI {
  /// Settles the one task of a notification as a worker does.
  func settle(_ id: NotificationID, accepted: [DeviceID]) async throws {
    let credentials = try await store.credentials().map(\.id)
    var tasks: [LeasedTask] = []
    for lane in Lane.allCases {
      tasks += try await store.claim(
        ClaimRequest(
          lane: lane, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10))
    }
    guard let task = tasks.first(where: { $0.notificationID == id }) else { throw SupportError("no task of \(id)") }
    var counts = Counts()
    counts.devices = accepted.count
    counts.add(.accepted, accepted.count)
    let rows = accepted.map {
      ReceiptRow(
        device: $0, outcome: .accepted, status: 200, reason: .none, tries: 1, latencyMilliseconds: 1, apnsUniqueID: nil)
    }
    _ = try await store.flush(
      [
        TaskFlush(
          task: task.id, notificationID: id, epoch: task.epoch, settledBefore: task.settled, attempt: 0,
          cursor: accepted.last ?? task.cursor, count: accepted.count, receipts: .rows(rows), counts: counts, lists: [],
          ends: true, cut: false)
      ], retirements: [], owner: 1, lease: .seconds(15))
  }
}
