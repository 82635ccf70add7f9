import HTTP2

/// What a rule does; what is nil or empty is left as it would be. Each member belongs to a row of ``FaultAction/all``.
public struct FaultEffect: Sendable, Equatable {
  /// The time in the body of a 410.
  enum Timestamp: Sendable, Equatable {
    case absent
    case at(Int64)
    /// So many milliseconds after the answer, or before it.
    case relative(Int64)
  }

  /// The `apns-id` of an answer.
  enum MessageID: Sendable, Equatable {
    case absent
    case text(String)
  }

  /// A GOAWAY.
  struct GoAway: Sendable, Equatable {
    /// Which stream it names.
    enum LastStream: Sendable, Equatable {
      case lastTakenUp
      case this
      case number(Int32)
    }

    /// What becomes of the connection.
    enum Ending: String, Sendable, Equatable, CaseIterable {
      case close
      case drain
      case stay
    }

    var lastStream = LastStream.lastTakenUp
    var errorCode: UInt32 = 0
    var debugData = Array(#"{"reason":"Shutdown"}"#.utf8)
    var after = Duration.zero
    var ending = Ending.drain
  }

  /// How a connection ends.
  enum Close: String, Sendable, Equatable, CaseIterable {
    case tls
    case fin
    case reset
  }

  /// What changes in the credentials before the request is judged.
  enum CredentialChange: Sendable, Equatable {
    case revoke(keyID: String)
    case removeTopic(String, keyID: String?)
    case environment(Environment?, keyID: String)
    case broadcast(isOn: Bool, bundleID: String)
  }

  // The answer.
  var status: Int?
  var reason: String?
  var timestamp: Timestamp?
  var body: [UInt8]?
  var fields: [String: String] = [:]
  var messageID: MessageID?
  var delay: Duration?
  var heldUntilRequest: Int?
  var isEarly = false
  var neverAnswers = false
  var withholdsBody = false
  var resets: [UInt32] = []
  var resetAfterAnswer: UInt32?

  // The connection.
  var settings: [ServerSetting] = []
  var goAways: [GoAway] = []
  var pings = false
  var close: Close?
  var fallsSilent = false

  // The simulator.
  var clockOffset: Duration?
  var credentials: [CredentialChange] = []

  // The beginning of a connection.
  var refuses = false
  var tls = TLSFault()
  var handshakeDelay: Duration?
  var settingsDelay: Duration?
  var sendsNoSettings = false
  var updatesWindows = true

  /// Nothing.
  public init() {}
}
