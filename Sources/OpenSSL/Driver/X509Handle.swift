internal import COpenSSL
internal import Glibc

/// Owns one X509 that is only read. Immutable once made: any thread may read it.
@safe final class X509Handle: Sendable {
  nonisolated(unsafe) let raw: OpaquePointer

  /// Takes the reference over.
  init(owning raw: OpaquePointer) { unsafe self.raw = raw }

  deinit { unsafe X509_free(raw) }

  /// The certificates of a PEM text up to the first that cannot be read.
  static func all(inPEM bytes: [UInt8]) -> [X509Handle] {
    guard let bio = unsafe BIO_new_mem_buf(bytes, Int32(clamping: bytes.count)) else { return [] }
    defer { unsafe BIO_free(bio) }
    var handles: [X509Handle] = []
    while let certificate = unsafe PEM_read_bio_X509(bio, nil, nil, nil) {
      handles.append(unsafe X509Handle(owning: certificate))
    }
    return handles
  }

  /// Whether the private key is that of the certificate.
  func belongs(to key: KeyHandle) -> Bool {
    defer { ERR_clear_error() }
    return unsafe X509_check_private_key(raw, key.raw) == 1
  }

  var details: CertificateDetails {
    var services: CertificateDetails.Services = []
    if hasExtension("1.2.840.113635.100.6.3.1") { services.insert(.development) }
    if hasExtension("1.2.840.113635.100.6.3.2") { services.insert(.production) }
    var topics: [String] = []
    for text in texts(inExtension: "1.2.840.113635.100.6.3.4") + texts(inExtension: "1.2.840.113635.100.6.3.6")
    // Beside the topics stand words for their kinds, such as `app` and `voip`.
    where text.contains(".") && !topics.contains(text) { topics.append(text) }
    return unsafe CertificateDetails(
      subject: subject, userID: userID, notBefore: Self.seconds(X509_get0_notBefore(raw)),
      notAfter: Self.seconds(X509_get0_notAfter(raw)), sha256: sha256, services: services, extensionTopics: topics)
  }

  private var subject: String {
    guard let bio = unsafe BIO_new(BIO_s_mem()) else { return "" }
    defer { unsafe BIO_free(bio) }
    guard unsafe pr_X509_NAME_print(bio, X509_get_subject_name(raw)) >= 0 else { return "" }
    var text = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(bio))
    let count = unsafe BIO_read(bio, &text, Int32(clamping: text.count))
    return String(decoding: text.prefix(max(0, Int(count))), as: UTF8.self)
  }

  private var userID: String? {
    let name = unsafe X509_get_subject_name(raw)
    let index = unsafe X509_NAME_get_index_by_NID(name, NID_userId, -1)
    guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index) else { return nil }
    var start: UnsafeMutablePointer<UInt8>?
    let count = unsafe ASN1_STRING_to_UTF8(&start, X509_NAME_ENTRY_get_data(entry))
    guard count >= 0, let start = unsafe start else { return nil }
    defer { unsafe CRYPTO_free(start, nil, 0) }
    return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }

  private var sha256: [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    // It fails for lack of memory alone; the digest is then that of no certificate.
    _ = unsafe X509_digest(raw, EVP_sha256(), &digest, nil)
    return digest
  }

  private func index(ofExtension identifier: String) -> Int32 {
    guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return -1 }
    defer { unsafe ASN1_OBJECT_free(object) }
    return unsafe X509_get_ext_by_OBJ(raw, object, -1)
  }

  private func hasExtension(_ identifier: String) -> Bool { index(ofExtension: identifier) >= 0 }

  private func texts(inExtension identifier: String) -> [String] {
    let index = index(ofExtension: identifier)
    guard index >= 0, let data = unsafe X509_EXTENSION_get_data(X509_get_ext(raw, index)),
      let start = unsafe ASN1_STRING_get0_data(data)
    else { return [] }
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(data))))
    return DERTexts.all(in: bytes[...])
  }

  /// UNIX seconds; the far past for a time that cannot be read, so that the certificate is good at none.
  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
    var parts = unsafe tm()
    guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
    return unsafe Int64(timegm(&parts))
  }
}
