import Operations
import PushCore
import Testing

/// Where webhooks may go, and what they say.
@Suite struct WebhookTests {
  // MARK: Addresses

  private static let refused = [
    "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1",
    "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::1.1.1.1", "64:ff9b:1::a00:1", "100::1", "1fff::1", "2001::1", "2001:1ff:ffff::1", "2001:db8::1",
    "2002:7f00:1::", "2002:808:808::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fdff:ffff::1", "fe80::1",
    "febf::1", "fec0::1", "ff02::1", "ffff::1",
  ]

  @Test("an address outside the public Internet is refused", arguments: refused)
  func refusedAddresses(_ text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(WebhookPolicy().refusal(of: address) != nil)
  }

  @Test(
    "an address of the public Internet is allowed, on either side of what is not",
    arguments: [
      "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
      "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
      "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "2000::1", "2001:200::1", "2001:db7::1",
      "2001:db9::1", "2003::1", "2a00:1450::1", "3ffe::1",
    ])
  func publicAddresses(_ text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(WebhookPolicy().refusal(of: address) == nil)
  }

  @Test("a network of the settings is allowed, its neighbours are not, and an IPv4-mapped address is the same address")
  func allowedNetworks() throws {
    let networks = try ["10.1.0.0/16", "fd00::/16"].map { try #require(IPAddressRange($0)) }
    let policy = WebhookPolicy(allowedNetworks: networks)
    func refusal(_ text: String) throws -> String? { policy.refusal(of: try #require(IPAddress(text))) }

    #expect(try refusal("10.1.2.3") == nil && refusal("::ffff:10.1.2.3") == nil && refusal("fd00::1") == nil)
    #expect(try refusal("10.2.0.1") == "a private address" && refusal("fd01::1") == "a private address")
    #expect(try refusal("127.0.0.1") == "a loopback address" && refusal("100::1") == "a reserved address")
  }

  // MARK: URLs

  @Test(
    "a URL is read with its host alone to show",
    arguments: [
      ("https://example.com", "example.com"), ("HTTPS://Example.COM:443/a?b=c%20d", "example.com"),
      ("https://jane:s%40fe@hooks.example.com:8443/x", "hooks.example.com"),
      ("https://jane@example.com?x=a@b", "example.com"),
      ("https://93.184.216.34/", "93.184.216.34"), ("https://[2A00:1450::1]:1024/x", "2a00:1450::1"),
      ("https://a_b.xn--bcher-kva.example/", "a_b.xn--bcher-kva.example"), ("https://1.2.3.example/", "1.2.3.example"),
    ])
  func urls(_ text: String, _ host: String) throws {
    let url = try WebhookURL(text, policy: WebhookPolicy())
    #expect(url.host == host && "\(url)" == host && url.text.reveal() == text)
    #expect(!String(reflecting: url).contains("s%40fe"))
  }

  private static let faulty = [
    ("", "must begin with https://"),
    ("example.com", "must begin with https://"),
    ("http://example.com", "must begin with https://"),
    ("ftp://example.com", "must begin with https://"),
    ("file:///etc/passwd", "must begin with https://"),
    ("https:/example.com", "must begin with https://"),
    ("https://", "has no host name"),
    ("https:///x", "has no host name"),
    ("https://?x", "has no host name"),
    ("https://jane@/x", "has no host name"),
    ("https://.example.com", "has no host name"),
    ("https://example..com", "has no host name"),
    ("https://example.com.", "has no host name"),
    ("https://exa%6dple.com", "has no host name"),
    ("https://a,b.example", "has no host name"),
    ("https://bücher.example", "must be escaped"),
    ("https://example.com\\@10.0.0.1", "must be escaped"),
    ("https://example.com/#a", "fragment"),
    ("https://example.com /", "must be escaped"),
    ("https://example.com/\n", "must be escaped"),
    ("https://example.com/\u{0}", "must be escaped"),
    ("https://a@b@example.com", "more than one @"),
    ("https://example.com@10.0.0.1@x", "more than one @"),
    ("https://example.com/%zz", "without two hexadecimal digits"),
    ("https://example.com/%4", "without two hexadecimal digits"),
    ("https://example.com:", "has a port"),
    ("https://example.com:0", "has a port"),
    ("https://example.com:22", "has a port"),
    ("https://example.com:1023/", "has a port"),
    ("https://example.com:65536", "has a port"),
    ("https://example.com:+443", "has a port"),
    ("https://example.com:80:80", "has a port"),
    ("https://[::1]x/", "has a port"),
    ("https://2130706433/", "has a number for a host"),
    ("https://0x7f000001/", "has a number for a host"),
    ("https://0177.0.0.1/", "has a number for a host"),
    ("https://127.1/", "has a number for a host"),
    ("https://0x7f.0.0.0x1/", "has a number for a host"),
    ("https://127.0.0.01/", "has a number for a host"),
    ("https://1.2.3.4.5/", "has a number for a host"),
    ("https://256.1.1.1/", "has a number for a host"),
    ("https://[::1/", "no IPv6 address"),
    ("https://[127.0.0.1]x", "has a port"),
    ("https://[fe80::1%25eth0]/", "no IPv6 address"),
    ("https://127.0.0.1/", "leads to 127.0.0.1, a loopback address"),
    ("https://[::1]/", "leads to ::1, a loopback address"),
    ("https://[::ffff:127.0.0.1]/", "leads to 127.0.0.1, a loopback address"),
    ("https://example.com@10.0.0.1/", "leads to 10.0.0.1, a private address"),
    ("https://[::ffff:7f00:1]/", "leads to 127.0.0.1, a loopback address"),
    ("https://169.254.169.254/latest", "leads to 169.254.169.254, a link-local address"),
    ("https://example.com/" + String(repeating: "a", count: 2029), "more than 2048 bytes"),
  ]

  @Test(
    "a URL that two readers could understand in two ways, or that the policy forbids, is refused with the reason",
    arguments: faulty)
  func faults(_ text: String, _ reason: String) {
    let fault = #expect(throws: WebhookURLFault.self) { try WebhookURL(text, policy: WebhookPolicy()) }
    #expect(fault?.description.contains(reason) == true, "\(String(describing: fault))")
  }

  @Test("http is read where the settings allow it, and 2048 bytes are not too many")
  func http() throws {
    #expect(try WebhookURL("http://example.com:8080", policy: WebhookPolicy(allowsHTTP: true)).host == "example.com")
    _ = try WebhookURL("https://example.com/" + String(repeating: "a", count: 2028), policy: WebhookPolicy())
  }

  // MARK: Messages

  private func body(_ content: WebhookMessage.Content) -> String {
    let webhook = Webhook(
      url: SecretText("https://example.com"), requestBody: Array(#"{ "n":1.50, "s":"\/é" }"#.utf8))
    let message = WebhookMessage(publishID: "pubid-1", epoch: 1, webhook: webhook, content: content, tries: 0)
    return String(decoding: message.body, as: UTF8.self)
  }

  @Test("a message holds the publish byte for byte, and the numbers when it is finished")
  func messages() {
    let begin = #"{"publishId":"pubid-1","status":"#
    let request = #","requestBody":{ "n":1.50, "s":"\/é" }"#
    var counts = Counts()
    (counts.devices, counts.accepted, counts.rejected, counts.expired) = (16, 1, 2, 3)
    (counts.canceled, counts.failed, counts.skipped) = (4, 5, 1)

    #expect(body(.started) == begin + #""STARTED""# + request + "}")
    #expect(
      body(.finished(counts)) == begin + #""FINISHED""# + request
        + #","results":{"apns":{"numSuccessfulPublishes":1,"numFailedPublishes":14}}}"#)
  }

  @Test("apns has failed when every publish to a device has, and not when there was none")
  func failed() {
    var counts = Counts()
    (counts.devices, counts.rejected) = (2, 2)
    #expect(body(.finished(counts)).hasSuffix(#"{"numSuccessfulPublishes":0,"numFailedPublishes":2,"failed":true}}}"#))
    #expect(body(.finished(Counts())).hasSuffix(#"{"numSuccessfulPublishes":0,"numFailedPublishes":0}}}"#))
  }
}
