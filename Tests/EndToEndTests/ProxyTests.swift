import Foundation
import Glibc
import JSON
import Support
import Testing

@Suite("APNs behind a proxy", .timeLimit(.minutes(3)))
struct ProxyTests {
  /// A name that only a proxy can reach.
  private static let host = "apns.invalid:443"
  private static let authorization = "Basic " + Data("relay:secret".utf8).base64EncodedString()

  private func site() async throws -> (Site, ConnectProxy) {
    let site = try await Site(simulatorOptions: ["--tls-name", "apns.invalid"])
    let proxy = try await ConnectProxy(.tunnel(site.port, authorization: Self.authorization))
    return (site, proxy)
  }

  private func send(
    _ site: Site, _ options: String..., environment: [String: String] = [:]
  ) async throws -> ProgramResult {
    try await site.sendpush.run(
      ["send", "--token", Site.token(7), "--title", "Hello", "--timeout", "5s"] + options,
      environment: BuiltProgram.defaultEnvironment.merging(environment) { $1 }, directory: site.directory.path)
  }

  @Test("sendpush goes through the proxy of the file, of the environment and of the option")
  func accepted() async throws {
    let (site, proxy) = try await site()
    let url = "http://relay:secret@127.0.0.1:\(proxy.port)"

    let byOption = try await send(site, "--host", Self.host, "--proxy", url)
    let byVariable = try await send(site, "--host", Self.host, environment: ["HTTPS_PROXY": url])
    try site.writeConfiguration(address: Self.host, proxy: url)
    let byFile = try await send(site)

    for result in [byOption, byVariable, byFile] { #expect(result.status == 0, "\(result.text)") }
    #expect(proxy.requests.count == 3)
    #expect(proxy.requests.allSatisfy { $0.hasPrefix("CONNECT apns.invalid:443 HTTP/1.1\r\n") })
    #expect(try site.requests().count == 3)
  }

  @Test("this machine and NO_PROXY are reached directly")
  func direct() async throws {
    let (site, proxy) = try await site()
    let variables = ["HTTPS_PROXY": "http://relay:secret@127.0.0.1:\(proxy.port)"]

    let here = try await send(site, environment: variables)
    let excepted = try await send(
      site, "--host", Self.host, environment: variables.merging(["NO_PROXY": "apns.invalid"]) { $1 })

    #expect(here.status == 0, "\(here.text)")
    #expect(excepted.status == 69 && excepted.errorOutput.contains("no address"), "\(excepted.text)")
    #expect(proxy.requests.isEmpty)
  }

  @Test("a wrong password: 69, the proxy and 407 are named, the password is not")
  func unauthenticated() async throws {
    let (site, proxy) = try await site()
    let result = try await send(site, "--host", Self.host, "--proxy", "http://relay:hidden@127.0.0.1:\(proxy.port)")
    #expect(result.status == 69, "\(result.text)")
    #expect(
      result.errorOutput.contains("407") && result.errorOutput.contains("127.0.0.1:\(proxy.port)"), "\(result.text)")
    #expect(!result.text.contains("hidden"))
  }

  @Test(
    "a proxy that refuses, talks nonsense or is silent: 69, each by its name",
    arguments: [
      (ConnectProxy.Manners.answer("HTTP/1.1 403 Filtered\r\n\r\n"), "403 Filtered"),
      (.answer("220 mail.example.com ESMTP\r\n"), "does not answer as one"), (.close, "closed the connection"),
      (.silence, "did not answer CONNECT in time"),
    ])
  func refused(manners: ConnectProxy.Manners, words: String) async throws {
    let (site, _) = try await site()
    let proxy = try await ConnectProxy(manners)
    let result = try await send(site, "--host", Self.host, "--proxy", "127.0.0.1:\(proxy.port)")
    #expect(result.status == 69, "\(result.text)")
    #expect(result.errorOutput.contains(words), "\(result.text)")
  }

  @Test("check shows the proxy and masks its password; a proxy that cannot be used is refused")
  func check() async throws {
    let site = try await Site()
    try site.writeConfiguration(address: Self.host)
    func check(_ variable: String) async throws -> ProgramResult {
      try await site.pushrelay.run(
        ["check"], environment: BuiltProgram.defaultEnvironment.merging(["HTTPS_PROXY": variable]) { $1 },
        directory: site.directory.path)
    }

    let good = try await check("http://relay:secret@proxy.example.com:3128")
    let bad = try await check("socks5://relay:secret@proxy.example.com:1080")

    #expect(good.status == 0, "\(good.text)")
    #expect(good.output.contains("http://relay:••••••••@proxy.example.com:3128"), "\(good.text)")
    #expect(bad.status == 78 && bad.output.contains("not in this version"), "\(bad.text)")
    for result in [good, bad] { #expect(!result.text.contains("secret")) }
  }

  @Test("the relay sends through the proxy, and its log says what a proxy refuses")
  func relay() async throws {
    let (site, proxy) = try await site()
    try site.writeConfiguration(address: Self.host, proxy: "http://relay:secret@127.0.0.1:\(proxy.port)")
    let refusing = try await ConnectProxy(.answer("HTTP/1.1 403 Filtered\r\n\r\n"))

    try await site.whileServing { _ in
      let result = try await site.sendpush("enqueue", "--token", Site.token(1), "--title", "x", "--wait")
      #expect(result.status == 0, "\(result.text)")
    }
    try site.writeConfiguration(address: Self.host, proxy: "http://relay:secret@127.0.0.1:\(refusing.port)")
    try await site.whileServing { relay in
      let result = try await site.sendpush("enqueue", "--token", Site.token(1), "--title", "x")
      #expect(result.status == 0, "\(result.text)")
      let line = try await relay.errorLine(containing: "cannot send")
      #expect(line.contains("403 Filtered"), "\(line)")
      #expect(!relay.errorOutput.contains("secret"))
    }
    #expect(try site.requests().count == 1)
  }
}
