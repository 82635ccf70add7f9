import Operations
import Testing

@testable import APNsSimulator

@Suite("Clients that do not listen")
struct WatchTests {
  static let now = SimulatorFixture.time()
  static let push = PushIdentity(messageID: 1, device: 2, collapseID: 3, providerToken: 4)

  @Test(
    "answers that no repetition changes",
    arguments: [
      (400, "BadDeviceToken", true), (400, "IdleTimeout", false), (403, "InvalidProviderToken", true),
      (403, "ExpiredProviderToken", false), (403, "UnrelatedKeyIdInToken", false), (404, "BadPath", true),
      (405, "MethodNotAllowed", true), (410, "Unregistered", true), (413, "PayloadTooLarge", true),
      (429, "TooManyRequests", false), (500, "InternalServerError", false), (503, "Shutdown", false), (200, "", false),
    ])
  func finalAnswers(status: Int, reason: String, isFinal: Bool) {
    #expect(RetryWatch.isFinal(status: status, reason: reason) == isFinal)
  }

  @Test(
    "the same push is known by its apns-id, or by device and collapse id",
    arguments: [
      (PushIdentity(messageID: 1, device: 9, collapseID: 9), true),
      (PushIdentity(messageID: 9, device: 2, collapseID: 3), true),
      (PushIdentity(device: 2, collapseID: 3), true),
      (PushIdentity(messageID: 9, device: 2, collapseID: 9), false),
      (PushIdentity(messageID: 9, device: 9, collapseID: 3), false),
      (PushIdentity(device: 2), false),
    ])
  func identity(again: PushIdentity, isSame: Bool) {
    var watch = RetryWatch()
    watch.answered(Self.push, status: 410, reason: "Unregistered", retryAfter: nil, now: Self.now)

    #expect(watch.violations(of: again, isAccepted: true, now: Self.now) == (isSame ? [.finalRetry] : []))
  }

  @Test(
    "after a refusal of the credential the push may come again with another provider token, or once it is mended",
    arguments: [(403, "InvalidProviderToken"), (400, "TopicDisallowed")])
  func otherProviderToken(status: Int, reason: String) {
    var watch = RetryWatch()
    watch.answered(Self.push, status: status, reason: reason, retryAfter: nil, now: Self.now)
    var other = Self.push
    other.providerToken = 5

    #expect(watch.violations(of: Self.push, isAccepted: false, now: Self.now) == [.finalRetry])
    #expect(watch.violations(of: Self.push, isAccepted: true, now: Self.now) == [])
    #expect(watch.violations(of: other, isAccepted: false, now: Self.now) == [])
  }

  @Test("before retry-after has passed a push is too early, and after it welcome")
  func retryAfter() {
    var watch = RetryWatch()
    watch.answered(Self.push, status: 503, reason: "Shutdown", retryAfter: .seconds(7), now: Self.now)

    #expect(watch.violations(of: Self.push, isAccepted: true, now: SimulatorFixture.time(6)) == [.earlyRetry])
    #expect(watch.violations(of: Self.push, isAccepted: true, now: SimulatorFixture.time(7)) == [])
  }

  @Test("connections that begin while many end are a storm")
  func storm() {
    var watch = ConnectStormWatch()
    func time(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }
    for _ in 1..<ConnectStormWatch.limit { watch.connectionClosed(at: time(100)) }

    let before = watch.isStorm(at: time(101))
    watch.connectionClosed(at: time(105))

    #expect(!before)
    #expect(watch.isStorm(at: time(110)))
    #expect(!watch.isStorm(at: time(111)))
  }
}

@Suite("Requests to the control interface")
struct ControlRequestTests {
  static let host = "Host: 127.0.0.1:1\r\n"

  @Test("a whole request is taken however it arrives")
  func pieces() {
    let bytes = Array("POST /goaway HTTP/1.1\r\n\(Self.host)Content-Length: 2\r\n\r\n{}".utf8)

    for count in 0..<bytes.count { #expect(ControlRequest.parse(Array(bytes[..<count])) == .incomplete) }
    #expect(
      ControlRequest.parse(bytes)
        == .complete(ControlRequest(method: "POST", path: "/goaway", body: Array("{}".utf8))))
  }

  @Test(
    "anything else is refused",
    arguments: [
      ("GET /state\r\n\r\n", 400), ("GET /state HTTP/1.0\r\n\(host)\r\n", 400), ("GET  /state HTTP/1.1\r\n\r\n", 400),
      ("GET /state HTTP/1.1\r\n\r\n", 400), ("GET /state HTTP/1.1\r\nHost : a\r\n\r\n", 400),
      ("GET /state HTTP/1.1\r\n\(host) folded\r\n\r\n", 400), ("GET /state HTTP/1.1\r\n\(host)\(host)\r\n", 400),
      ("GET /state HTTP/1.1\r\nHost: example.com\r\n\r\n", 403),
      ("GET /state HTTP/1.1\r\n\(host)Origin: http://127.0.0.1\r\n\r\n", 403),
      ("PUT /script HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n", 501),
      ("PUT /script HTTP/1.1\r\n\(host)Expect: 100-continue\r\n\r\n", 417),
      ("PUT /script HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", 400),
      ("PUT /script HTTP/1.1\r\n\(host)Content-Length: 2000000\r\n\r\n", 413),
      ("PUT /script HTTP/1.1\r\n\(host)Content-Length: 1\r\n\r\n{}", 400),
      ("GET /state HTTP/1.1\r\n\(host)a: \(String(repeating: "a", count: 9000))\r\n\r\n", 431),
      (String(repeating: "a", count: 9000), 431),
    ])
  func refused(text: String, status: Int) {
    guard case .refused(status, _) = ControlRequest.parse(Array(text.utf8)) else {
      Issue.record("\(ControlRequest.parse(Array(text.utf8)))")
      return
    }
  }
}
