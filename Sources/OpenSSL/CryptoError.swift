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
