internal import COpenSSL

/// A key that signs provider tokens: ECDSA on P-256 with SHA-256 (RFC 7518 §3.4). Any thread may sign.
public final class ES256PrivateKey: Sendable {
  /// The public half: SubjectPublicKeyInfo, DER.
  public let publicKeyDER: [UInt8]
  /// The public half, to verify with.
  public let publicKey: ES256PublicKey
  private let handle: KeyHandle

  /// Reads the text of a `.p8` file: PKCS#8 or SEC 1 in PEM, with any line ends, a UTF-8 mark or text before BEGIN.
  ///
  /// The key is tried before it is taken: its halves belong together, and a trial signature verifies.
  /// - Throws: ``PrivateKeyError`` that says what was given instead; never a byte of it.
  public convenience init(pem: [UInt8]) throws(PrivateKeyError) {
    var (encoding, der) = try PrivateKeyText.der(in: pem)
    defer { unsafe OPENSSL_cleanse(&der, der.count) }
    ERR_clear_error()
    let key = unsafe encoding == .pkcs8 ? Self.decodePKCS8(der) : Self.decodeSEC1(der)
    guard let key = unsafe key else { throw .damaged(TLSError.drainQueue() ?? "it is no private key") }
    ERR_clear_error()
    unsafe try self.init(KeyHandle(owning: key))
  }

  /// Reads the text of a `.p8` file.
  public convenience init(pem: String) throws(PrivateKeyError) { try self.init(pem: Array(pem.utf8)) }

  private init(_ handle: KeyHandle) throws(PrivateKeyError) {
    guard let curve = handle.curve else { throw .otherAlgorithm(handle.algorithm) }
    guard curve == ES256PublicKey.curve else { throw .otherCurve(curve) }
    guard handle.isConsistent else {
      ERR_clear_error()
      throw .mismatchedPublicKey
    }
    guard let der = handle.publicKeyDER else { throw .unusable(TLSError.drainQueue() ?? "no public half") }
    self.handle = handle
    publicKeyDER = der
    publicKey = ES256PublicKey(handle)
    let trial = Array("trial".utf8)
    let signature: [UInt8]
    do {
      signature = try sign(trial)
    } catch {
      throw .unusable(error.underlying)
    }
    guard publicKey.verify(signature: signature, of: trial) else {
      throw .unusable("a trial signature does not verify")
    }
  }

  /// The signature of `bytes`: r‖s, 32 bytes each, as a JWT carries it. Each call gives another one; all verify.
  public func sign(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    let operation = "sign with ES256"
    ERR_clear_error()
    guard let context = unsafe EVP_MD_CTX_new() else { throw .drainingQueue(operation) }
    defer { unsafe EVP_MD_CTX_free(context) }
    // The DER of two numbers of 32 bytes is at most 72 bytes long.
    var der = [UInt8](repeating: 0, count: 80)
    var count = der.count
    guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle.raw) == 1,
      unsafe EVP_DigestSign(context, &der, &count, bytes, bytes.count) == 1,
      let raw = ES256.raw(fromDER: Array(der.prefix(count)))
    else { throw .drainingQueue(operation) }
    return raw
  }

  private static func decodePKCS8(_ der: [UInt8]) -> OpaquePointer? {
    let info = unsafe der.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &position, buffer.count)
    }
    guard let info = unsafe info else { return nil }
    defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
    return unsafe EVP_PKCS82PKEY(info)
  }

  private static func decodeSEC1(_ der: [UInt8]) -> OpaquePointer? {
    unsafe der.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_PrivateKey(EVP_PKEY_EC, nil, &position, buffer.count)
    }
  }
}

/// A key that verifies what an ``ES256PrivateKey`` signed. Any thread may verify.
public final class ES256PublicKey: Sendable {
  static let curve = "prime256v1"

  private let handle: KeyHandle

  init(_ handle: KeyHandle) { self.handle = handle }

  /// Reads `-----BEGIN PUBLIC KEY-----` (SubjectPublicKeyInfo) on P-256.
  public init(pem: [UInt8]) throws(PrivateKeyError) {
    guard let block = PEMText(pem).blocks.first(where: { $0.label == "PUBLIC KEY" }) else {
      throw PrivateKeyError(
        .noPEM, "the public key has no line -----BEGIN PUBLIC KEY-----",
        "Make it from the private key: openssl pkey -in KEY.p8 -pubout")
    }
    guard let der = block.der else { throw .corruptBase64 }
    ERR_clear_error()
    let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_PUBKEY(nil, &position, buffer.count)
    }
    guard let key = unsafe key else { throw .damaged(TLSError.drainQueue() ?? "it is no public key") }
    let handle = unsafe KeyHandle(owning: key)
    guard let curve = handle.curve else { throw .otherAlgorithm(handle.algorithm) }
    guard curve == Self.curve else { throw .otherCurve(curve) }
    self.handle = handle
  }

  /// Reads the text of a public key.
  public convenience init(pem: String) throws(PrivateKeyError) { try self.init(pem: Array(pem.utf8)) }

  /// The 64 bytes r‖s of a signature in DER; nil when it is none.
  public static func rawSignature(fromDER der: [UInt8]) -> [UInt8]? {
    // What is no DER leaves its reason behind.
    defer { ERR_clear_error() }
    return ES256.raw(fromDER: der)
  }

  /// Whether `signature` is one of `bytes`. Only r‖s of exactly 64 bytes is one; DER is not.
  public func verify(signature: [UInt8], of bytes: [UInt8]) -> Bool {
    handle.verify(rawSignature: signature, of: bytes)
  }
}
