import Operations

/// Where webhooks may go. Who publishes chooses the URL, so that without limits the relay would call any address of its own
/// network for them.
public struct WebhookPolicy: Sendable, Equatable {
  /// Networks that are allowed although they are no part of the public Internet.
  public var allowedNetworks: [IPAddressRange]
  /// Whether `http://` is allowed beside `https://`.
  public var allowsHTTP: Bool

  /// A policy by its parts; without any, https to public addresses alone.
  public init(allowedNetworks: [IPAddressRange] = [], allowsHTTP: Bool = false) {
    self.allowedNetworks = allowedNetworks
    self.allowsHTTP = allowsHTTP
  }

  /// The policy of the settings.
  public init(_ settings: Configuration.Webhooks) {
    self.init(allowedNetworks: settings.allowedNetworks, allowsHTTP: settings.allowHTTP)
  }

  /// What kind of address it is that must not be connected to, such as "a private address"; nil = it may.
  public func refusal(of address: IPAddress) -> String? {
    if allowedNetworks.contains(where: { $0.contains(address) }) { return nil }
    if let kind = Self.special.first(where: { $0.range.contains(address) })?.kind { return kind }
    return Self.ipv4.contains(address) || Self.ipv6.contains(address) ? nil : "a reserved address"
  }

  /// What is not of the public Internet within the two spaces below; IANA's registries of special-purpose addresses
  /// (https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-registry), and multicast. Networks that
  /// embed IPv4 addresses (NAT64, 6to4, Teredo) would lead to any of those.
  private static let special: [(range: IPAddressRange, kind: String)] = [
    ("0.0.0.0/8", "an unspecified address"), ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "a shared address of a carrier"), ("127.0.0.0/8", "a loopback address"),
    ("169.254.0.0/16", "a link-local address"), ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "a reserved address"), ("192.0.2.0/24", "an address of examples"),
    ("192.88.99.0/24", "a reserved address"), ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "an address of benchmarks"), ("198.51.100.0/24", "an address of examples"),
    ("203.0.113.0/24", "an address of examples"), ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::", "an unspecified address"), ("::1", "a loopback address"), ("64:ff9b::/96", "a NAT64 address"),
    ("64:ff9b:1::/48", "a NAT64 address"), ("2001::/23", "a reserved address"),
    ("2001:db8::/32", "an address of examples"), ("2002::/16", "a 6to4 address"),
    ("3fff::/20", "an address of examples"), ("fc00::/7", "a private address"), ("fe80::/10", "a link-local address"),
    ("ff00::/8", "a multicast address"),
  ].map { (range($0), $1) }

  /// IPv4, as ``IPAddress`` holds it: IPv4-mapped addresses are the same.
  private static let ipv4 = range("::ffff:0:0/96")
  /// All that is assigned of IPv6 as global unicast.
  private static let ipv6 = range("2000::/3")

  private static func range(_ text: String) -> IPAddressRange {
    guard let range = IPAddressRange(text) else { preconditionFailure("\(text) is no network") }
    return range
  }
}
