/// An API key as its holder has it: `prk_<id>_<secret>`. The id says which digest to compare with, so that nothing is looked up by
/// the secret.
public struct APIKeyText: Sendable, Equatable {
  /// Bytes of randomness in a secret.
  static let secretBytes = 32
  private static let prefix = "prk_"

  /// The key's id.
  public let id: APIKeyID
  /// The secret as it stands in the key: hexadecimal.
  public let secret: [UInt8]

  /// A fresh secret: 256 bits of the system's randomness.
  public static func makeSecret() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    let digits = Array("0123456789abcdef".utf8)
    return (0..<2 * secretBytes).map { _ in digits[Int.random(in: 0..<16, using: &generator)] }
  }

  /// The key of an id and its secret.
  public init(id: APIKeyID, secret: [UInt8]) {
    self.id = id
    self.secret = secret
  }

  /// Reads what a caller sent; nil when it cannot be a key.
  public init?(_ text: String) {
    // By bytes: this is done for every request.
    let bytes = Array(text.utf8)
    guard bytes.starts(with: Self.prefix.utf8) else { return nil }
    let parts = bytes.dropFirst(Self.prefix.utf8.count).split(
      separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].count == 2 * Self.secretBytes,
      let digits = String(validating: parts[0], as: UTF8.self), let id = Int64(digits), id > 0, String(id) == digits
    else { return nil }
    self.init(id: APIKeyID(id), secret: Array(parts[1]))
  }

  /// The whole key: shown once, when it is made.
  public var revealed: String { "\(Self.prefix)\(id)_\(String(decoding: secret, as: UTF8.self))" }

  /// Whether two digests are the same, in a time that does not tell how much of them is.
  public static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
  }
}

extension APIKeyText: CustomStringConvertible, CustomReflectable {
  /// The id alone.
  public var description: String { "API key \(id)" }
  /// A mirror that shows nothing, for `dump` and test output.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
