import JSON
import Operations
import PushCore
import Support
import Testing

@testable import HTTPAPI

/// Devices, their interests and users on the backend surface, and receipts.
@Suite(.timeLimit(.minutes(1))) struct DeviceTests {
  private static func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.utf8.count) + digits
  }

  @Test("a device registers with 201 and refreshes with 200; what is absent stays, what is null goes")
  func registering() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let path = "/v1/devices/\(Self.token(1).uppercased())"
      let body = #"{"topic":"\#(LocalAPI.topic)","user":"jané","language":"de","interests":["a","b"]}"#

      let first = try await api.call("PUT", path, key: key, body: body)
      let second = try await api.call("PUT", path, key: key, body: #"{"language":null}"#)
      let third = try await api.call("PUT", path, key: key)

      #expect(first.status == 201 && second.status == 200 && third.status == 200)
      let device = try third.json()
      #expect(device["token"]?.string == Self.token(1) && device["user"]?.string == "jané")
      #expect(device["language"]?.isNull == true && device["state"]?.string == "active")
      #expect(device["interests"]?.array?.compactMap(\.string) == ["a", "b"])
      #expect(
        try await api.call("GET", path + "?topic=\(LocalAPI.topic)&environment=production", key: key).status == 200)
      #expect(try await api.call("GET", path + "?environment=sandbox", key: key).status == 404)
    }
  }

  @Test("faults of a registration are listed together")
  func faults() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let body = #"{"environment":"test","user":"","language":"d e","interests":["a/b",1],"name":"x"}"#

      let reply = try await api.call("PUT", "/v1/devices/\(Self.token(1))", key: key, body: body)
      let odd = try await api.call("PUT", "/v1/devices/abc", key: key)

      #expect(reply.status == 422 && odd.status == 422)
      let paths = try reply.json()["errors"]?.array?.compactMap { $0["path"]?.string } ?? []
      #expect(Set(paths) == ["environment", "user", "language", "interests[0]", "interests[1]", "name"])
      #expect(!reply.text.contains(Self.token(1)))
    }
  }

  @Test("interests come and go one by one and are counted; a device that is not there is 404")
  func interests() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let path = "/v1/devices/\(Self.token(1))"
      _ = try await api.call("PUT", path, key: key)

      #expect(try await api.call("PUT", path + "/interests/auth-jane%40x", key: key).status == 204)
      #expect(try await api.call("GET", "/v1/interests/auth-jane%40x", key: key).json()["devices"]?.integer == 1)
      #expect(try await api.call("DELETE", path + "/interests/auth-jane%40x", key: key).status == 204)
      #expect(try await api.call("GET", "/v1/interests/auth-jane%40x", key: key).json()["devices"]?.integer == 0)
      #expect(try await api.call("PUT", "/v1/devices/\(Self.token(2))/interests/a", key: key).status == 404)
      #expect(try await api.call("PUT", path + "/interests/a%2Fb", key: key).status == 422)
      #expect(try await api.call("DELETE", path, key: key).status == 204)
      #expect(try await api.call("DELETE", path, key: key).status == 404)
    }
  }

  @Test("a user whose id has a slash, a space and letters of any language is forgotten with their devices")
  func users() async throws {
    try await withAPI { api in
      let key = try await api.key()
      for number in 1...3 {
        _ = try await api.call("PUT", "/v1/devices/\(Self.token(number))", key: key, body: #"{"user":"a b/c@é+"}"#)
      }

      #expect(try await api.call("DELETE", "/v1/users/a%20b%2Fc%40%C3%A9+", key: key).status == 204)

      #expect(try await api.store.devices(DeviceQuery(), after: DeviceID(0), limit: 10).isEmpty)
      #expect(try await api.call("DELETE", "/v1/users/nobody", key: key).status == 204)
    }
  }

  @Test("retired devices are fed page by page, from a time on if wanted")
  func retiredFeed() async throws {
    try await withAPI { api in
      let key = try await api.key()
      for number in 1...3 { _ = try await api.call("PUT", "/v1/devices/\(Self.token(number))", key: key) }
      let devices = try await api.store.devices(DeviceQuery(), after: DeviceID(0), limit: 10)
      let soon = UnixMilliseconds(devices.map(\.registeredAt.value).max().map { $0 + 1 } ?? 0)
      _ = try await api.store.flush(
        [], retirements: devices.map { Retirement(device: $0.id, registeredBefore: soon, reason: ReasonID(5)) },
        owner: 1, lease: .seconds(1))

      var tokens: [String] = []
      var target = "/v1/devices?state=retired&limit=1"
      while true {
        let page = try await api.call("GET", target, key: key).json()
        tokens += page["devices"]?.array?.compactMap { $0["token"]?.string } ?? []
        guard let cursor = page["next_cursor"]?.string else { break }
        target = "/v1/devices?state=retired&limit=1&cursor=\(cursor)"
      }

      #expect(tokens.sorted() == (1...3).map(Self.token))
      let since = try await api.call("GET", "/v1/devices?state=retired&since=2999-01-01T00:00:00Z", key: key)
      #expect(try since.json()["devices"]?.array?.isEmpty == true)
      #expect(try await api.call("GET", "/v1/devices?state=retired&since=yesterday", key: key).status == 400)
      #expect(try await api.call("GET", "/v1/devices", key: key).status == 400)
    }
  }

  /// Publishes to `count` devices and writes their receipts as a worker does.
  ///
  /// - Parameter attempts: how many receipts each device of a packed notification has.
  private func deliver(
    _ api: LocalAPI, count: Int, lane: Lane, attempts: Int = 1
  ) async throws -> NotificationID {
    let registrations = (0..<count).map {
      DeviceRegistration(
        topic: LocalAPI.topic, environment: .production, token: DeviceToken(stored: Self.token($0)),
        interests: .set(["news"]))
    }
    for start in stride(from: 0, to: count, by: 1000) {
      _ = try await api.store.register(Array(registrations[start..<min(start + 1000, count)]))
    }
    let result = try await api.store.publish(
      Publication(
        topic: LocalAPI.topic, target: Target(interests: ["news"]), payload: Array(#"{"aps":{"alert":"Hi"}}"#.utf8),
        headers: PushHeaders(pushType: .alert, priority: .immediate), lane: lane))
    guard case .stored(let id, _) = result else { throw SupportError("\(result)") }
    let credentials = try await api.store.credentials().map(\.id)
    let tasks = try await api.store.claim(
      ClaimRequest(lane: lane, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10))
    let devices = try await api.store.devices(DeviceQuery(), after: DeviceID(0), limit: count).map(\.id)
    for task in tasks {
      let own = devices.filter { $0 > task.cursor && $0 <= task.hi }
      var counts = Counts()
      counts.devices = own.count
      counts.accepted = own.count
      for attempt in 0..<attempts {
        _ = try await api.store.flush(
          [
            TaskFlush(
              task: task.id, notificationID: id, epoch: task.epoch, settledBefore: Int64(attempt * own.count),
              attempt: attempt, cursor: task.hi, count: own.count,
              receipts: own.isEmpty ? .none : .packed(ReceiptChunk(devices: own, exceptions: [])), counts: counts,
              lists: [], ends: attempt == attempts - 1, cut: false)
          ], retirements: [], owner: 1, lease: .seconds(15))
      }
    }
    return id
  }

  @Test("receipts come as pages of JSON that hold each device once")
  func receiptPages() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let id = try await deliver(api, count: 250, lane: .bulk)

      var tokens: [String] = []
      var target = "/v1/notifications/\(id)/receipts?limit=100&outcome=accepted"
      while true {
        let page = try await api.call("GET", target, key: key).json()
        let receipts = page["receipts"]?.array ?? []
        #expect(receipts.count <= 100)
        tokens += receipts.compactMap { $0["device_token"]?.string }
        guard let cursor = page["next_cursor"]?.string else { break }
        target = "/v1/notifications/\(id)/receipts?limit=100&outcome=accepted&cursor=\(cursor)"
      }

      #expect(tokens.sorted() == (0..<250).map(Self.token))
      let rejected = try await api.call("GET", "/v1/notifications/\(id)/receipts?outcome=rejected", key: key).json()
      #expect(rejected["receipts"]?.array?.isEmpty == true)
      #expect(try await api.call("GET", "/v1/notifications/\(id)/receipts?attempts=first", key: key).status == 400)
    }
  }

  @Test(
    "with attempts=all each attempt is shown, and no page cuts those of a device apart", arguments: [1, 2, 5, 1000])
  func everyAttempt(limit: Int) async throws {
    try await withAPI { api in
      let key = try await api.key()
      let id = try await deliver(api, count: 20, lane: .bulk, attempts: 3)

      var pages: [[String]] = []
      var cursor = ""
      while true {
        let target = "/v1/notifications/\(id)/receipts?attempts=all&limit=\(limit)\(cursor)"
        let page = try await api.call("GET", target, key: key).json()
        pages.append(page["receipts"]?.array?.compactMap { $0["device_token"]?.string } ?? [])
        guard let next = page["next_cursor"]?.string else { break }
        cursor = "&cursor=\(next)"
      }

      #expect(pages.joined().sorted() == (0..<20).flatMap { [String](repeating: Self.token($0), count: 3) }.sorted())
      #expect(pages.allSatisfy { $0.count <= max(limit, 3) })
      #expect(pages.reduce(0) { $0 + Set($1).count } == 20)
    }
  }

  @Test(
    "receipts are streamed whole as CSV and as NDJSON", arguments: ["text/csv", "application/x-ndjson; q=1, */*;q=0.1"])
  func receiptStreams(accept: String) async throws {
    try await withAPI { api in
      let key = try await api.key()
      let id = try await deliver(api, count: 5000, lane: .bulk)

      let reply = try await api.call(
        "GET", "/v1/notifications/\(id)/receipts", key: key, fields: ["Accept: \(accept)"])

      #expect(reply.status == 200 && reply["transfer-encoding"]?.lowercased() == "chunked")
      let text = String(decoding: reply.unchunked, as: UTF8.self)
      let lines = text.split(whereSeparator: \.isNewline)
      if accept == "text/csv" {
        #expect(lines.first?.hasPrefix("notification_id,apns_id,") == true && lines.count == 5001)
      } else {
        #expect(lines.count == 5000)
      }
      let tokens = Set((0..<5000).map(Self.token))
      let found = lines.compactMap { line in
        accept == "text/csv"
          ? line.split(separator: ",", omittingEmptySubsequences: false)[4].description
          : (try? JSONValue(parsing: Array(line.utf8)))?["device_token"]?.string
      }
      #expect(tokens.isSubset(of: Set(found)))
    }
  }

  @Test("a stream whose store fails is cut, not ended: a part is not taken for the whole")
  func brokenStream() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let id = try await deliver(api, count: 60_000, lane: .bulk)
      let connection = try RawConnection(port: api.port)
      connection.send(
        Array(
          "GET /v1/notifications/\(id)/receipts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\nAccept: text/csv\r\n\r\n"
            .utf8))
      let beginning = await connection.read { $0.count > 1000 }

      await api.store.close()
      let rest = await connection.readAll()

      #expect(String(decoding: beginning.prefix(15), as: UTF8.self) == "HTTP/1.1 200 OK")
      #expect(!String(decoding: rest.suffix(5), as: UTF8.self).hasSuffix("0\r\n\r\n"))
    }
  }
}

extension HTTPReply {
  /// The body without the marks of its chunks.
  var unchunked: [UInt8] {
    var rest = body[...]
    var bytes: [UInt8] = []
    while let end = rest.firstIndex(of: 13) {
      guard let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), count > 0 else { break }
      bytes += rest[(end + 2)...].prefix(count)
      rest = rest[(end + 2)...].dropFirst(count + 2)
    }
    return bytes
  }
}
