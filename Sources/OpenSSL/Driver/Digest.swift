internal import COpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Number of bytes of a digest.
  public static let byteCount = 32

  /// The digest of `bytes`.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: byteCount)
    let ok = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
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

  /// A hasher with a context of its own; throws when OpenSSL has no memory for it or its providers have no SHA-1.
  public init() throws(CryptoError) {
    let context = unsafe EVP_MD_CTX_new()
    // Looks the algorithm up, which is dearer than a short digest: the context keeps it.
    guard let context = unsafe context, unsafe EVP_DigestInit_ex(context, EVP_sha1(), nil) == 1 else {
      unsafe EVP_MD_CTX_free(context)
      throw .drainingQueue("prepare SHA-1")
    }
    unsafe self.context = context
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  /// The digest of `bytes`.
  public func digest(of bytes: Span<UInt8>) -> InlineArray<20, UInt8> {
    var digest = InlineArray<20, UInt8>(repeating: 0)
    var output = digest.mutableSpan
    let ok = unsafe bytes.withUnsafeBufferPointer { input in
      unsafe output.withUnsafeMutableBufferPointer { output in
        unsafe EVP_DigestInit_ex(context, nil, nil) == 1
          && EVP_DigestUpdate(context, input.baseAddress, input.count) == 1
          && EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1
      }
    }
    precondition(ok, "OpenSSL failed to compute a SHA-1 digest")
    return digest
  }
}
