import Operations
import Support
import Testing

@Suite("Which proxy is used")
final class ProxySettingTests {
  private let directory: TemporaryDirectory
  private let apple = HostPort(host: "api.push.apple.com", port: 443)

  init() throws { directory = try TemporaryDirectory() }

  private func load(
    file: String = "{}", flags: [String: String] = [:], _ variables: [String: String] = [:]
  ) throws -> ConfigurationReport {
    let path = try directory.write(file, to: "pushrelay.json")
    let all = flags.merging(["config": path]) { $1 }
    return ConfigurationLoader(flags: all, environment: ProcessEnvironment(variables)).load()
  }

  @Test("an option beats the environment, which beats the file; an empty option means none")
  func precedence() throws {
    let file = #"{ "apns": { "proxy": "http://file:1" } }"#
    let variables = ["HTTPS_PROXY": "http://variable:2"]

    func used(_ report: ConfigurationReport) throws -> String? {
      try report.get().apns.proxy(for: apple)?.description
    }

    #expect(try used(load()) == nil)
    #expect(try used(load(file: file)) == "http://file:1")
    #expect(try used(load(file: file, variables)) == "http://variable:2")
    #expect(try used(load(file: file, flags: ["proxy": "http://flag:3"], variables)) == "http://flag:3")
    #expect(try used(load(file: file, flags: ["proxy": ""], variables)) == nil)
    #expect(try used(load(file: #"{ "apns": { "proxy": null } }"#)) == nil)
    #expect(
      try load(file: file, variables).configuration.source(of: "apns.proxy").description == "environment HTTPS_PROXY")
    #expect(
      try used(
        load([:].merging(["ALL_PROXY": "http://d:4", "all_proxy": "http://c:3", "HTTPS_PROXY": "http://b:2"]) { $1 }))
        == "http://b:2")
    #expect(try used(load(["ALL_PROXY": "http://d:4", "http_proxy": "http://no:1"])) == "http://d:4")
    #expect(try used(load(["HTTPS_PROXY": "", "ALL_PROXY": "d:4"])) == "http://d:4")
  }

  @Test("this machine and what NO_PROXY lists are reached directly, also past the file's proxy")
  func exceptions() throws {
    func isDirect(_ host: String, port: UInt16 = 443, _ variables: [String: String]) throws -> Bool {
      let report = try load(file: #"{ "apns": { "proxy": "http://file:1" } }"#, variables)
      return try report.get().apns.proxy(for: HostPort(host: host, port: port)) == nil
    }
    let list = ["NO_PROXY": "localhost, .example.com,apns.test other:2197,[2001:db8::1],*.not-a-form"]

    for host in ["localhost", "127.0.0.1", "127.8.8.8", "::1"] { #expect(try isDirect(host, [:])) }
    #expect(try !isDirect("api.push.apple.com", list))
    #expect(try isDirect("a.example.com", list))
    #expect(try isDirect("example.com", list))
    #expect(try !isDirect("badexample.com", list))
    #expect(try isDirect("APNS.test", list))
    #expect(try isDirect("x.apns.test", list))
    #expect(try isDirect("other", port: 2197, list))
    #expect(try !isDirect("other", port: 443, list))
    #expect(try isDirect("2001:db8::1", list))
    #expect(try isDirect("api.push.apple.com", ["no_proxy": "*", "NO_PROXY": "x"]))
    #expect(try isDirect("api.push.apple.com", ["NO_PROXY": "apple.com"]))
  }

  @Test("names and passwords are taken with %XX, and with what people forget to write so")
  func credentials() throws {
    let plain = try ProxyLocation.parse(" http://relay:secret@proxy.example.com:3128/ \n")
    #expect(plain.address == HostPort(host: "proxy.example.com", port: 3128))
    #expect(plain.credentials?.user == "relay" && plain.credentials?.password.reveal() == "secret")
    #expect(try ProxyLocation.parse("HTTP://a%40b:p%3a%2F%25@[::1]:8080").credentials?.password.reveal() == "p:/%")
    #expect(try ProxyLocation.parse("http://a:p@ss@h:1").credentials?.password.reveal() == "p@ss")
    #expect(try ProxyLocation.parse("http://a:b:c@h:1").credentials?.password.reveal() == "b:c")
    #expect(try ProxyLocation.parse("http://a@h:1").credentials?.password.reveal() == "")
    #expect(try ProxyLocation.parse("h:1").credentials == nil)
  }

  @Test(
    "what is no proxy that can be used is refused, and nothing of it is repeated",
    arguments: [
      "https://relay:secret@proxy:3128", "socks5://relay:secret@proxy:1080", "http://relay:secret@proxy",
      "http://relay:secret", "relay:secret", "http://relay:secret@proxy:0", "http://relay:secret@proxy:3128/path",
      "http://relay:secret%@proxy:1", "http://relay:secret%0a@proxy:1", "http://re%3alay:secret@proxy:1",
      "http://relay:secret%ff@proxy:1", "http://", "", "secret", "http://relay:secret@pro xy:1",
    ])
  func refused(text: String) throws {
    let byFile = try load(file: #"{ "apns": { "proxy": "\#(text)" } }"#)
    #expect(byFile.errors.count == 1)
    #expect(byFile.errors.first?.exitCode == .configuration)
    #expect(byFile.findings.allSatisfy { !"\($0)".contains("secret") })
    guard !text.isEmpty else { return }

    // A command that needs no network runs beside it; a push must not go another way.
    let byVariable = try load(["HTTPS_PROXY": text])
    #expect(byVariable.errors.isEmpty)
    let apns = byVariable.configuration.apns
    let error = try #require(throws: ConfigurationError.self) { try apns.proxy(for: apple) }
    #expect(error.description.hasPrefix("environment HTTPS_PROXY: error: "))
    #expect(!error.description.contains("secret") && error.description.contains("NO_PROXY"))
    #expect(apns.proxyFindings.count == 1)
    #expect(try apns.proxy(for: HostPort(host: "localhost", port: 443)) == nil)
    #expect(try load(["HTTPS_PROXY": text, "NO_PROXY": "apple.com"]).configuration.apns.proxyFindings.isEmpty)
    #expect(try load(flags: ["proxy": "http://good:1"], ["HTTPS_PROXY": text]).configuration.apns.proxyFindings.isEmpty)
  }

  @Test("the password is shown nowhere")
  func masked() throws {
    let configuration = try load(["https_proxy": "http://relay:secret@proxy:3128"]).get()
    let settings = EffectiveSettings(configuration)
    var dumped = ""
    dump(configuration, to: &dumped)

    let row = settings.rows.first { $0.name == "apns.proxy" }
    #expect(row?.json == #""http://relay:••••••••@proxy:3128""#)
    #expect(row?.source == "environment https_proxy")
    for text in [settings.text, "\(configuration)", String(reflecting: configuration), dumped] {
      #expect(!text.contains("secret"))
    }
  }
}
