internal import COpenSSL

/// A certificate with its private key and intermediates, which a TLS client presents. Immutable once made; any thread may use it.
public final class ClientCertificate: Sendable {
  /// What it says about itself.
  public let details: CertificateDetails
  let key: KeyHandle
  let leaf: X509Handle
  let chain: [X509Handle]

  /// Reads a file's content: PEM with certificate, intermediates and key in any order, or PKCS#12 (`.p12`).
  ///
  /// - Parameter password: for an encrypted key or file; nil = none.
  /// - Throws: ``ClientCertificateError`` that says what is wrong; never a byte of key or password. Whether the certificate is
  ///   good now is ``CertificateDetails/checkValidity(at:format:)``'s question.
  public convenience init(bytes: [UInt8], password: String?) throws(ClientCertificateError) {
    guard bytes.contains(where: { !($0 == 0x20 || (0x09...0x0D).contains($0)) }) else { throw .empty }
    defer { ERR_clear_error() }
    let parts =
      bytes.first == 0x30
      ? try CertificateFile.pkcs12(bytes, password: password) : try CertificateFile.pem(bytes, password: password)
    guard let leaf = parts.certificates.first(where: { $0.belongs(to: parts.key) }) else { throw .keyMismatch }
    self.init(leaf: leaf, key: parts.key, chain: parts.certificates.filter { $0 !== leaf })
  }

  private init(leaf: X509Handle, key: KeyHandle, chain: [X509Handle]) {
    self.leaf = leaf
    self.key = key
    self.chain = chain
    details = leaf.details
  }
}

/// The two kinds of file that hold a certificate with its key.
private enum CertificateFile {
  typealias Parts = (key: KeyHandle, certificates: [X509Handle])

  static func pem(_ bytes: [UInt8], password: String?) throws(ClientCertificateError) -> Parts {
    let blocks = PEMText(bytes).blocks
    let keys = blocks.filter { $0.label.hasSuffix("PRIVATE KEY") }
    let certificates = blocks.filter { $0.label == "CERTIFICATE" || $0.label == "TRUSTED CERTIFICATE" }
    guard !blocks.isEmpty else { throw .damaged("it has no line -----BEGIN") }
    guard !certificates.isEmpty else { throw keys.isEmpty ? .noCertificate : .loneKey }
    guard let key = keys.first else { throw .noKey }
    let isEncrypted = key.label == "ENCRYPTED PRIVATE KEY" || key.isEncrypted
    if isEncrypted, password == nil { throw .passwordNeeded }
    ERR_clear_error()
    guard let handle = readKey(bytes, password: password ?? "") else {
      throw isEncrypted ? .wrongPassword : .damaged(TLSError.drainQueue() ?? "its key is damaged")
    }
    let handles = X509Handle.all(inPEM: bytes)
    guard handles.count == certificates.count else {
      throw .damaged(TLSError.drainQueue() ?? "a certificate in it is damaged")
    }
    return (handle, handles)
  }

  private static func readKey(_ bytes: [UInt8], password: String) -> KeyHandle? {
    guard let bio = unsafe BIO_new_mem_buf(bytes, Int32(clamping: bytes.count)) else { return nil }
    defer { unsafe BIO_free(bio) }
    // Without a callback the last argument is the password; an empty one never asks at the terminal.
    let key: OpaquePointer? = unsafe password.withCString { text in
      unsafe PEM_read_bio_PrivateKey(bio, nil, nil, UnsafeMutableRawPointer(mutating: text))
    }
    return unsafe key.map { unsafe KeyHandle(owning: $0) }
  }

  static func pkcs12(_ bytes: [UInt8], password: String?) throws(ClientCertificateError) -> Parts {
    ERR_clear_error()
    let store = unsafe bytes.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_PKCS12(nil, &position, buffer.count)
    }
    guard let store = unsafe store else { throw .damaged(TLSError.drainQueue() ?? "it is no PKCS#12") }
    defer { unsafe PKCS12_free(store) }
    // Checked first: a wrong password and an old encryption fail alike afterwards.
    guard unsafe isOpened(store, by: password) else { throw password == nil ? .passwordNeeded : .wrongPassword }
    if let parts = try unsafe open(store, password) { return parts }
    // Keychain Access encrypts certificates with RC2-40, which OpenSSL 3 has in its legacy provider alone.
    guard unsafe OSSL_PROVIDER_try_load(nil, "legacy", 1) != nil else { throw .oldEncryption }
    ERR_clear_error()
    if let parts = try unsafe open(store, password) { return parts }
    throw .damaged(TLSError.drainQueue() ?? "its content cannot be decrypted")
  }

  private static func isOpened(_ store: OpaquePointer, by password: String?) -> Bool {
    // No password and an empty one are two things in PKCS#12; exports mean either.
    guard let password, !password.isEmpty else {
      return unsafe PKCS12_mac_present(store) == 0 || PKCS12_verify_mac(store, nil, 0) == 1
        || PKCS12_verify_mac(store, "", 0) == 1
    }
    return unsafe PKCS12_mac_present(store) == 0 || PKCS12_verify_mac(store, password, -1) == 1
  }

  /// Nil when it cannot be decrypted.
  private static func open(_ store: OpaquePointer, _ password: String?) throws(ClientCertificateError) -> Parts? {
    var key: OpaquePointer?
    var leaf: OpaquePointer?
    var others: OpaquePointer?
    guard unsafe PKCS12_parse(store, password ?? "", &key, &leaf, &others) == 1 else { return nil }
    var certificates: [X509Handle] = []
    if let leaf = unsafe leaf { certificates.append(unsafe X509Handle(owning: leaf)) }
    if let others = unsafe others {
      for index in unsafe 0..<OPENSSL_sk_num(others) {
        guard let certificate = unsafe OPENSSL_sk_value(others, index) else { continue }
        certificates.append(unsafe X509Handle(owning: OpaquePointer(certificate)))
      }
      unsafe OPENSSL_sk_free(others)
    }
    guard let key = unsafe key else { throw certificates.isEmpty ? .noCertificate : .noKey }
    let handle = unsafe KeyHandle(owning: key)
    guard !certificates.isEmpty else { throw .loneKey }
    return (handle, certificates)
  }
}
