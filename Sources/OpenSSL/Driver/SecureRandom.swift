internal import COpenSSL

/// OpenSSL failed at something that has no reason to fail: out of memory, no entropy, a broken provider.
public struct CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was being done: "sign with ES256".
  public let operation: String
  /// What OpenSSL said.
  public let underlying: String

  /// An error by its parts.
  public init(operation: String, underlying: String) {
    self.operation = operation
    self.underlying = underlying
  }

  /// Takes what OpenSSL's queue of this thread says.
  static func drainingQueue(_ operation: String) -> CryptoError {
    CryptoError(operation: operation, underlying: TLSError.drainQueue() ?? "no reason given")
  }

  /// The whole story in one line; safe to show anyone.
  public var description: String {
    "cannot \(operation): \(underlying). Check the OpenSSL installation and the memory limit"
  }
}

/// Random bytes for secrets.
public enum SecureRandom {
  /// `count` unpredictable bytes.
  public static func bytes(count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    ERR_clear_error()
    guard unsafe RAND_bytes(&bytes, Int32(clamping: count)) == 1 else {
      throw .drainingQueue("make random bytes")
    }
    return bytes
  }
}

/// Comparison of secrets in a time that does not depend on where they differ.
public enum ConstantTime {
  /// Whether both hold the same bytes; different lengths are told apart at once.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    unsafe left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }
}
