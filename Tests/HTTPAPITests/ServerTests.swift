import Foundation
import JSON
import Operations
import PushCore
import Support
import Testing

@testable import HTTPAPI

/// The server over real sockets: what well-behaved and hostile callers get.
@Suite(.timeLimit(.minutes(1))) struct ServerTests {
  @Test("HEAD is answered as GET without a body, OPTIONS and 405 say what is allowed, the rest is 404")
  func methods() async throws {
    try await withAPI { api in
      let head = try await api.call("HEAD", "/healthz")
      let options = try await api.call("OPTIONS", "/healthz")
      let delete = try await api.call("DELETE", "/healthz")
      let odd = try await api.call("BREW", "/healthz")

      #expect(head.status == 200 && head.body.isEmpty && head["content-length"] != "0")
      #expect(options.status == 204 && options["allow"] == "GET, HEAD, OPTIONS")
      #expect(delete.status == 405 && delete["allow"] == "GET, HEAD, OPTIONS")
      #expect(delete["content-type"] == "application/problem+json")
      #expect(odd.status == 405)
      #expect(try await api.call("GET", "/health").status == 404)
      #expect(try await api.call("GET", "/healthz/").status == 404)
    }
  }

  @Test("a request id is echoed when it is well-formed, else made; each answer has one")
  func requestIDs() async throws {
    try await withAPI { api in
      let own = try await api.call("GET", "/healthz", fields: ["X-Request-Id: abc-1.2_3"])
      let bad = try await api.call("GET", "/nothing", fields: ["X-Request-Id: a b<script>"])
      let long = try await api.call(
        "GET", "/healthz", fields: ["X-Request-Id: \(String(repeating: "a", count: 129))"])

      #expect(own["x-request-id"] == "abc-1.2_3")
      #expect(bad["x-request-id"]?.contains("script") == false && bad["x-request-id"]?.isEmpty == false)
      #expect(try #require(long["x-request-id"]).utf8.count <= 16)
    }
  }

  @Test("one connection takes many requests, one after the other and all at once")
  func keepAlive() async throws {
    try await withAPI { api in
      let connection = try RawConnection(port: api.port)
      let request = Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      for _ in 0..<3 { connection.send(request + request) }
      connection.send(Array("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))

      let text = String(decoding: await connection.readAll(), as: UTF8.self)

      #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 8)
    }
  }

  @Test("a caller that expects 100 gets it before it sends its body, and 413 in its place when the body is too long")
  func expectContinue() async throws {
    try await withAPI { api in
      let key = try await api.key()
      func head(_ count: Int) -> [UInt8] {
        Array(
          "POST /v1/notifications HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\nExpect: 100-continue\r\nContent-Length: \(count)\r\n\r\n"
            .utf8)
      }
      let small = try RawConnection(port: api.port)
      small.send(head(2))
      let interim = await small.read { $0.count >= 25 }
      small.send(Array("{}".utf8))
      let rest = await small.read { String(decoding: $0, as: UTF8.self).contains("errors") }
      let large = try RawConnection(port: api.port)
      large.send(head(1 << 30))
      let refusal = try HTTPReply(await large.readAll())

      #expect(String(decoding: interim, as: UTF8.self).hasPrefix("HTTP/1.1 100 Continue"))
      #expect(String(decoding: rest, as: UTF8.self).contains("HTTP/1.1 422"))
      #expect(refusal.status == 413 && refusal["connection"]?.lowercased() == "close")
    }
  }

  @Test(
    "a body whose length is doubtful is answered 400, and nothing that follows on the connection is believed",
    arguments: [
      "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
      "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip", "Content-Length: +5",
      "Content-Length: 5, 5",
    ])
  func smuggling(fields: String) async throws {
    try await withAPI { api in
      let hidden = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
      let reply = try await api.raw("POST /v1/notifications HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n0\r\n\r\n\(hidden)")

      #expect(try HTTPReply(reply).status == 400)
      #expect(!String(decoding: reply, as: UTF8.self).contains("HTTP/1.1 200"))
    }
  }

  @Test(
    "a chunked body without end is read in bounded memory and cut, early when its chunks are tiny",
    arguments: [1, 65_536])
  func endlessBody(size: Int) async throws {
    let limit = size == 1 ? 1 << 23 : 1 << 26
    try await withAPI { api in
      let connection = try RawConnection(port: api.port)
      connection.send(
        Array("POST /v1/notifications HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8))
      let chunk =
        Array("\(String(size, radix: 16))\r\n".utf8) + [UInt8](repeating: 0x20, count: size) + Array("\r\n".utf8)
      let chunks = Array(repeatElement(chunk, count: 65_536 / size).joined())
      var sent = 0
      while sent < limit, connection.send(chunks) { sent += chunks.count }

      #expect(sent < limit)
      #expect(try await api.call("GET", "/healthz").status == 200)
    }
  }

  @Test("a chunked body of more than 1 MiB is answered 413")
  func largeChunkedBody() async throws {
    try await withAPI { api in
      let key = try await api.key()
      let chunk = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
      let reply = try await api.raw(
        "POST /v1/notifications HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
          + String(repeating: chunk, count: 17) + "0\r\n\r\n")

      #expect(try HTTPReply(reply).status == 413)
    }
  }

  @Test("a head of more than 16 KB is answered 431 or cut, a target that is too long 414")
  func longHeads() async throws {
    try await withAPI { api in
      let flood = String(repeating: "X-Flood: \(String(repeating: "a", count: 90))\r\n", count: 1000)
      let reply = try await api.raw("GET /healthz HTTP/1.1\r\nHost: a\r\n\(flood)\r\n")
      let target = try await api.call("GET", "/" + String(repeating: "a", count: 5000))

      let status = reply.isEmpty ? nil : try HTTPReply(reply).status
      #expect(status == nil || status == 431)
      #expect(target.status == 414)
      #expect(try await api.call("GET", "/healthz").status == 200)
    }
  }

  @Test(
    "tricks with paths are answered 400",
    arguments: ["/v1/../healthz", "/v1/%2e%2e/healthz", "/healthz%00", "/healthz%", "/healthz?a=1&a=2", "/%ff"])
  func paths(target: String) async throws {
    try await withAPI { api in
      let reply = try await api.call("GET", target)
      #expect(reply.status == 400)
    }
  }

  @Test("who sends a request a byte at a time, or nothing, is cut when the time for a request is over")
  func slowSenders() async throws {
    var limits = HTTPServer.Limits()
    limits.requestTimeout = .milliseconds(200)
    try await withAPI(limits: limits) { api in
      let silent = try RawConnection(port: api.port)
      let slow = try RawConnection(port: api.port)
      slow.send(Array("POST /v1/notifications HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n".utf8))
      try await eventually("the slow sender is cut") { !slow.send([0x20]) }

      #expect(await silent.readAll().isEmpty)
      #expect(try await api.call("GET", "/healthz").status == 200)
    }
  }

  @Test("an address gets no more than its number of connections: a new one ends the one that is idle for longest")
  func connectionLimit() async throws {
    var limits = HTTPServer.Limits()
    limits.connectionsPerAddress = 2
    try await withAPI(limits: limits) { api in
      var held: [RawConnection] = []
      for _ in 0..<2 {
        let connection = try RawConnection(port: api.port)
        connection.send(Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(await connection.read { $0.count > 20 }.count > 20)
        held.append(connection)
      }
      #expect(try await api.call("GET", "/healthz").status == 200)
      #expect(await held[0].readAll().isEmpty)
      held[1].send(Array("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
      #expect(await held[1].readAll().count > 20)
    }
  }

  @Test("the log has neither parameters, nor keys, nor whole device tokens; it has the client behind a trusted proxy")
  func accessLog() async throws {
    let log = LogRecorder()
    try await withAPI(trustedProxies: [try #require(IPAddressRange("127.0.0.1"))], log: log) { api in
      let key = try await api.key()
      let token = String(repeating: "ab", count: 32)
      _ = try await api.call(
        "GET", "/v1/devices/\(token)?topic=com.secret.topic", key: key,
        fields: ["X-Request-Id: r1", "X-Forwarded-For: 9.9.9.9, 203.0.113.7"])

      let line = try await log.line(containing: "request.id=r1")
      #expect(line.contains("http.path=/v1/devices/abababab…") && line.contains("client=203.0.113.7"))
      for secret in [token, key, "com.secret.topic"] { #expect(!log.lines.joined().contains(secret)) }
    }
  }

  @Test("a stopping server finishes what it has begun, says that connections end, and takes no new ones")
  func gracefulStop() async throws {
    let api = try await LocalAPI()
    let key = try await api.key()
    let body = #"{"topic":"\#(LocalAPI.topic)","target":{"everyone":true},"payload":{"aps":{"alert":"Hi"}}}"#
    let begun = try RawConnection(port: api.port)
    begun.send(
      Array(
        "POST /v1/notifications HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
          .utf8))
    let idle = try RawConnection(port: api.port)
    idle.send(Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
    _ = await idle.read { $0.count > 20 }

    api.server.stop()
    try await eventually("no new connections are taken") { (try? RawConnection(port: api.port)) == nil }
    begun.send(Array(body.utf8))
    let reply = try HTTPReply(await begun.readAll())

    #expect(reply.status == 202 && reply["connection"]?.lowercased() == "close")
    #expect(await idle.readAll().isEmpty)
    await api.close()
  }
}
