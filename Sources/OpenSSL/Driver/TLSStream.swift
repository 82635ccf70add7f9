internal import COpenSSL
public import EventLoop
internal import Glibc

/// What one call on a TLS stream gave.
public enum TLSProgress: Sendable {
  /// So many bytes were moved; 0 for a finished handshake.
  case bytes(Int)
  /// Nothing more until the socket is readable.
  case wantRead
  /// Nothing more until the socket is writable.
  case wantWrite
  /// The peer ended the connection, with or without a farewell.
  case closed
  /// The connection is of no further use.
  case failed(TLSError)
}

/// One TLS connection over a non-blocking socket. Confined to one thread; frees OpenSSL's state and closes the socket
/// when released or closed.
///
/// Every call may read and write the socket. SIGPIPE must be blocked or ignored in the calling thread, as
/// ``EventLoop/LoopThread`` does: OpenSSL writes with `write(2)`.
@safe public final class TLSStream {
  /// The socket below.
  public let socket: Socket
  private let context: TLSContext
  private let raw: OpaquePointer
  private let peer: String
  private var usable = true

  /// A client's stream: verifies that the certificate is for `host`, a DNS name or an IP address, and sends the name
  /// (SNI).
  public init(client context: TLSContext, host: String, socket: Socket, peer: String) throws(TLSError) {
    precondition(context.role == .client, "a client's stream needs a client's context")
    self.context = context
    self.socket = socket
    self.peer = peer
    unsafe raw = try unsafe Self.make(context, socket)
    unsafe SSL_set_connect_state(raw)
    let parameters = unsafe SSL_get0_param(raw)
    // An address is compared with the certificate's addresses and is never sent as a name (RFC 6066 section 3).
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return }
    ERR_clear_error()
    unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    guard unsafe X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1, unsafe pr_SSL_set_server_name(raw, host) == 1
    else { throw TLSError(.configuration, host, reason: "it is neither a DNS name nor an IP address") }
  }

  /// A server's stream.
  public init(server context: TLSContext, socket: Socket, peer: String) throws(TLSError) {
    precondition(context.role == .server, "a server's stream needs a server's context")
    self.context = context
    self.socket = socket
    self.peer = peer
    unsafe raw = try unsafe Self.make(context, socket)
    unsafe SSL_set_accept_state(raw)
  }

  deinit { unsafe SSL_free(raw) }

  private static func make(_ context: TLSContext, _ socket: Socket) throws(TLSError) -> OpaquePointer {
    ERR_clear_error()
    guard let raw = unsafe SSL_new(context.raw) else {
      throw TLSError(.configuration, "OpenSSL", reason: TLSError.drainQueue() ?? "no memory")
    }
    guard unsafe SSL_set_fd(raw, socket.descriptor) == 1 else {
      unsafe SSL_free(raw)
      throw TLSError(.configuration, "OpenSSL", reason: TLSError.drainQueue() ?? "no memory")
    }
    return unsafe raw
  }

  /// Goes on with the handshake; `.bytes(0)` when it is complete. A client then has an agreed application protocol if
  /// it offered any.
  public func handshake() -> TLSProgress {
    ERR_clear_error()
    let code = unsafe SSL_do_handshake(raw)
    guard code == 1 else { return failure(code, handshaking: true) }
    return .bytes(0)
  }

  /// Decrypts what has come into `buffer`. At most one record of 16 KB a call: repeat until ``TLSProgress/wantRead``.
  public func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSProgress {
    guard usable else { return .closed }
    ERR_clear_error()
    let count = unsafe SSL_read(raw, buffer.baseAddress, Int32(clamping: buffer.count))
    return count > 0 ? .bytes(Int(count)) : failure(count, handshaking: false)
  }

  /// Encrypts and sends the beginning of `bytes`, one record a call. After ``TLSProgress/wantWrite`` repeat it with the
  /// same bytes and any more behind them; their address may have changed. Never call it with no bytes.
  public func write(_ bytes: UnsafeRawBufferPointer) -> TLSProgress {
    guard usable else { return .closed }
    ERR_clear_error()
    let count = unsafe SSL_write(raw, bytes.baseAddress, Int32(clamping: bytes.count))
    return count > 0 ? .bytes(Int(count)) : failure(count, handshaking: false)
  }

  /// Says farewell if the connection is whole and the socket takes it; nothing can be read or written any more.
  public func sayFarewell() {
    if usable, unsafe SSL_is_init_finished(raw) == 1 {
      ERR_clear_error()
      // Best effort: a peer that gets FIN alone knows as much.
      _ = unsafe SSL_shutdown(raw)
    }
    usable = false
  }

  /// Says farewell as ``sayFarewell()`` does, and closes the socket. Remove it from its loop first.
  public func close() {
    sayFarewell()
    socket.close()
  }

  /// Closes the socket without a farewell, as a peer that crashed does. Remove it from its loop first.
  public func abandon() {
    usable = false
    socket.close()
  }

  /// The application protocol that both sides agreed on, nil when there is none.
  public var applicationProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    unsafe SSL_get0_alpn_selected(raw, &name, &length)
    guard let start = unsafe name, length > 0 else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(length)), as: UTF8.self)
  }

  /// The certificate that the peer has presented; nil when it has none, or before the handshake is complete.
  public var peerCertificate: PeerCertificate? {
    guard let certificate = unsafe SSL_get1_peer_certificate(raw) else { return nil }
    let handle = unsafe X509Handle(owning: certificate)
    return unsafe PeerCertificate(details: handle.details, isTrusted: SSL_get_verify_result(raw) == Int(X509_V_OK))
  }

  /// Version and cipher, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`.
  public var summary: String {
    let cipher =
      unsafe SSL_CIPHER_get_name(SSL_get_current_cipher(raw)).map { unsafe String(cString: $0) } ?? "no cipher"
    return unsafe "\(String(cString: SSL_get_version(raw))) \(cipher)"
  }
}

extension TLSStream {
  /// Turns a call's failure into a value; the errno is read first, before anything can change it.
  private func failure(_ code: Int32, handshaking: Bool) -> TLSProgress {
    let systemCode = errno
    switch unsafe SSL_get_error(raw, code) {
    case SSL_ERROR_WANT_READ: return .wantRead
    case SSL_ERROR_WANT_WRITE: return .wantWrite
    case SSL_ERROR_ZERO_RETURN: return handshaking ? refuse(handshakeEnded()) : end()
    case SSL_ERROR_SYSCALL:
      if systemCode == 0 || ERR_peek_error() != 0 { fallthrough }
      return refuse(
        TLSError(handshaking ? .handshake : .connection, peer, reason: TLSError.systemText(systemCode)))
    default:
      return libraryFailure(handshaking: handshaking)
    }
  }

  /// A peer's alerts about the certificate of a client (RFC 8446 section 6.2): the alert's number and 1000.
  private static let certificateAlerts: Set<Int32> = [
    SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
    SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
    SSL_R_TLSV1_ALERT_ACCESS_DENIED, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
  ]

  private func libraryFailure(handshaking: Bool) -> TLSProgress {
    let code = ERR_peek_error()
    let isTLS = code >> 23 & 0xff == UInt(ERR_LIB_SSL)
    let reason = isTLS ? Int32(truncatingIfNeeded: code & 0x7fffff) : 0
    let text = TLSError.drainQueue()
    // In TLS 1.3 the peer judges our certificate when the handshake is over for us.
    if isTLS, context.presentsCertificate, Self.certificateAlerts.contains(reason) {
      return refuse(TLSError(.clientCertificate, peer, reason: text ?? ""))
    }
    if !handshaking {
      // A peer that closes without a farewell is common, and HTTP/2 knows its own end.
      if text == nil || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING { return end() }
      return refuse(TLSError(.connection, peer, reason: text ?? "closed"))
    }
    switch reason {
    case SSL_R_CERTIFICATE_VERIFY_FAILED where context.role == .client: return refuse(verificationFailure())
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return refuse(handshakeEnded())
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_HTTPS_PROXY_REQUEST:
      return refuse(
        TLSError(
          .handshake, peer, reason: "the peer does not speak TLS on this port (\(text ?? ""))",
          remedy: "check the port, and whether the server there serves HTTPS"))
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, SSL_R_NO_APPLICATION_PROTOCOL:
      return refuse(
        TLSError(
          .applicationProtocol, peer, reason: "no common application protocol (ALPN)",
          remedy: "HTTP/2 (h2) must be enabled there"))
    default: return refuse(TLSError(.handshake, peer, reason: text ?? "the peer closed the connection"))
    }
  }

  private func verificationFailure() -> TLSError {
    let result = unsafe SSL_get_verify_result(raw)
    let text = unsafe String(cString: X509_verify_cert_error_string(result))
    let remedy =
      switch Int32(truncatingIfNeeded: result) {
      case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
        "the certificate is for another name: check the host"
      case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
        "check this machine's clock, then the server's certificate"
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
        X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
        authorityRemedy
      default: ""
      }
    return TLSError(.verification, peer, reason: text, remedy: remedy)
  }

  private var authorityRemedy: String {
    if let file = context.certificateAuthorityFile {
      "neither \(file) nor the system's CA certificates contain the issuer: give the right one with --ca FILE"
    } else {
      "the system's CA certificates do not contain the issuer: install ca-certificates, or give the issuer with --ca FILE"
    }
  }

  private func handshakeEnded() -> TLSError {
    TLSError(.handshake, peer, reason: "the peer closed the connection during the handshake")
  }

  private func end() -> TLSProgress {
    usable = false
    return .closed
  }

  private func refuse(_ error: TLSError) -> TLSProgress {
    // After a fatal error OpenSSL forbids SSL_shutdown.
    usable = false
    return .failed(error)
  }
}
