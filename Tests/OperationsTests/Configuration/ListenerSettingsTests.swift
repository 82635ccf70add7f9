import Operations
import Support
import Testing

/// The addresses where HTTP is served, as the config file names them.
@Suite struct ListenerSettingsTests {
  private func report(_ text: String) throws -> ConfigurationReport {
    let folder = try TemporaryDirectory()
    for name in ["cert.pem", "key.pem"] { try folder.write("x", to: name) }
    let path = try folder.write(text, to: "pushrelay.json")
    return ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment([:])).load()
  }

  @Test("listeners have an address, surfaces and, if wanted, TLS; port 0 is any free one")
  func listeners() throws {
    let configuration = try report(
      """
      { "listeners": [ { "address": "127.0.0.1:8080", "serve": ["backend", "operations"] },
                       { "address": "[::]:0", "tls": { "cert": "cert.pem", "key": "key.pem" }, "serve": ["operations"] },
                       { "address": "[::]:0", "tls": null, "serve": ["backend"] } ],
        "trusted_proxies": ["10.0.0.0/8", "::1"] }
      """
    ).get()

    #expect(configuration.listeners.map(\.address.description) == ["127.0.0.1:8080", "[::]:0", "[::]:0"])
    #expect(configuration.listeners.map(\.surfaces) == [[.backend, .operations], [.operations], [.backend]])
    #expect(configuration.listeners[1].tls?.certificateFile.hasSuffix("/cert.pem") == true)
    #expect(configuration.listeners[2].tls == nil)
    #expect(configuration.trustedProxies.map(\.description) == ["10.0.0.0/8", "::1"])
    let settings = EffectiveSettings(configuration)
    #expect(settings.rows.contains { $0.name == "listeners[0].serve" && $0.json == #"["backend","operations"]"# })
  }

  @Test(
    "a listener that cannot be is refused with what to write",
    arguments: [
      (#"{ "listeners": {} }"#, "must be an array"),
      (#"{ "listeners": [1] }"#, "listeners[0] must be an object"),
      (#"{ "listeners": [{ "serve": ["backend"] }] }"#, "listeners[0].address is missing"),
      (#"{ "listeners": [{ "address": "127.0.0.1:1" }] }"#, "listeners[0].serve is missing"),
      (#"{ "listeners": [{ "address": "127.0.0.1", "serve": ["backend"] }] }"#, "127.0.0.1:8080"),
      (#"{ "listeners": [{ "address": "127.0.0.1:1", "serve": [] }] }"#, "array of backend, device, beams, operations"),
      (#"{ "listeners": [{ "address": "127.0.0.1:1", "serve": ["backnd"] }] }"#, "nearest is 'backend'"),
      (#"{ "listeners": [{ "address": "127.0.0.1:1", "serve": ["console"] }] }"#, "not in this version"),
      (#"{ "listeners": [{ "adress": "127.0.0.1:1", "serve": ["backend"] }] }"#, "nearest known name is 'address'"),
      (#"{ "listeners": [{ "address": "127.0.0.1:1", "tls": {}, "serve": ["backend"] }] }"#, "needs cert and key"),
      (
        #"{ "listeners": [{ "address": "127.0.0.1:1", "tls": { "cert": "no.pem", "key": "key.pem" }, "serve": ["backend"] }] }"#,
        "does not exist"
      ),
      (
        #"{ "listeners": [{ "address": "127.0.0.1:1", "serve": ["backend"] }, { "address": "127.0.0.1:1", "serve": ["operations"] }] }"#,
        "another listener has"
      ),
      (#"{ "trusted_proxies": ["proxy.example.com"] }"#, "no address"),
      (#"{ "trusted_proxies": "10.0.0.1" }"#, "must be an array"),
    ])
  func refused(text: String, message: String) throws {
    let errors = try report(text).errors

    #expect(errors.contains { $0.description.contains(message) }, "\(errors)")
  }
}

/// Addresses and ranges of them.
@Suite struct IPAddressTests {
  @Test("a range holds what shares its first bits; an IPv4 address is the same as its mapped one")
  func ranges() throws {
    let range = try #require(IPAddressRange("10.1.0.0/16"))
    let wide = try #require(IPAddressRange("2001:db8::/33"))

    #expect(range.contains(try #require(IPAddress("10.1.255.1"))))
    #expect(range.contains(try #require(IPAddress("::ffff:10.1.2.3"))))
    #expect(!range.contains(try #require(IPAddress("10.2.0.1"))))
    #expect(wide.contains(try #require(IPAddress("2001:db8:7fff::1"))))
    #expect(!wide.contains(try #require(IPAddress("2001:db8:8000::1"))))
    #expect(IPAddressRange("0.0.0.0/0")?.contains(try #require(IPAddress("203.0.113.9"))) == true)
    #expect(IPAddressRange("0.0.0.0/0")?.contains(try #require(IPAddress("2001:db8::1"))) == false)
  }

  @Test(
    "texts that are no address are none", arguments: ["", "10.0.0", "10.0.0.1/33", "::1/129", "localhost", "1.2.3.4/"])
  func refused(text: String) { #expect(IPAddressRange(text) == nil) }

  @Test("an address reads as it is written", arguments: ["192.0.2.1", "2001:db8::1", "::1"])
  func roundTrip(text: String) throws {
    #expect(try #require(IPAddress(text)).description == text)
    #expect(IPAddress("127.1.2.3")?.isLoopback == true && IPAddress("::1")?.isLoopback == true)
  }
}
