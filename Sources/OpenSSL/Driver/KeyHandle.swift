internal import COpenSSL

/// Owns one EVP_PKEY. Immutable once made: OpenSSL lets any thread sign and verify with it, each under a context of its
/// own.
@safe final class KeyHandle: Sendable {
  nonisolated(unsafe) let raw: OpaquePointer

  /// Takes the reference over.
  init(owning raw: OpaquePointer) { unsafe self.raw = raw }

  deinit { unsafe EVP_PKEY_free(raw) }

  /// The curve when the key is an elliptic-curve key, else nil.
  var curve: String? {
    guard unsafe EVP_PKEY_is_a(raw, "EC") == 1 else { return nil }
    var name = [CChar](repeating: 0, count: 64)
    guard unsafe EVP_PKEY_get_group_name(raw, &name, name.count, nil) == 1 else { return "unknown" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// The algorithm in people's words: "RSA".
  var algorithm: String {
    guard let name = unsafe EVP_PKEY_get0_type_name(raw) else { return "unknown" }
    return unsafe String(cString: name)
  }

  /// The public half: SubjectPublicKeyInfo, DER; nil when OpenSSL cannot encode it.
  var publicKeyDER: [UInt8]? {
    let count = unsafe i2d_PUBKEY(raw, nil)
    guard count > 0 else { return nil }
    var der = [UInt8](repeating: 0, count: Int(count))
    let written = unsafe der.withUnsafeMutableBufferPointer { buffer in
      // It moves the pointer it is given.
      var position = buffer.baseAddress
      return unsafe i2d_PUBKEY(raw, &position)
    }
    return written == count ? der : nil
  }

  /// Whether private and public half belong together and the point lies on its curve.
  var isConsistent: Bool {
    guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, raw, nil) else { return false }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    return unsafe EVP_PKEY_check(context) == 1
  }

  /// Whether `signature`, r and s of 32 bytes each, is one of `bytes` (ECDSA with SHA-256).
  func verify(rawSignature signature: [UInt8], of bytes: [UInt8]) -> Bool {
    guard signature.count == ES256.signatureByteCount, let der = ES256.der(fromRaw: signature) else { return false }
    guard let context = unsafe EVP_MD_CTX_new() else { return false }
    defer {
      unsafe EVP_MD_CTX_free(context)
      // A refused signature leaves its reason behind.
      ERR_clear_error()
    }
    return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, raw) == 1
      && EVP_DigestVerify(context, der, der.count, bytes, bytes.count) == 1
  }
}

/// The two forms of an ECDSA signature on P-256: OpenSSL's DER, and RFC 7518's r‖s of exactly 64 bytes.
enum ES256 {
  static let signatureByteCount = 64
  private static let halfByteCount = 32

  /// r‖s, each padded with zeros on the left; nil when the DER is none or a number does not fit.
  static func raw(fromDER der: [UInt8]) -> [UInt8]? {
    let signature = unsafe der.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &position, buffer.count)
    }
    guard let signature = unsafe signature else { return nil }
    defer { unsafe ECDSA_SIG_free(signature) }
    var r: OpaquePointer?
    var s: OpaquePointer?
    // Both stay the signature's.
    unsafe ECDSA_SIG_get0(signature, &r, &s)
    var raw = [UInt8](repeating: 0, count: signatureByteCount)
    let ok = unsafe raw.withUnsafeMutableBufferPointer { buffer in
      let half = Int32(halfByteCount)
      guard let start = buffer.baseAddress else { return false }
      return unsafe BN_bn2binpad(r, start, half) == half && BN_bn2binpad(s, start + halfByteCount, half) == half
    }
    return ok ? raw : nil
  }

  /// The DER of r‖s; nil when OpenSSL has no memory.
  static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
    guard let signature = unsafe ECDSA_SIG_new() else { return nil }
    defer { unsafe ECDSA_SIG_free(signature) }
    let half = Int32(halfByteCount)
    let r = unsafe raw.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, half, nil) }
    let s = unsafe raw.withUnsafeBufferPointer {
      unsafe BN_bin2bn($0.baseAddress.map { unsafe $0 + halfByteCount }, half, nil)
    }
    // On success the signature owns both numbers.
    guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
      unsafe BN_free(r)
      unsafe BN_free(s)
      return nil
    }
    let count = unsafe i2d_ECDSA_SIG(signature, nil)
    guard count > 0 else { return nil }
    var der = [UInt8](repeating: 0, count: Int(count))
    let written = unsafe der.withUnsafeMutableBufferPointer { buffer in
      // It moves the pointer it is given.
      var position = buffer.baseAddress
      return unsafe i2d_ECDSA_SIG(signature, &position)
    }
    return written == count ? der : nil
  }
}

/// What binary bytes are.
enum BinaryKeyKind {
  /// Whether the bytes are a PKCS#12 store.
  static func isPKCS12(_ bytes: [UInt8]) -> Bool {
    let store = unsafe bytes.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_PKCS12(nil, &position, buffer.count)
    }
    ERR_clear_error()
    guard let store = unsafe store else { return false }
    unsafe PKCS12_free(store)
    return true
  }
}
