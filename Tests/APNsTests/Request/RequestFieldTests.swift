import HTTP2
import JSON
import Operations
import PushCore
import Testing

@testable import APNs

@Suite("The headers of a push")
struct RequestFieldTests {
  private func values(_ headers: PushHeaders) -> [String] {
    let content = PushContent(
      notificationID: NotificationID(42), topic: "com.example.app.voip", headers: headers,
      expiresAt: UnixMilliseconds(1_767_225_600_999), payload: Array("{}".utf8))
    return RequestField.allCases.map {
      "\($0.name): \($0.value(of: content, authorization: "bearer x"))"
    }
  }

  @Test(
    "every header is sent, in lower case, times in whole seconds, the collapse id by default the notification's id"
  )
  func everyHeader() {
    #expect(
      values(PushHeaders(pushType: .voip, priority: .powerConscious)) == [
        "authorization: bearer x", "apns-topic: com.example.app.voip", "apns-push-type: voip",
        "apns-priority: 5",
        "apns-expiration: 1767225600", "apns-collapse-id: 42",
      ])
  }

  @Test("expiration 0 and a collapse id of the sender's are sent as they are")
  func explicit() {
    let values = values(
      PushHeaders(pushType: .alert, priority: .low, collapseID: "chat", expiresImmediately: true))
    #expect(values.contains("apns-expiration: 0"))
    #expect(values.contains("apns-collapse-id: chat"))
    #expect(values.contains("apns-priority: 1"))
  }

  @Test("the provider token is never indexed, values of a single push are not either")
  func indexing() {
    for isShared in [true, false] {
      #expect(RequestField.authorization.indexing(isShared: isShared) == .never)
      #expect(RequestField.topic.indexing(isShared: isShared) == .automatic)
    }
    #expect(RequestField.collapseID.indexing(isShared: false) == .never)
    #expect(RequestField.collapseID.indexing(isShared: true) == .automatic)
  }

  @Test("a dry run shows the whole request and masks the provider token")
  func preview() {
    let payload = "{\"aps\":{\"alert\":\"é\"}}"
    let publication = Publication(
      topic: "com.example.app", target: Target(), payload: Array(payload.utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal,
      deadline: .after(.seconds(300)))
    let preview = RequestPreview(
      of: publication, deviceToken: DeviceToken(stored: "abcd"),
      host: HostPort(host: "api.push.apple.com", port: 443),
      teamID: "TESTTEAM01", keyID: "TESTKEY001", now: UnixMilliseconds(1_767_225_600_000))

    #expect(
      preview.text == """
        POST https://api.push.apple.com:443/3/device/abcd
        authorization: bearer <provider token of team TESTTEAM01, key TESTKEY001>
        apns-topic: com.example.app
        apns-push-type: alert
        apns-priority: 10
        apns-expiration: 1767225900
        apns-collapse-id: <notification id>
        apns-id: <UUID of notification and device>

        {"aps":{"alert":"é"}}

        body: 22 bytes

        """)
  }

  @Test("as JSON a dry run is one line whose body is the payload's own text")
  func previewJSON() throws {
    let publication = Publication(
      topic: "com.example.app", target: Target(), payload: Array("{\n\"aps\":{},\r\n \"price\":19.90}".utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal)
    let preview = RequestPreview(
      of: publication, deviceToken: DeviceToken(stored: "abcd"), host: HostPort(host: "apns.test", port: 443),
      teamID: "TESTTEAM01", keyID: "TESTKEY001", now: UnixMilliseconds(0))
    var writer = JSONWriter()
    writer.object { preview.write(to: &$0) }
    let json = try JSONValue(parsing: writer.bytes)

    #expect(json.object?.map(\.name) == ["method", "host", "path", "headers", "body", "body_bytes"])
    #expect(json["host"]?.string == "apns.test:443" && json["path"]?.string == "/3/device/abcd")
    #expect(json["headers"]?["apns-topic"]?.string == "com.example.app")
    #expect(json["body_bytes"]?.integer == 28)
    #expect(writer.text.contains(#""body":{ "aps":{},   "price":19.90}"#) && !writer.text.contains("\n"))
  }
}
