import EventLoop
import OpenSSL

// The failures of sockets and TLS in the words of HTTP/2's callers.

extension ClientConnection {
  static func failure(_ error: SocketError, at endpoint: String) -> HTTP2Failure {
    let kind: HTTP2Failure.Kind =
      switch error.operation {
      case .resolve: .nameResolution
      case .connectInTime: .connectTimeout
      case .connect, .listen, .accept, .read, .write, .create: .connect
      }
    return HTTP2Failure(kind, endpoint: endpoint, reason: error.summary, remedy: error.remedy)
  }

  static func failure(_ error: TLSError, at endpoint: String, connecting: Bool, suffix: String = "") -> HTTP2Failure {
    let kind: HTTP2Failure.Kind =
      switch error.code {
      case .verification: .tlsVerification
      case .applicationProtocol: .alpn
      case .clientCertificate: .certificateRefused
      case .connection: connecting ? .tls : .connectionLost
      case .configuration, .handshake: connecting ? .tls : .connectionLost
      }
    return HTTP2Failure(kind, endpoint: endpoint, reason: error.reason + suffix, remedy: error.remedy)
  }
}
