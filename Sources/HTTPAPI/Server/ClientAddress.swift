import Operations

/// Who a request really comes from when reverse proxies stand before the relay.
enum ClientAddress {
  /// The address that the nearest trusted proxy names: `X-Forwarded-For` is read from its end, since anybody can write its
  /// beginning. A peer that is no trusted proxy speaks for itself.
  static func resolve(peer: IPAddress?, forwardedFor: String?, trusted: [IPAddressRange]) -> IPAddress? {
    guard var client = peer else { return nil }
    func isTrusted(_ address: IPAddress) -> Bool { trusted.contains { $0.contains(address) } }
    let hops = (forwardedFor ?? "").split(separator: ",").reversed()
    for hop in hops {
      guard isTrusted(client) else { break }
      guard let address = IPAddress(String(hop.drop { $0 == " " }.prefix { $0 != " " })) else { break }
      client = address
    }
    return client
  }
}
