internal import COpenSSL

extension CertificateSet {
  /// Makes an authority and a certificate for `names`, keys on P-256, good from an hour before `time` (UNIX seconds) so
  /// that a client whose clock is behind takes it too.
  public static func issue(names: [String], at time: Int64) throws(CryptoError) -> CertificateSet {
    let authorityKey = try KeyHandle.generateP256()
    let authority = try CertificateHandle(commonName: "APNs simulator CA", key: authorityKey)
    authority.setValidity(from: time - 3600, until: time + Int64(authorityDays) * 86400)
    try authority.setIssuer(authority)
    try authority.add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", issuer: authority)
    try authority.add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: authority)
    try authority.add(NID_subject_key_identifier, "hash", issuer: authority)
    try authority.sign(with: authorityKey)
    let set = CertificateSet(
      authority: try authority.pem(), authorityKey: try authorityKey.privatePEM(), certificate: [], privateKey: [])
    return try set.reissued(names: names, from: time - 3600, until: time + Int64(certificateDays) * 86400)
  }

  /// The same authority with another certificate and key, for `names`, good between two times (UNIX seconds).
  public func reissued(names: [String], from start: Int64, until end: Int64) throws(CryptoError) -> CertificateSet {
    guard let authority = CertificateHandle(pem: authority), let authorityKey = KeyHandle(privatePEM: authorityKey)
    else {
      throw .drainingQueue("read the authority of a certificate")
    }
    let key = try KeyHandle.generateP256()
    let certificate = try CertificateHandle(commonName: names.first ?? "localhost", key: key)
    certificate.setValidity(from: start, until: end)
    try certificate.setIssuer(authority)
    try certificate.add(NID_basic_constraints, "critical,CA:FALSE", issuer: authority)
    try certificate.add(NID_key_usage, "critical,digitalSignature", issuer: authority)
    try certificate.add(NID_ext_key_usage, "serverAuth", issuer: authority)
    try certificate.add(NID_subject_key_identifier, "hash", issuer: authority)
    try certificate.add(NID_authority_key_identifier, "keyid:always", issuer: authority)
    let alternatives = names.map { (Self.isAddress($0) ? "IP:" : "DNS:") + $0 }
    try certificate.add(NID_subject_alt_name, alternatives.joined(separator: ","), issuer: authority)
    try certificate.sign(with: authorityKey)
    var set = self
    set.certificate = try certificate.pem()
    set.privateKey = try key.privatePEM()
    return set
  }

  /// Whether the four belong together, are good at `time` (UNIX seconds), and name each of `names`.
  public func isUsable(for names: [String], at time: Int64) -> Bool {
    defer { ERR_clear_error() }
    guard let authority = CertificateHandle(pem: authority), let certificate = CertificateHandle(pem: certificate),
      let key = KeyHandle(privatePEM: privateKey), let authorityKey = KeyHandle(privatePEM: authorityKey)
    else { return false }
    return authority.has(authorityKey) && certificate.isSigned(by: authority) && certificate.has(key)
      && authority.isValid(at: time)
      && certificate.isValid(at: time) && names.allSatisfy { certificate.names($0) }
  }
}

/// Owns one X509. Confined to the call that makes it.
@safe private final class CertificateHandle {
  private let raw: OpaquePointer

  init?(pem: [UInt8]) {
    guard let bio = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { return nil }
    defer { unsafe BIO_free(bio) }
    guard let raw = unsafe PEM_read_bio_X509(bio, nil, nil, nil) else { return nil }
    unsafe self.raw = raw
  }

  /// An unsigned certificate with a random serial number.
  init(commonName: String, key: KeyHandle) throws(CryptoError) {
    ERR_clear_error()
    guard let raw = unsafe X509_new() else { throw .drainingQueue("make a certificate") }
    unsafe self.raw = raw
    let name = unsafe X509_get_subject_name(raw)
    let bytes = Array(commonName.utf8)
    // Positive, as RFC 5280 wants it.
    let serial = UInt64.random(in: 1...UInt64(Int64.max))
    let isMade =
      unsafe X509_set_version(raw, 2) == 1 && ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serial) == 1
      && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1
      && X509_set_pubkey(raw, key.raw) == 1
    guard isMade else { throw .drainingQueue("make a certificate") }
  }

  deinit { unsafe X509_free(raw) }

  func setValidity(from start: Int64, until end: Int64) {
    // They fail only for lack of memory; signing then fails too, for the certificate has no dates.
    _ = unsafe ASN1_TIME_set(X509_getm_notBefore(raw), time_t(start))
    _ = unsafe ASN1_TIME_set(X509_getm_notAfter(raw), time_t(end))
  }

  func setIssuer(_ issuer: CertificateHandle) throws(CryptoError) {
    guard unsafe X509_set_issuer_name(raw, X509_get_subject_name(issuer.raw)) == 1 else {
      throw .drainingQueue("name a certificate's issuer")
    }
  }

  func add(_ identifier: Int32, _ value: String, issuer: CertificateHandle) throws(CryptoError) {
    ERR_clear_error()
    var context = unsafe X509V3_CTX()
    unsafe X509V3_set_ctx(&context, issuer.raw, raw, nil, nil, 0)
    guard let entry = unsafe X509V3_EXT_conf_nid(nil, &context, identifier, value) else {
      throw .drainingQueue("write '\(value)' into a certificate")
    }
    defer { unsafe X509_EXTENSION_free(entry) }
    guard unsafe X509_add_ext(raw, entry, -1) == 1 else { throw .drainingQueue("extend a certificate") }
  }

  func sign(with key: KeyHandle) throws(CryptoError) {
    ERR_clear_error()
    guard unsafe X509_sign(raw, key.raw, EVP_sha256()) > 0 else { throw .drainingQueue("sign a certificate") }
  }

  func pem() throws(CryptoError) -> [UInt8] {
    try unsafe PEMBuffer.text("a certificate") { unsafe PEM_write_bio_X509($0, raw) }
  }

  func isSigned(by authority: CertificateHandle) -> Bool {
    unsafe X509_verify(raw, X509_get0_pubkey(authority.raw)) == 1
  }

  func has(_ key: KeyHandle) -> Bool { unsafe X509_check_private_key(raw, key.raw) == 1 }

  func isValid(at time: Int64) -> Bool {
    var now = time_t(time)
    return unsafe X509_cmp_time(X509_get0_notBefore(raw), &now) < 0 && X509_cmp_time(X509_get0_notAfter(raw), &now) > 0
  }

  func names(_ name: String) -> Bool {
    unsafe CertificateSet.isAddress(name)
      ? X509_check_ip_asc(raw, name, 0) == 1 : X509_check_host(raw, name, name.utf8.count, 0, nil) == 1
  }
}

extension KeyHandle {
  /// A new key on P-256.
  fileprivate static func generateP256() throws(CryptoError) -> KeyHandle {
    ERR_clear_error()
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
      throw .drainingQueue("make a key on P-256")
    }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
      unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
    else { throw .drainingQueue("make a key on P-256") }
    return unsafe KeyHandle(owning: key)
  }

  /// A private key from PEM without a password; nil when it is none.
  convenience init?(privatePEM pem: [UInt8]) {
    guard let bio = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { return nil }
    defer { unsafe BIO_free(bio) }
    guard let key = unsafe PEM_read_bio_PrivateKey(bio, nil, nil, nil) else { return nil }
    unsafe self.init(owning: key)
  }

  fileprivate func privatePEM() throws(CryptoError) -> [UInt8] {
    try unsafe PEMBuffer.text("a key") { unsafe PEM_write_bio_PKCS8PrivateKey($0, raw, nil, nil, 0, nil, nil) }
  }
}

/// Text that OpenSSL writes, as bytes.
private enum PEMBuffer {
  static func text(_ subject: String, _ write: (OpaquePointer) -> Int32) throws(CryptoError) -> [UInt8] {
    ERR_clear_error()
    guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw .drainingQueue("write \(subject)") }
    defer { unsafe BIO_free(bio) }
    guard unsafe write(bio) == 1 else { throw .drainingQueue("write \(subject)") }
    var text = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(bio))
    let count = unsafe BIO_read(bio, &text, Int32(clamping: text.count))
    guard count == text.count else { throw .drainingQueue("write \(subject)") }
    return text
  }
}
