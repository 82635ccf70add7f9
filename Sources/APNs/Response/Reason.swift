/// What an answer of APNs asks of the sender: the closed set that the table's rows choose from.
enum ReasonClass: Sendable {
  /// This push will never be accepted: a fault of the request.
  case drop
  /// The device is gone since the time that the answer gives.
  case gone
  /// The token does not fit environment or topic. Often our own mapping is wrong, so the worker's fuse decides whether
  /// devices are retired.
  case unfit
  /// The key cannot be used: everything of the team and key waits for a person.
  case holdKey
  /// The app cannot be used with this key: what it has to send waits for a person.
  case holdApp
  /// The provider token is too old, or a clock is wrong: once more with another token or on another connection.
  case newProviderToken
  /// The connection cannot be used: once more on a new one.
  case reconnect
  /// The key does not fit this connection: once more on a new one; refused there too, the app cannot be used with this
  /// key.
  case ownConnection
  /// This device has had too many pushes: later, by minutes.
  case waitDevice
  /// APNs takes no new provider tokens for now: later, with the one before.
  case waitProviderToken
  /// APNs has a problem: later.
  case wait
}

/// One row of the table of reasons.
struct Reason: Sendable {
  /// The HTTP status that Apple documents for it.
  let status: Int
  /// The word on the wire.
  let text: String
  /// What it asks of the sender.
  let kind: ReasonClass
  /// One sentence for whoever stands before it: what is wrong and what to do.
  let remedy: String

  init(_ status: Int, _ text: String, _ kind: ReasonClass, _ remedy: String) {
    self.status = status
    self.text = text
    self.kind = kind
    self.remedy = remedy
  }
}
