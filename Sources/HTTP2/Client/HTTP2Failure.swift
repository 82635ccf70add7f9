public import Operations

/// Why a request has no answer. A small value: the details are shared by all requests that failed for one reason.
public struct HTTP2Failure: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Kind: Sendable, Hashable {
    /// The origin's host name has no address, or the name server is silent.
    case nameResolution
    /// TCP was refused or reset, or the network is unreachable.
    case connect
    /// TCP or TLS was not established in time.
    case connectTimeout
    /// The peer's certificate was not accepted.
    case tlsVerification
    /// The peer refused the certificate that we present.
    case certificateRefused
    /// TLS failed for another reason.
    case tls
    /// The peer does not agree to HTTP/2.
    case alpn
    /// The proxy's name has no address, or no connection can be made there.
    case proxyUnreachable
    /// The proxy accepted TCP and did not answer in time.
    case proxyTimeout
    /// The proxy wants credentials, or others (407, of some proxies 401).
    case proxyAuthentication
    /// The proxy refused the tunnel with this status.
    case proxyRefused(UInt16)
    /// What should be the proxy closed the connection or gave no answer of HTTP/1.1.
    case proxyAnswer
    /// One side broke HTTP/2's rules; the connection is lost.
    case protocolError
    /// The connection broke or the peer closed it.
    case connectionLost
    /// The peer ended the connection with GOAWAY and did not process the request.
    case goaway
    /// The peer refused the stream before processing it.
    case refusedStream
    /// The peer reset the stream with this error code (RFC 9113 section 7).
    case streamReset(UInt32)
    /// The peer allows no streams.
    case noStreams
    /// No answer within the batch's response time.
    case requestTimeout
    /// The peer did not acknowledge a PING in time; the connection is lost.
    case pingTimeout
    /// The batch's `notAfter` came before the request could be sent.
    case deadline
    /// The peer takes fewer header bytes at the moment than the request has (SETTINGS_MAX_HEADER_LIST_SIZE).
    case headerListTooLarge
    /// The request cannot be sent as it is: a forbidden byte, or more header bytes than any frame holds.
    case invalidRequest
    /// The caller withdrew it before it was sent.
    case withdrawn
    /// The client was closed, or the origin removed.
    case closing
  }

  private final class Details: Sendable {
    let kind: Kind
    let endpoint: String
    let reason: String
    let remedy: String
    let duringConnect: Bool
    let retryNotBefore: MonotonicTime?

    init(_ kind: Kind, _ endpoint: String, _ reason: String, _ remedy: String, _ connect: Bool, _ retry: MonotonicTime?)
    {
      self.kind = kind
      self.endpoint = endpoint
      self.reason = reason
      self.remedy = remedy
      duringConnect = connect
      retryNotBefore = retry
    }
  }

  private let details: Details

  /// A failure by its parts.
  ///
  /// - Parameters:
  ///   - isConnectFailure: no usable connection came to be.
  ///   - retryNotBefore: when the origin will be tried again.
  public init(
    _ kind: Kind, endpoint: String, reason: String, remedy: String = "", isConnectFailure: Bool = false,
    retryNotBefore: MonotonicTime? = nil
  ) {
    details = Details(kind, endpoint, reason, remedy, isConnectFailure, retryNotBefore)
  }

  /// What happened.
  public var kind: Kind { details.kind }
  /// With whom: `host:port`.
  public var endpoint: String { details.endpoint }
  /// What is known.
  public var reason: String { details.reason }
  /// One sentence: what the reader can do; may be empty.
  public var remedy: String { details.remedy }
  /// Whether no usable connection to the origin could be made: it concerns every request of the origin, not this one.
  public var isConnectFailure: Bool { details.duringConnect }
  /// For a connect failure: the time before which the origin is not tried again.
  public var retryNotBefore: MonotonicTime? { details.retryNotBefore }

  /// One line for people; holds no secret and no request.
  public var description: String { "\(endpoint): \(reason)" + (remedy.isEmpty ? "" : "; \(remedy)") }

  func retrying(notBefore: MonotonicTime?) -> HTTP2Failure {
    HTTP2Failure(
      kind, endpoint: endpoint, reason: reason, remedy: remedy, isConnectFailure: true, retryNotBefore: notBefore)
  }
}
