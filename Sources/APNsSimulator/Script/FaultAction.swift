import HTTP2
import JSON
import Operations

/// A row of the table of actions: a name of a rule's `do`, when it is possible, and how its value is read.
struct FaultAction: Sendable {
  typealias Reading = @Sendable (JSONValue, inout ScriptReader, inout FaultEffect) -> Void

  let name: String
  let moments: [FaultMoment]
  let read: Reading

  private init(_ name: String, _ moments: FaultMoment..., read: @escaping Reading) {
    self.name = name
    self.moments = moments
    self.read = read
  }

  /// Every action there is.
  static let all = [
    // The answer.
    FaultAction("status", .request) { $2.status = $1.integer($0, 200...999) },
    FaultAction("reason", .request) { $2.reason = $1.string($0) },
    FaultAction("timestamp", .request) { $2.timestamp = $1.timestamp($0) },
    FaultAction("body", .request) { $2.body = $1.string($0).map { Array($0.utf8) } },
    FaultAction("body_bytes", .request) { value, reader, effect in
      effect.body = reader.integer(value, 1...16_777_216).map { [UInt8](repeating: UInt8(ascii: "x"), count: $0) }
    },
    FaultAction("headers", .request) { $2.fields = $1.fields($0) },
    FaultAction("apns_id", .request) { $2.messageID = $1.messageID($0) },
    FaultAction("delay", .request) { $2.delay = $1.duration($0) },
    FaultAction("answer_after_request", .request) { $2.heldUntilRequest = $1.integer($0, 1...1_000_000_000) },
    FaultAction("answer_before_body", .request) { $2.isEarly = $1.flag($0) },
    FaultAction("never_answer", .request) { $2.neverAnswers = $1.flag($0) },
    FaultAction("withhold_body", .request) { $2.withholdsBody = $1.flag($0) },
    FaultAction("rst_stream", .request) { $2.resets = $1.errorCodes($0) },
    FaultAction("rst_stream_after_answer", .request) { $2.resetAfterAnswer = $1.errorCode($0) },
    // The connection.
    FaultAction("settings", .request, .connection) { $2.settings = $1.settings($0) },
    FaultAction("goaway", .request) { $2.goAways = $1.goAways($0) },
    FaultAction("ping", .request) { $2.pings = $1.flag($0) },
    FaultAction("close", .request) { $2.close = $1.word($0) },
    FaultAction("half_dead", .request, .connection) { $2.fallsSilent = $1.flag($0) },
    // The simulator.
    FaultAction("clock", .request) { $2.clockOffset = $1.offset($0).map { .milliseconds($0) } },
    FaultAction("revoke_key", .request) { value, reader, effect in
      if let keyID = reader.string(value) { effect.credentials.append(.revoke(keyID: keyID)) }
    },
    FaultAction("remove_topic", .request) { value, reader, effect in
      if let change = reader.removedTopic(value) { effect.credentials.append(change) }
    },
    FaultAction("switch_environment", .request) { value, reader, effect in
      if let change = reader.switchedEnvironment(value) { effect.credentials.append(change) }
    },
    FaultAction("broadcast_capability", .request) { value, reader, effect in
      if let change = reader.broadcastCapability(value) { effect.credentials.append(change) }
    },
    // The beginning of a connection.
    FaultAction("refuse", .connection) { $2.refuses = $1.flag($0) },
    FaultAction("certificate", .connection) { $2.tls.certificate = $1.word($0) },
    FaultAction("tls", .connection) { $2.tls.version = $1.word($0) },
    FaultAction("alpn", .connection) { $2.tls.applicationProtocol = $1.word($0) },
    FaultAction("revoke_certificate", .connection) { $2.tls.revokesClientCertificate = $1.flag($0) },
    FaultAction("slow_handshake", .connection) { $2.handshakeDelay = $1.duration($0) },
    FaultAction("slow_settings", .connection) { $2.settingsDelay = $1.duration($0) },
    FaultAction("no_settings", .connection) { $2.sendsNoSettings = $1.flag($0) },
    FaultAction("no_window_update", .connection) { $2.updatesWindows = !$1.flag($0) },
  ]

  /// The row of a name.
  static func named(_ name: String) -> FaultAction? { all.first { $0.name == name } }
}

/// The parameters of SETTINGS (RFC 9113 section 6.5.2) by their names, with the range of their values.
enum SettingName: String, CaseIterable {
  case headerTableSize = "header_table_size"
  case maxConcurrentStreams = "max_concurrent_streams"
  case initialWindowSize = "initial_window_size"
  case maxFrameSize = "max_frame_size"
  case maxHeaderListSize = "max_header_list_size"

  var identifier: UInt16 {
    switch self {
    case .headerTableSize: 1
    case .maxConcurrentStreams: 3
    case .initialWindowSize: 4
    case .maxFrameSize: 5
    case .maxHeaderListSize: 6
    }
  }

  var range: ClosedRange<Int> {
    switch self {
    case .headerTableSize: 0...65536
    case .maxConcurrentStreams, .initialWindowSize: 0...0x7FFF_FFFF
    case .maxFrameSize: 16384...16_777_215
    // The server keeps no more than this of any request.
    case .maxHeaderListSize: 0...8000
    }
  }
}

/// The error codes of RFC 9113 section 7 by their names on paper, in the order of their numbers from 0.
enum HTTP2ErrorName: String, CaseIterable {
  case noError = "NO_ERROR"
  case protocolError = "PROTOCOL_ERROR"
  case internalError = "INTERNAL_ERROR"
  case flowControlError = "FLOW_CONTROL_ERROR"
  case settingsTimeout = "SETTINGS_TIMEOUT"
  case streamClosed = "STREAM_CLOSED"
  case frameSizeError = "FRAME_SIZE_ERROR"
  case refusedStream = "REFUSED_STREAM"
  case cancel = "CANCEL"
  case compressionError = "COMPRESSION_ERROR"
  case connectError = "CONNECT_ERROR"
  case enhanceYourCalm = "ENHANCE_YOUR_CALM"
  case inadequateSecurity = "INADEQUATE_SECURITY"
  case http11Required = "HTTP_1_1_REQUIRED"

  /// The number of a name.
  static func code(of name: String) -> UInt32? { allCases.firstIndex { $0.rawValue == name }.map { UInt32($0) } }
}
