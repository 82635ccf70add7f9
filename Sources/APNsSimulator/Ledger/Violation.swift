import HTTP2

/// What a client does against the protocol or against Apple's advice, beyond a single refused request.
public enum Violation: String, Sendable, Hashable, CaseIterable {
  /// More streams at once than the settings that it has acknowledged allow.
  case concurrentStreams = "concurrent_streams"
  /// More streams at once than allowed, before it acknowledged the settings: it did not wait for them.
  case streamsBeforeSettings = "streams_before_settings"
  /// A request on a connection after its GOAWAY had arrived.
  case afterGoAway = "after_goaway"
  /// A push again after an answer that no repetition changes.
  case finalRetry = "final_retry"
  /// A push again before the time that `retry-after` asked for.
  case earlyRetry = "early_retry"
  /// An apns-id again after it had been accepted.
  case duplicate
  /// A new connection shortly after many others had ended.
  case connectStorm = "connect_storm"
  /// Header fields larger than SETTINGS_MAX_HEADER_LIST_SIZE.
  case headerListSize = "header_list_size"
  /// A second provider token for one key within 20 minutes.
  case providerTokenUpdates = "provider_token_updates"
  /// A connection without agreement on `h2`, or without TLS 1.2 or later.
  case handshake
  /// A handshake completed with a certificate or a version of TLS that no client may accept.
  case acceptedBadTLS = "accepted_bad_tls"
  /// A frame or a message that HTTP/2 does not allow.
  case http2Protocol = "protocol"

  init(_ violation: ServerViolation) {
    self =
      switch violation {
      case .concurrentStreams: .concurrentStreams
      case .streamsBeforeSettings: .streamsBeforeSettings
      case .afterGoAway: .afterGoAway
      case .headerListSize: .headerListSize
      case .handshake: .handshake
      case .acceptedBadTLS: .acceptedBadTLS
      case .protocolError: .http2Protocol
      }
  }
}
