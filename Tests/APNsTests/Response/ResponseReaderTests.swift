import HTTP2
import Operations
import PushCore
import Testing

@testable import APNs

@Suite("Reading an answer of APNs")
struct ResponseReaderTests {
  private let now = UnixMilliseconds(1_767_225_600_000)

  private func verdict(_ status: UInt16, _ body: String = "", retryAfter: String? = nil) -> Verdict {
    let fields = retryAfter.map { [HTTP2FieldValue(name: "retry-after", value: $0)] } ?? []
    return ResponseReader.verdict(status: status, body: Array(body.utf8), fields: fields, now: now)
  }

  private func known(_ text: String) throws -> PushReason {
    .known(try #require(ReasonTable.id(of: text)))
  }

  @Test("200 is accepted, with any body")
  func accepted() {
    #expect(verdict(200) == .accepted)
    #expect(verdict(200, "{\"reason\":\"BadDeviceToken\"}") == .accepted)
  }

  @Test("final refusals are final")
  func rejected() throws {
    for (status, text) in [
      (400, "BadCollapseId"), (404, "BadPath"), (405, "MethodNotAllowed"), (413, "PayloadTooLarge"),
    ] {
      #expect(verdict(UInt16(status), "{\"reason\":\"\(text)\"}") == .rejected(try known(text)))
    }
  }

  @Test("a 410 carries the time that its token became invalid, in milliseconds")
  func gone() throws {
    let unregistered = try known("Unregistered")
    let answer = { (timestamp: String) in
      verdict(410, "{\"reason\":\"Unregistered\",\"timestamp\":\(timestamp)}")
    }
    #expect(
      answer("1700000000000")
        == .gone(unregistered, registeredBefore: UnixMilliseconds(1_700_000_000_000)))
    #expect(
      answer("1767225660000")
        == .gone(unregistered, registeredBefore: UnixMilliseconds(1_767_225_660_000)))
    // Seconds, a fraction, a string, the far future, nothing at all: as if there were none.
    for absurd in [
      "1700000000", "1.7e12", "\"1700000000000\"", "0", "-5", "48075000000000000",
      "9223372036854775807", "null",
    ] {
      #expect(answer(absurd) == .gone(unregistered, registeredBefore: nil), "\(absurd)")
    }
    #expect(
      verdict(410, "{\"reason\":\"ExpiredToken\"}")
        == .gone(try known("ExpiredToken"), registeredBefore: nil))
  }

  @Test("a token that does not fit is the device's matter, without a time")
  func unfit() throws {
    #expect(
      verdict(400, "{\"reason\":\"BadDeviceToken\"}")
        == .unfit(try known("BadDeviceToken")))
    #expect(
      verdict(400, "{\"reason\":\"DeviceTokenNotForTopic\",\"timestamp\":1700000000000}")
        == .unfit(try known("DeviceTokenNotForTopic")))
  }

  @Test("a refused key stops the key, a refused topic or environment the app")
  func held() throws {
    #expect(
      verdict(403, "{\"reason\":\"InvalidProviderToken\"}")
        == .held(.key, try known("InvalidProviderToken")))
    for text in [
      "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "Forbidden",
      "UnrelatedKeyIdInToken",
    ] {
      #expect(verdict(403, "{\"reason\":\"\(text)\"}") == .held(.app, try known(text)))
    }
    #expect(
      verdict(400, "{\"reason\":\"TopicDisallowed\"}") == .held(.app, try known("TopicDisallowed")))
  }

  @Test("faults of the server are tried again, not before it says")
  func retry() throws {
    #expect(
      verdict(500, "{\"reason\":\"InternalServerError\"}")
        == .retry(try known("InternalServerError"), notBefore: nil))
    #expect(verdict(431) == .retry(.unknown("HTTP 431"), notBefore: nil))
    let unavailable = try known("ServiceUnavailable")
    let body = "{\"reason\":\"ServiceUnavailable\"}"
    #expect(verdict(503, body, retryAfter: "7") == .retry(unavailable, notBefore: .seconds(7)))
    #expect(
      verdict(503, body, retryAfter: "99999999999")
        == .retry(unavailable, notBefore: .seconds(86_400)))
    for text in ["-1", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", ""] {
      #expect(verdict(503, body, retryAfter: text) == .retry(unavailable, notBefore: nil))
    }
    #expect(
      verdict(503, "{\"reason\":\"Service Unavailable\"}")
        == .retry(try known("Service Unavailable"), notBefore: nil))
    #expect(
      verdict(429, "{\"reason\":\"TooManyRequests\"}")
        == .retry(try known("TooManyRequests"), notBefore: .seconds(60)))
  }

  @Test("an unknown reason is kept and read by its status")
  func unknownReason() {
    let body = "{\"reason\":\"BrandNew\",\"extra\":[1,{\"x\":null}]}"
    let reason = PushReason.unknown("BrandNew")
    #expect(verdict(400, body) == .rejected(reason))
    #expect(verdict(404, body) == .rejected(reason))
    #expect(verdict(403, body) == .held(.key, reason))
    #expect(verdict(410, body) == .gone(reason, registeredBefore: nil))
    #expect(verdict(429, body) == .retry(reason, notBefore: nil))
    #expect(verdict(502, body) == .retry(reason, notBefore: nil))
    #expect(verdict(302, body) == .retry(reason, notBefore: nil))
  }

  @Test(
    "a body that says nothing leaves the status as the reason",
    arguments: [
      "", "<html>Bad Gateway</html>", "{", "[]", "null", "{\"reason\":5}", "{\"reason\":\"\"}",
      "{\"reason\":\"a\\nb\"}",
      "{\"reason\":\"<script>\"}", "{\"reason\":\"\(String(repeating: "x", count: 65))\"}",
      "{\"reason\":\"BadDev", "\u{0}\u{0}",
    ])
  func silentBody(body: String) {
    #expect(verdict(502, body) == .retry(.unknown("HTTP 502"), notBefore: nil))
    #expect(verdict(400, body) == .rejected(.unknown("HTTP 400")))
  }

  @Test("a body that was cut off still gives its reason")
  func cutBody() throws {
    let cut = "{ \"reason\" : \"BadTopic\",\"padding\":\"" + String(repeating: "x", count: 5000)
    #expect(verdict(400, cut) == .held(.app, try known("BadTopic")))
  }

  @Test("no byte of a body can make the reader fail")
  func everyPrefix() {
    let body = Array("{\"reason\":\"Unregistered\",\"timestamp\":1700000000000}".utf8)
    for count in 0...body.count {
      let prefix = Array(body.prefix(count))
      _ = ResponseReader.verdict(status: 410, body: prefix, fields: [], now: now)
      for byte in [UInt8(0), 0xFF, UInt8(ascii: "\"")] where count < body.count {
        var changed = body
        changed[count] = byte
        _ = ResponseReader.verdict(status: 410, body: changed, fields: [], now: now)
      }
    }
  }
}
