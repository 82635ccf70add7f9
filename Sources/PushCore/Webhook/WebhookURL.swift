import Operations

/// Why a text is no URL that a webhook may go to; nothing of its name and password is repeated.
public struct WebhookURLFault: Error, Sendable, Equatable, CustomStringConvertible {
  /// A sentence without its end, as answers and logs have it.
  public let description: String

  /// A fault in words.
  public init(_ description: String) { self.description = description }
}

/// The URL of a webhook, read more strictly than a browser would: what two readers could understand in two ways is refused.
///
/// It may hold a name and a password; only its host may be shown.
public struct WebhookURL: Sendable, Equatable, CustomStringConvertible {
  /// The longest one.
  public static let limitBytes = 2048

  /// All of it.
  public let text: SecretText
  /// The host, without brackets.
  public let host: String
  /// Its host alone.
  public var description: String { host }

  /// Reads `https://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?QUERY]`.
  ///
  /// - Throws: when it is no such URL, or the policy forbids its scheme, or its host is an address that the policy forbids. What a
  ///   name leads to is seen when it is connected to.
  public init(_ text: String, policy: WebhookPolicy) throws(WebhookURLFault) {
    try Self.checkBytes(text.utf8)
    let (scheme, rest) = try Self.scheme(of: text)
    guard scheme == "https" || policy.allowsHTTP else { throw WebhookURLFault("must begin with https://") }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let parts = authority.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2 else { throw WebhookURLFault("has more than one @ before its path; write %40 for others") }
    host = try Self.host(of: parts[parts.count - 1])
    self.text = SecretText(text)
    if let address = IPAddress(host), let kind = policy.refusal(of: address) {
      throw WebhookURLFault("leads to \(address), \(kind)")
    }
  }

  /// The characters of RFC 3986 without `#`, since a fragment is never sent.
  private static func checkBytes(_ bytes: String.UTF8View) throws(WebhookURLFault) {
    guard bytes.count <= limitBytes else { throw WebhookURLFault("has more than \(limitBytes) bytes") }
    var rest = Array(bytes)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.count >= 2, rest.prefix(2).allSatisfy(Self.isHexadecimal) else {
          throw WebhookURLFault("has a % without two hexadecimal digits behind it")
        }
      } else if !isLetterOrDigit(byte), !"-._~:/?[]@!$&'()*+,;=".utf8.contains(byte) {
        throw WebhookURLFault("has a character that must be escaped with %, or a fragment")
      }
    }
  }

  private static func scheme(of text: String) throws(WebhookURLFault) -> (String, Substring) {
    for scheme in ["https", "http"] where text.prefix(scheme.count + 3).lowercased() == scheme + "://" {
      return (scheme, text.dropFirst(scheme.count + 3))
    }
    throw WebhookURLFault("must begin with https://")
  }

  private static func host(of text: Substring) throws(WebhookURLFault) -> String {
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]"), let address = IPAddress(String(text.dropFirst().prefix(upTo: end)))
      else { throw WebhookURLFault("has no IPv6 address between [ and ]") }
      try checkPort(text[text.index(after: end)...])
      return address.description
    }
    let host = text.prefix { $0 != ":" }
    try checkName(host)
    try checkPort(text.dropFirst(host.count))
    return host.lowercased()
  }

  /// Ports below 1024 belong to services that are no web servers, 80 and 443 apart.
  private static func checkPort(_ text: Substring) throws(WebhookURLFault) {
    guard !text.isEmpty else { return }
    guard text.hasPrefix(":"), let port = UInt16(text.dropFirst()), text.dropFirst().utf8.allSatisfy(isDigit),
      port == 80 || port == 443 || port >= 1024
    else { throw WebhookURLFault("has a port other than 80, 443 and 1024 to 65535") }
  }

  private static func checkName(_ host: Substring) throws(WebhookURLFault) {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    let isName = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count)
        && label.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
    guard isName, host.utf8.count <= 253, let last = labels.last else {
      throw WebhookURLFault("has no host name; write one of another alphabet as xn--…")
    }
    // Whoever reads names by the rules of inet_aton takes all of these for addresses: 2130706433, 0177.1, 0x7f.1.
    let isNumber = last.utf8.allSatisfy(isDigit) || last.lowercased().hasPrefix("0x")
    guard !isNumber || IPAddress(String(host)) != nil else {
      throw WebhookURLFault("has a number for a host; write an address as 192.0.2.1")
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "f")
  }
}
