/// The id of a device: bucket << 40 | sequence.
///
/// One number below 2^52 is at once the order of the walk, the even split among workers (a range of buckets), and in its low
/// 40 bits the order of registration.
public struct DeviceID: Sendable, Hashable, Comparable {
  /// Number of buckets; a device's bucket is a hash of its token.
  public static let bucketCount: Int64 = 4096
  /// Greater than or equal to every device id.
  public static let upperBound = DeviceID(bucketCount << 40)
  /// The low 40 bits.
  public static let sequenceMask: Int64 = 1 << 40 - 1

  /// The number.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// The id of the device that registered as number `sequence` (from 1) with `token`.
  public init(token: DeviceToken, sequence: Int64) {
    rawValue = Self.bucket(of: token) << 40 | sequence
  }

  /// The order of registration.
  public var sequence: Int64 { rawValue & Self.sequenceMask }

  /// The bucket of a token: FNV-1a over its text, folded; the same in every store and version.
  public static func bucket(of token: DeviceToken) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in token.text.utf8 {
      hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
    hash ^= hash >> 32
    return Int64(hash % UInt64(bucketCount))
  }

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
