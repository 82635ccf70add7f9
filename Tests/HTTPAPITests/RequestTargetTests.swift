import Testing

@testable import HTTPAPI

/// How targets are read: split first, decoded then.
@Suite struct RequestTargetTests {
  @Test("a target is split before it is decoded, so that an encoded slash is part of a name")
  func decoding() throws {
    let target = try RequestTarget(raw: "/v1/users/a%20b%2Fc%40%C3%A9+?since=2026-11-30T00%3A00%3A00%2B01:00&x=a+b&y")

    #expect(target.segments == ["v1", "users", "a b/c@é+"])
    #expect(target.query.map(\.name) == ["since", "x", "y"])
    #expect(target.query.map(\.value) == ["2026-11-30T00:00:00+01:00", "a b", ""])
  }

  @Test("the absolute form leads to the same place")
  func absoluteForm() throws {
    #expect(try RequestTarget(raw: "http://relay.example.com:80/v1/apps?a=b") == RequestTarget(raw: "/v1/apps?a=b"))
  }

  @Test(
    "tricks and malformed escapes are refused",
    arguments: [
      "", "*", "v1/apps", "http://host", "/v1/%00", "/v1/%0a", "/v1/%7f", "/v1/%", "/v1/%2", "/v1/%zz", "/v1/%ff",
      "/v1/%c0%af", "/../etc", "/v1/..", "/v1/%2e%2e/x", "/v1/.", "/v1/é", "/v1/a b", "/v1?a=%00", "/v1?a=1&a=2",
      "/v1?a=1&%61=2", "/v1/%ED%A0%80",
    ])
  func refused(raw: String) {
    #expect(throws: RequestTarget.Fault.self) { try RequestTarget(raw: raw) }
  }

  @Test("a target of 4096 bytes is read, a longer one is refused")
  func length() throws {
    let longest = "/" + String(repeating: "a", count: RequestTarget.limitBytes - 1)

    #expect(try RequestTarget(raw: longest).segments.count == 1)
    #expect(throws: RequestTarget.Fault.tooLong) { try RequestTarget(raw: longest + "a") }
  }
}

/// Which heads are believed.
@Suite struct RequestFramingTests {
  private func decide(_ fields: [(String, String)]) -> RequestFraming.Decision {
    let head = RequestHead(method: "POST", rawTarget: "/", fields: fields.map { (name: $0.0, value: $0.1) }, peer: nil)
    return RequestFraming.decide(head, limitBytes: 100)
  }

  @Test("a body with one length, or chunked, is read")
  func read() {
    #expect(decide([]) == .read)
    #expect(decide([("content-length", "100")]) == .read)
    #expect(decide([("transfer-encoding", "Chunked")]) == .read)
  }

  @Test("a length that is said twice, or in two ways, or is no number, makes the request doubtful")
  func doubtful() {
    for fields in [
      [("content-length", "5"), ("content-length", "5")], [("content-length", "5"), ("transfer-encoding", "chunked")],
      [("content-length", "+5")], [("content-length", "5, 5")], [("content-length", "")], [("content-length", "-1")],
      [("content-length", "0x5")], [("transfer-encoding", "gzip, chunked")], [("transfer-encoding", "identity")],
      [("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
    ] {
      guard case .doubtful = decide(fields) else {
        Issue.record("\(fields)")
        continue
      }
    }
  }

  @Test("a body that is said to be too long is not read")
  func tooLarge() {
    #expect(decide([("content-length", "101")]) == .tooLarge)
    #expect(decide([("content-length", "99999999999999999999999")]) == .tooLarge)
  }
}
