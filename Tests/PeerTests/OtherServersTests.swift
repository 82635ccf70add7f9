import Foundation
import JSON
import Support
import Testing

@Suite("The sender against servers of other projects", .timeLimit(.minutes(2)))
struct OtherServersTests {
  private let tokens = (1...200).map { PeerSite.token($0) }

  /// Sends until the server that was just started takes connections.
  private func send(
    _ site: PeerSite, to tokens: [String], port: UInt16, _ server: RunningProgram
  ) async throws -> (result: ProgramResult, receipts: [String: JSONValue]) {
    var last: (result: ProgramResult, receipts: [String: JSONValue])?
    try await eventually(within: .seconds(30), "the server comes up; it wrote \(server.errorOutput)") {
      let attempt = try await site.send(to: tokens, port: "\(port)")
      last = attempt
      return attempt.result.status != 69
    }
    guard let last else { throw SupportError("nothing was sent") }
    return last
  }

  @Test(
    "Hypercorn hands every push to its application, and its 410 is understood",
    .enabled(if: Peer.isUsable(Peer.hypercorn), "run scripts/test, which installs hypercorn, to run this"))
  func hypercorn() async throws {
    let site = try await PeerSite()
    let port = try freePort()
    let server = try BuiltProgram(path: Peer.hypercorn).start(
      [
        "--bind", "127.0.0.1:\(port)", "--certfile", site.certificate, "--keyfile", site.certificateKey, "asgi_app:app",
      ], directory: URL(fileURLWithPath: Fixture.path("asgi_app.py")).deletingLastPathComponent().path)
    let gone = PeerSite.token(5000, last: "f")

    let (result, receipts) = try await send(site, to: tokens + [gone], port: port, server)

    #expect(result.status == 1, "\(result.text)")
    #expect(receipts[gone]?["reason"]?.string == "Unregistered")
    #expect(tokens.allSatisfy { receipts[$0]?["status"]?.integer == 200 })
    let requests = try server.errorOutput.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
      try JSONValue(parsing: Array($0.utf8))
    }
    #expect(requests.count == tokens.count + 1)
    #expect(requests.allSatisfy { $0["version"]?.string == "2" && $0["body"]?.string?.contains("Grüße") == true })
  }

  @Test(
    "nghttpd takes every push",
    .enabled(if: Peer.isUsable(Peer.nghttpd), "install nghttp2-server to run this"))
  func nghttpd() async throws {
    let site = try await PeerSite()
    let port = try freePort()
    let server = try BuiltProgram(path: Peer.nghttpd).start(
      ["--echo-upload", "--address=127.0.0.1", "\(port)", site.certificateKey, site.certificate])

    let (result, receipts) = try await send(site, to: tokens, port: port, server)

    #expect(result.status == 0, "\(result.text)")
    #expect(tokens.allSatisfy { receipts[$0]?["status"]?.integer == 200 })
  }

  @Test(
    "nginx takes every push, though it ends a connection after fifty requests",
    .enabled(if: Peer.isUsable(Peer.nginx), "install nginx to run this"))
  func nginx() async throws {
    let site = try await PeerSite()
    let port = try freePort()
    let server = try startNginx(site, port, "return 200;")

    let (result, receipts) = try await send(site, to: tokens, port: port, server)

    #expect(result.status == 0, "\(result.text)")
    #expect(tokens.allSatisfy { receipts[$0]?["status"]?.integer == 200 }, "\(result.text)")
    let log = try String(contentsOfFile: site.directory.path(of: "access.log"), encoding: .utf8)
    let paths = log.split(separator: "\n")
    #expect(Set(paths).count == tokens.count)
    #expect(paths.allSatisfy { $0.hasPrefix("HTTP/2.0 POST /3/device/") })
  }

  @Test(
    "an answer of nginx that is none of APNs' is shown with its status",
    .enabled(if: Peer.isUsable(Peer.nginx), "install nginx to run this"))
  func nginxError() async throws {
    let site = try await PeerSite()
    let port = try freePort()
    let server = try startNginx(site, port, "return 502;")

    let (result, receipts) = try await send(site, to: [tokens[0]], port: port, server)

    #expect(result.status == 75, "\(result.text)")
    #expect(receipts[tokens[0]]?["reason"]?.string == "HTTP 502")
  }

  private func startNginx(_ site: PeerSite, _ port: UInt16, _ answer: String) throws -> RunningProgram {
    let folder = site.directory.path
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
    try site.directory.write(
      """
      daemon off; master_process off; pid \(folder)/nginx.pid; error_log stderr;
      events { worker_connections 64; }
      http {
        \(temporary.joined(separator: " "))
        log_format request '$server_protocol $request_method $uri'; access_log \(folder)/access.log request;
        server {
          listen 127.0.0.1:\(port) ssl http2;
          ssl_certificate \(site.certificate); ssl_certificate_key \(site.certificateKey);
          keepalive_requests 50; http2_max_concurrent_streams 16;
          location / { \(answer) }
        }
      }
      """, to: "nginx.conf")
    return try BuiltProgram(path: Peer.nginx).start(["-p", folder, "-c", site.directory.path(of: "nginx.conf")])
  }
}
