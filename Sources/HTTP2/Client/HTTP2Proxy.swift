import OpenSSL
import Operations

/// An HTTP proxy on the way to an origin: it is asked for a tunnel by CONNECT, and TLS goes through that to the origin itself.
public struct HTTP2Proxy: Sendable, Equatable {
  /// A DNS name or an IP address.
  public let host: String
  /// The TCP port.
  public let port: UInt16
  /// The value of the `proxy-authorization` field.
  let authorization: SecretText?

  /// A proxy by its parts.
  ///
  /// - Parameter credentials: sent as Basic authentication (RFC 7617); they hold no control character, the user no colon.
  public init(host: String, port: UInt16, credentials: (user: String, password: String)? = nil) {
    self.host = host
    self.port = port
    authorization = credentials.map { SecretText("Basic " + Base64.encode(Array("\($0.user):\($0.password)".utf8))) }
  }

  /// `host:port`.
  var endpoint: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
