import Foundation
import JSON
import Operations
import PushCore
import StoreSQLite
import Support
import Testing

@testable import HTTPAPI

private let alert = #"{"aps":{"alert":"Grüße"}}"#

/// A notification for a target, with further members.
private func notification(_ target: String = #"{"interests":["news"]}"#, _ more: String = "") -> String {
  #"{"topic":"\#(LocalAPI.topic)","target":\#(target),"payload":\#(alert)\#(more)}"#
}

/// The backend surface: what a backend with an API key can do.
@Suite(.timeLimit(.minutes(1))) struct BackendTests {
  @Test("a store that was moved away is out of service for callers, and no fault of theirs or ours")
  func movedStore() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let source = try MoveSource(path: api.directory.path(of: "relay.db"), clocks: SystemClocks())
      _ = try source.begin(to: "postgresql://elsewhere")

      let body = #"{"topic":"\#(LocalAPI.topic)","target":{"interests":["a"]},"payload":{"aps":{"alert":"Hi"}}}"#
      let reply = try await api.call("POST", "/v1/notifications", key: key, body: body)

      #expect(reply.status == 503 && reply.text.contains("out of service"), "\(reply.text)")
    }
  }

  @Test("a notification is stored as its sender wrote it, before the answer")
  func enqueue() async throws {
    try await withAPI { api in
      let key = try await api.key()

      let reply = try await api.call("POST", "/v1/notifications", key: key, body: notification())
      let later = try await api.call(
        "POST", "/v1/notifications", key: key,
        body: notification("{\"everyone\":true}", #","send_at":"2999-01-01T00:00:00Z""#))

      #expect(reply.status == 202 && later.status == 422)
      let id = try #require(try reply.json()["id"]?.string.flatMap { NotificationID(text: $0) })
      #expect(try reply.json()["state"]?.string == "queued")
      #expect(try await api.store.notification(id)?.payload == Array(alert.utf8))
      let status = try await api.call("GET", "/v1/notifications/\(id)", key: key).json()
      #expect(status["topic"]?.string == LocalAPI.topic && status["complete"]?.bool == false)
      #expect(status["counts"]?["devices"]?.integer == 0)
      #expect(api.context.metrics.value(of: .notificationsEnqueued) == 1)
    }
  }

  @Test(
    "recipients with values of their own are one notification; their faults have their paths, too large ones are 413")
  func recipients() async throws {
    try await withAPI { api in
      let key = try await api.key()
      func post(_ recipients: String) async throws -> HTTPReply {
        let body =
          #"{"topic":"\#(LocalAPI.topic)","recipients":\#(recipients),"payload":{"aps":{"alert":"Hi {{name}}"}}}"#
        return try await api.call("POST", "/v1/notifications", key: key, body: body)
      }
      let reply = try await post(
        #"[{"user":"ada","values":{"name":"Ada"}},{"interest":"news","values":{"name":"all"}}]"#)
      let faulty = try await post(#"[{"user":"ada","values":{"nam":"Ada"}},{"user":"eve","values":{"name":1}},{}]"#)
      let large = try await post(#"[{"user":"ada","values":{"name":"\#(String(repeating: "x", count: 4096))"}}]"#)

      #expect(reply.status == 202 && faulty.status == 422 && large.status == 413)
      let id = try #require(try reply.json()["id"]?.string.flatMap { NotificationID(text: $0) })
      let stored = try #require(try await api.store.notification(id))
      #expect(stored.payload == Array(#"{"aps":{"alert":"Hi {{name}}"}}"#.utf8))
      #expect(stored.substitutions?.entries == [[Array("all".utf8)], [Array("Ada".utf8)]])
      let paths = try faulty.json()["errors"]?.array?.compactMap { $0["path"]?.string } ?? []
      #expect(Set(paths) == ["recipients[0].values.name", "recipients[1].values.name", "recipients[2]"])
      #expect(try large.json()["errors"]?.array?.first?["path"]?.string == "recipients[0]")
    }
  }

  @Test("a store that cannot be written for a while still answers what only reads, at a key's first use too")
  func readsWhileLocked() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let holder = try BuiltProgram(path: "/usr/bin/sqlite3").start([api.directory.path(of: "relay.db")])
      holder.write(Array("BEGIN IMMEDIATE; SELECT 'locked';\n".utf8))
      _ = try await holder.line(beginningWith: "locked")

      let reply = try await api.call("GET", "/v1/apps", key: key)

      holder.closeInput()
      _ = try await holder.result()
      #expect(reply.status == 200)
    }
  }

  @Test("every fault of a body is listed with its path; what is no JSON, or too large, says so")
  func faults() async throws {
    try await withAPI { api in
      let key = try await api.key()
      func post(_ body: String) async throws -> HTTPReply {
        try await api.call("POST", "/v1/notifications", key: key, body: body)
      }
      let faulty = try await post(#"{"topic":"a b","target":{"tokens":["zz"]},"payload":[],"priority":3,"extra":1}"#)
      let large = try await post(notification().replacing("Grüße", with: String(repeating: "x", count: 5000)))

      #expect(faulty.status == 422)
      let paths = try faulty.json()["errors"]?.array?.compactMap { $0["path"]?.string } ?? []
      #expect(Set(paths) == ["topic", "target.tokens[0]", "payload", "priority", "extra"])
      #expect(large.status == 413)
      #expect(try large.json()["type"]?.string == "urn:pushrelay:problem:too-large")
      for text in ["", "{", "nul", "{}{}", "\u{FEFF}{}", String(repeating: "[", count: 100_000)] {
        #expect(try await post(text).status == 400, "\(text.prefix(10))")
      }
      var bytes = Array(
        "POST /v1/notifications HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer \(key)\r\nContent-Length: 9\r\n\r\n{\"a\":\""
          .utf8)
      bytes += [0xFF, 0x22, 0x7D]
      let connection = try RawConnection(port: api.port)
      connection.send(bytes)
      #expect(try HTTPReply(await connection.readAll()).status == 400)
    }
  }

  @Test("an idempotency key enqueues once, for each API key by itself; another body under it is a conflict")
  func idempotency() async throws {
    try await withAPI { api in
      let (one, two) = (try await api.key(), try await api.key())
      func post(_ key: String, _ body: String) async throws -> HTTPReply {
        try await api.call("POST", "/v1/notifications", key: key, fields: ["Idempotency-Key: k1"], body: body)
      }
      let first = try await post(one, notification())
      let again = try await post(one, notification())
      let other = try await post(one, notification() + " ")
      let foreign = try await post(two, notification() + " ")
      let long = try await api.call(
        "POST", "/v1/notifications", key: one, fields: ["Idempotency-Key: \(String(repeating: "k", count: 256))"],
        body: notification())

      #expect(first.status == 202 && again.status == 200)
      #expect(try first.json()["id"] == again.json()["id"] || first.json()["id"]?.string == again.json()["id"]?.string)
      #expect(other.status == 409 && foreign.status == 202 && long.status == 400)
      #expect(try await api.call("GET", "/v1/notifications", key: one).json()["notifications"]?.array?.count == 2)
    }
  }

  @Test("keys: none or a wrong one is 401, a revoked one a second later; other actions and topics are 403")
  func keys() async throws {
    try await withAPI { api in
      let good = try await api.key()
      let reader = try await api.key(actions: [.read])
      let narrow = try await api.key(topics: ["com.example.other"])
      let id =
        try await api.call("POST", "/v1/notifications", key: good, body: notification()).json()["id"]?.string ?? ""
      let wrong = String(good.dropLast()) + (good.hasSuffix("0") ? "1" : "0")

      let none = try await api.call("GET", "/v1/apps")
      #expect(none.status == 401 && none["www-authenticate"] == "Bearer")
      #expect(try await api.call("GET", "/v1/apps", key: wrong).status == 401)
      #expect(try await api.call("GET", "/v1/apps", key: "prk_999_\(good.suffix(64))").status == 401)
      #expect(try await api.call("GET", "/v1/apps", fields: ["Authorization: Basic abc"]).status == 401)
      #expect(try await api.call("GET", "/v1/apps", key: reader).status == 200)
      #expect(try await api.call("POST", "/v1/notifications", key: reader, body: notification()).status == 403)
      #expect(try await api.call("POST", "/v1/notifications", key: narrow, body: notification()).status == 403)
      #expect(try await api.call("GET", "/v1/notifications/\(id)", key: narrow).status == 403)
      #expect(try await api.call("GET", "/v1/notifications/\(id)/receipts", key: narrow).status == 403)
      #expect(try await api.call("DELETE", "/v1/notifications/\(id)", key: narrow).status == 403)
      #expect(try await api.call("GET", "/v1/devices/ab?topic=\(LocalAPI.topic)", key: narrow).status == 403)
      #expect(try await api.call("POST", "/v1/apps/\(LocalAPI.topic)/pause", key: narrow).status == 403)
      #expect(try await api.call("GET", "/v1/apps", key: narrow).json()["apps"]?.array?.count == 0)
      #expect(try await api.call("GET", "/v1/notifications", key: narrow).json()["notifications"]?.array?.count == 0)

      _ = try await api.store.revokeAPIKey(try #require(APIKeyText(good)).id)
      try await eventually("the revoked key is refused") {
        try await api.call("GET", "/v1/apps", key: good).status == 401
      }
    }
  }

  @Test("a topic that extends an app's is made known by the first push for it")
  func extendedTopic() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let voip = notification(#"{"everyone":true}"#, #","push_type":"voip""#)
      let unknown = voip.replacing(LocalAPI.topic, with: "com.example.nobody")

      #expect(try await api.call("POST", "/v1/notifications", key: key, body: voip).status == 202)
      let refused = try await api.call("POST", "/v1/notifications", key: key, body: unknown)
      #expect(refused.status == 422)
      #expect(try refused.json()["errors"]?.array?.first?["path"]?.string == "topic")
    }
  }

  @Test("cancel is answered with the counts; what is final, 409; what is not there, 404")
  func cancel() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let id =
        try await api.call("POST", "/v1/notifications", key: key, body: notification()).json()["id"]?.string ?? ""

      let canceled = try await api.call("DELETE", "/v1/notifications/\(id)", key: key)

      #expect(canceled.status == 200)
      #expect(try canceled.json()["state"]?.string == "canceled" && canceled.json()["counts"] != nil)
      #expect(try await api.call("DELETE", "/v1/notifications/\(id)", key: key).status == 409)
      for path in ["/v1/notifications/5", "/v1/notifications/abc", "/v1/notifications/5/receipts"] {
        #expect(try await api.call(path.hasSuffix("s") ? "GET" : "DELETE", path, key: key).status == 404, "\(path)")
      }
    }
  }

  @Test("notifications are listed newest first, page by page")
  func listing() async throws {
    try await withAPI { api in
      let key = try await api.key()
      var ids: [String] = []
      for _ in 0..<5 {
        let reply = try await api.call("POST", "/v1/notifications", key: key, body: notification())
        ids.append(try reply.json()["id"]?.string ?? "")
      }

      var listed: [String] = []
      var target = "/v1/notifications?limit=2&state=queued"
      while true {
        let page = try await api.call("GET", target, key: key).json()
        listed += page["notifications"]?.array?.compactMap { $0["id"]?.string } ?? []
        guard let cursor = page["next_cursor"]?.string else { break }
        target = "/v1/notifications?limit=2&state=queued&cursor=\(cursor)"
      }

      #expect(listed == ids.reversed())
      for query in ["limit=0", "limit=1001", "limit=x", "state=lost", "cursor=r.1", "limt=5", "limit=1&limit=2"] {
        #expect(try await api.call("GET", "/v1/notifications?\(query)", key: key).status == 400, "\(query)")
      }
    }
  }

  @Test("apps are paused and resumed with all their topics")
  func apps() async throws {
    try await withAPI { api in
      let key = try await api.key()

      let paused = try await api.call("POST", "/v1/apps/\(LocalAPI.topic)/pause", key: key)
      let shown = try await api.call("GET", "/v1/apps", key: key).json()["apps"]?.array ?? []
      let resumed = try await api.call("POST", "/v1/apps/\(LocalAPI.topic)/resume", key: key)

      #expect(paused.status == 200 && resumed.status == 200)
      #expect(shown.map { $0["state"]?.string } == ["paused"] && shown[0]["reason"]?.string == "operator")
      #expect(try resumed.json()["apps"]?.array?.first?["state"]?.string == "active")
      #expect(try await api.call("POST", "/v1/apps/com.example.nobody/pause", key: key).status == 404)
    }
  }

  @Test("readiness says what is missing; health does not care")
  func readiness() async throws {
    try await withAPI { api in
      #expect(try await api.call("GET", "/readyz").status == 200)
      api.context.apps.replace([])

      let reply = try await api.call("GET", "/readyz")

      #expect(reply.status == 503)
      #expect(try reply.json()["reasons"]?.array?.compactMap(\.string) == ["no app is configured"])
      await api.store.close()
      #expect(try await api.call("GET", "/readyz").text.contains("the store cannot be reached"))
      #expect(try await api.call("GET", "/healthz").status == 200)
      let metrics = try await api.call("GET", "/metrics")
      #expect(metrics.status == 200 && metrics.text.contains("pushrelay_http_requests_total{class=\"5xx\"} 2"))
      let key = "prk_1_\(String(repeating: "a", count: 64))"
      let unavailable = try await api.call("GET", "/v1/apps", key: key)
      #expect(unavailable.status == 503 && unavailable["retry-after"] == "1")
    }
  }

  @Test("metrics tell how old the queue is by lane")
  func metrics() async throws {
    try await withAPI { api in
      let key = try await api.key()
      _ = try await api.call("POST", "/v1/notifications", key: key, body: notification())

      let text = try await api.call("GET", "/metrics").text

      #expect(
        text.contains(
          "# TYPE pushrelay_notifications_enqueued_total counter\npushrelay_notifications_enqueued_total 1\n"))
      #expect(text.contains("pushrelay_queue_age_seconds{lane=\"normal\"}"))
      #expect(text.contains("pushrelay_store_enqueue_seconds_count 1\n"))
      #expect(text.contains("pushrelay_store_enqueue_seconds_bucket{le=\"+Inf\"} 1\n"))
    }
  }
}
