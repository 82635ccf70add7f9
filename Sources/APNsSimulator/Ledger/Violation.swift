import HTTP2

/// What a client does against the protocol or against Apple's advice, beyond a single refused request.
public enum Violation: String, Sendable, Hashable, CaseIterable {
  /// More streams at once than the settings that it has acknowledged allow.
  case concurrentStreams = "concurrent_streams"
  /// More streams at once than allowed, before it acknowledged the settings: it did not wait for them.
  case streamsBeforeSettings = "streams_before_settings"
  /// Header fields larger than SETTINGS_MAX_HEADER_LIST_SIZE.
  case headerListSize = "header_list_size"
  /// A second provider token for one key within 20 minutes.
  case providerTokenUpdates = "provider_token_updates"
  /// A connection without agreement on `h2`, or without TLS 1.2 or later.
  case handshake
  /// A frame or a message that HTTP/2 does not allow.
  case http2Protocol = "protocol"

  init(_ violation: ServerViolation) {
    self =
      switch violation {
      case .concurrentStreams: .concurrentStreams
      case .streamsBeforeSettings: .streamsBeforeSettings
      case .headerListSize: .headerListSize
      case .handshake: .handshake
      case .protocolError: .http2Protocol
      }
  }
}
