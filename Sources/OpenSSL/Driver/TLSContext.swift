internal import COpenSSL

/// What TLS connections of one kind share: trust, certificate, versions, ALPN. Immutable once made, so any thread may
/// open streams from it.
@safe public final class TLSContext: Sendable {
  /// Which side of the connection its streams take.
  enum Role {
    case client
    case server
  }

  let role: Role
  /// The client's extra CA file, for error messages.
  let certificateAuthorityFile: String?
  // Configured in the initializer alone; SSL_new then counts references under OpenSSL's own lock.
  nonisolated(unsafe) let raw: OpaquePointer
  /// Whether a client presents a certificate of its own: the peer's alerts may then be about that.
  let presentsCertificate: Bool
  private let serverProtocols: ProtocolList?

  /// A context for clients. Throws ``TLSError/Code/configuration`` when the CA file or the certificate cannot be used.
  ///
  /// - Parameter certificate: presented to a peer that asks for one.
  public init(client configuration: TLSClientConfiguration, certificate: ClientCertificate? = nil) throws(TLSError) {
    role = .client
    presentsCertificate = certificate != nil
    certificateAuthorityFile = configuration.certificateAuthorityFile
    serverProtocols = nil
    unsafe raw = try unsafe Self.make(TLS_client_method())
    unsafe SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
    _ = unsafe pr_SSL_CTX_set_min_proto_version(raw, TLSVersion.tls12.rawValue)
    // Without the system's store a verification fails later, and says what to install.
    _ = unsafe SSL_CTX_set_default_verify_paths(raw)
    if let file = configuration.certificateAuthorityFile {
      ERR_clear_error()
      guard unsafe SSL_CTX_load_verify_file(raw, file) == 1 else {
        throw TLSError.file(file, expected: "a PEM file with CA certificates")
      }
    }
    let protocols = ProtocolList(configuration.applicationProtocols)
    // It returns 0 for success, unlike its relatives.
    guard unsafe SSL_CTX_set_alpn_protos(raw, protocols.start, UInt32(protocols.count)) == 0 else {
      throw TLSError(.configuration, "ALPN", reason: "a protocol name must have 1 to 255 bytes")
    }
    if let certificate { try present(certificate) }
  }

  private func present(_ certificate: ClientCertificate) throws(TLSError) {
    ERR_clear_error()
    var isTaken =
      unsafe SSL_CTX_use_certificate(raw, certificate.leaf.raw) == 1
      && SSL_CTX_use_PrivateKey(raw, certificate.key.raw) == 1
    for link in certificate.chain { isTaken = unsafe isTaken && pr_SSL_CTX_add1_chain_cert(raw, link.raw) == 1 }
    guard isTaken else {
      throw TLSError(
        .configuration, certificate.details.subject, reason: TLSError.drainQueue() ?? "no memory",
        remedy: "a certificate with RSA of 2048 bits or P-256, signed with SHA-256, is needed here")
    }
  }

  /// A context for servers. Throws ``TLSError/Code/configuration`` when a file cannot be used or the key does not
  /// belong to the certificate.
  public init(server configuration: TLSServerConfiguration) throws(TLSError) {
    role = .server
    presentsCertificate = false
    certificateAuthorityFile = nil
    let protocols = configuration.applicationProtocols.isEmpty ? nil : ProtocolList(configuration.applicationProtocols)
    serverProtocols = protocols
    unsafe raw = try unsafe Self.make(TLS_server_method())
    _ = unsafe pr_SSL_CTX_set_min_proto_version(raw, configuration.minimumVersion.rawValue)
    _ = unsafe pr_SSL_CTX_set_max_proto_version(raw, configuration.maximumVersion.rawValue)
    // Versions before 1.2 sign with SHA-1, which the default security level refuses.
    if configuration.minimumVersion.rawValue < TLSVersion.tls12.rawValue {
      unsafe SSL_CTX_set_security_level(raw, 0)
    }
    try present(configuration.identity)
    for file in configuration.knownClientAuthorityFiles + [configuration.clientAuthorityFile].compactMap(\.self) {
      ERR_clear_error()
      guard unsafe SSL_CTX_load_verify_file(raw, file) == 1 else {
        throw TLSError.file(file, expected: "a PEM file with the CA certificates of clients")
      }
    }
    if configuration.clientAuthorityFile != nil {
      unsafe SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    } else if configuration.revokesClientCertificates {
      unsafe SSL_CTX_set_verify(raw, SSL_VERIFY_PEER) { _, store in
        unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED)
        return 0
      }
    } else if configuration.requestsClientCertificate {
      // Any certificate is accepted; what the verification found is kept for `peerCertificate`.
      unsafe SSL_CTX_set_verify(raw, SSL_VERIFY_PEER) { _, _ in 1 }
    }
    if let protocols {
      // The list lives as long as this object; streams keep the object.
      unsafe SSL_CTX_set_alpn_select_cb(raw, selectProtocol, Unmanaged.passUnretained(protocols).toOpaque())
    }
  }

  private func present(_ identity: TLSServerConfiguration.Identity) throws(TLSError) {
    ERR_clear_error()
    switch identity {
    case .files(let certificate, let privateKey):
      guard unsafe SSL_CTX_use_certificate_chain_file(raw, certificate) == 1 else {
        throw TLSError.file(certificate, expected: "a PEM file with the server's certificate")
      }
      guard unsafe SSL_CTX_use_PrivateKey_file(raw, privateKey, SSL_FILETYPE_PEM) == 1,
        unsafe SSL_CTX_check_private_key(raw) == 1
      else { throw TLSError.file(privateKey, expected: "a PEM file with the private key of that certificate") }
    case .texts(let certificate, let privateKey):
      guard let leaf = X509Handle.all(inPEM: certificate).first, let key = KeyHandle(privatePEM: privateKey),
        unsafe SSL_CTX_use_certificate(raw, leaf.raw) == 1, unsafe SSL_CTX_use_PrivateKey(raw, key.raw) == 1
      else {
        throw TLSError(
          .configuration, "the server's certificate", reason: TLSError.drainQueue() ?? "it is no PEM with its key")
      }
    }
  }

  deinit { unsafe SSL_CTX_free(raw) }

  private static func make(_ method: OpaquePointer?) throws(TLSError) -> OpaquePointer {
    ERR_clear_error()
    guard let raw = unsafe SSL_CTX_new(method) else {
      throw TLSError(.configuration, "OpenSSL", reason: TLSError.drainQueue() ?? "no memory")
    }
    unsafe pr_SSL_CTX_set_mode(raw, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
    unsafe pr_SSL_CTX_disable_session_cache(raw)
    return unsafe raw
  }
}

/// Application protocols in ALPN's wire form: a length byte before each name. The bytes stay at one place, since
/// OpenSSL keeps pointers into them.
@safe private final class ProtocolList: Sendable {
  nonisolated(unsafe) let start: UnsafeMutablePointer<UInt8>
  let count: Int

  init(_ names: [String]) {
    let wire = names.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
    count = wire.count
    unsafe start = UnsafeMutablePointer.allocate(capacity: max(1, count))
    unsafe start.initialize(from: wire, count: count)
  }

  deinit { unsafe start.deallocate() }
}

private func selectProtocol(
  _ stream: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ outLength: UnsafeMutablePointer<UInt8>?,
  _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context = unsafe context, let out = unsafe out else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  let list = unsafe Unmanaged<ProtocolList>.fromOpaque(context).takeUnretainedValue()
  var selected: UnsafeMutablePointer<UInt8>?
  let result = unsafe SSL_select_next_proto(
    &selected, outLength, list.start, UInt32(list.count), offered, offeredLength)
  unsafe out.pointee = UnsafePointer(selected)
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}
