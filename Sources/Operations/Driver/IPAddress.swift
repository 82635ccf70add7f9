import CLinux
import Glibc

/// An IPv4 or IPv6 address without a port; an IPv4 address is the same as its IPv4-mapped one.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The sixteen bytes, most significant first.
  private let high: UInt64
  private let low: UInt64

  /// `::ffff:0:0/96`.
  private static let mappedPrefix: UInt64 = 0xFFFF << 32

  /// An address by its 4 or 16 bytes in network order; nil for any other number.
  public init?(bytes: some Collection<UInt8>) {
    func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    switch bytes.count {
    case 4: (high, low) = (0, Self.mappedPrefix | number(bytes))
    case 16: (high, low) = (number(bytes.prefix(8)), number(bytes.dropFirst(8)))
    default: return nil
    }
  }

  /// Reads `192.0.2.1` or `2001:db8::1`; nil for anything else, also for a name.
  public init?(_ text: String) {
    guard !text.utf8.contains(0) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    let isShort = !text.contains(":")
    guard unsafe inet_pton(isShort ? AF_INET : AF_INET6, text, &bytes) == 1 else { return nil }
    self.init(bytes: bytes.prefix(isShort ? 4 : 16))
  }

  /// Whether it is of this machine alone.
  public var isLoopback: Bool { isMapped ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

  /// The first address of its network of 64 bits, which one subscriber has for itself; an IPv4 address is its own.
  public var network64: IPAddress { isMapped ? self : IPAddress(high: high, low: 0) }

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// As people write it.
  public var description: String {
    let all =
      (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
      + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let bytes = isMapped ? Array(all.suffix(4)) : all
    _ = unsafe inet_ntop(isMapped ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  fileprivate var isMapped: Bool { high == 0 && low >> 32 == 0xFFFF }

  /// Whether the first `count` of the 128 bits are the same.
  fileprivate func shares(_ count: Int, bitsWith other: IPAddress) -> Bool {
    func same(_ left: UInt64, _ right: UInt64, _ count: Int) -> Bool {
      count <= 0 || (left ^ right) >> UInt64(max(64 - count, 0)) == 0
    }
    return same(high, other.high, min(count, 64)) && same(low, other.low, count - 64)
  }
}

/// Addresses that begin alike: `10.0.0.0/8`, or a single one.
public struct IPAddressRange: Sendable, Hashable, CustomStringConvertible {
  private let first: IPAddress
  /// Of 128.
  private let prefixLength: Int

  /// Reads `ADDRESS` or `ADDRESS/BITS`; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = IPAddress(String(parts[0])) else { return nil }
    self.first = first
    guard parts.count == 2 else {
      prefixLength = 128
      return
    }
    let isShort = !parts[0].contains(":")
    guard let count = Int(parts[1]), (0...(isShort ? 32 : 128)).contains(count), String(count) == parts[1] else {
      return nil
    }
    prefixLength = isShort ? count + 96 : count
  }

  /// Whether an address is one of them.
  public func contains(_ address: IPAddress) -> Bool { address.shares(prefixLength, bitsWith: first) }

  /// As people write it.
  public var description: String {
    prefixLength == 128 ? first.description : "\(first)/\(first.isMapped ? prefixLength - 96 : prefixLength)"
  }
}
