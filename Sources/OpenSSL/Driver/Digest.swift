internal import COpenSSL

/// A digest algorithm of OpenSSL, looked up once: looking it up is dearer than a short digest.
@safe private struct DigestAlgorithm: Sendable {
  // Immutable once fetched; OpenSSL counts references under its own lock. Never freed: it is needed until the end.
  nonisolated(unsafe) let raw: OpaquePointer

  init(_ name: String) {
    guard let fetched = unsafe EVP_MD_fetch(nil, name, nil) else {
      // Nothing can be signed, named or stored without it; only a broken OpenSSL installation has none.
      fatalError("OpenSSL provides no \(name); check its providers (openssl list -digest-algorithms)")
    }
    unsafe raw = fetched
  }

  static let sha256 = DigestAlgorithm("SHA256")
  static let sha1 = DigestAlgorithm("SHA1")
}

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Number of bytes of a digest.
  public static let byteCount = 32

  /// The digest of `bytes`.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: byteCount)
    let ok = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, DigestAlgorithm.sha256.raw, nil)
    precondition(ok == 1, "OpenSSL failed to compute a SHA-256 digest")
    return digest
  }
}

/// SHA-1 (FIPS 180-4): only to name things (UUID version 5), never to protect them.
///
/// Holds one OpenSSL context and reuses it, because it is asked once per push. Used by one thread at a time.
@safe public struct SHA1: ~Copyable {
  /// Number of bytes of a digest.
  public static let byteCount = 20

  private let context: OpaquePointer

  /// A hasher with a context of its own.
  public init() {
    guard let context = unsafe EVP_MD_CTX_new() else { fatalError("no memory for a SHA-1 context") }
    unsafe self.context = context
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  /// The digest of `bytes`.
  public func digest(of bytes: Span<UInt8>) -> InlineArray<20, UInt8> {
    var digest = InlineArray<20, UInt8>(repeating: 0)
    var output = digest.mutableSpan
    let ok = unsafe bytes.withUnsafeBufferPointer { input in
      unsafe output.withUnsafeMutableBufferPointer { output in
        unsafe EVP_DigestInit_ex(context, DigestAlgorithm.sha1.raw, nil) == 1
          && EVP_DigestUpdate(context, input.baseAddress, input.count) == 1
          && EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1
      }
    }
    precondition(ok, "OpenSSL failed to compute a SHA-1 digest")
    return digest
  }
}
