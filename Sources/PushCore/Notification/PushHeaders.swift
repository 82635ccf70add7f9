import JSON

/// The headers of a notification that are the same for each of its devices, as the store keeps them.
///
/// The topic stands with the app, `apns-expiration` follows from the notification's deadline, `apns-id` from
/// notification and device unless the sender chose it, `authorization` from the credential.
public struct PushHeaders: Sendable, Equatable {
  /// `apns-push-type`, always sent.
  public var pushType: PushType
  /// `apns-priority`, always sent.
  public var priority: Priority
  /// `apns-collapse-id`, at most 64 bytes; nil stands for the notification's id.
  public var collapseID: String?
  /// Whether `apns-expiration: 0` is sent: one attempt, never stored by APNs.
  public var expiresImmediately: Bool
  /// `apns-id` when the sender chose it, for a push to one device; nil: it follows from notification and device.
  public var apnsID: String?

  /// The headers by their values.
  public init(
    pushType: PushType, priority: Priority, collapseID: String? = nil,
    expiresImmediately: Bool = false,
    apnsID: String? = nil
  ) {
    self.pushType = pushType
    self.priority = priority
    self.collapseID = collapseID
    self.expiresImmediately = expiresImmediately
    self.apnsID = apnsID
  }

  /// The stored form: a small JSON object.
  public var encoded: [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.member("push_type", pushType.rawValue)
      $0.member("priority", priority.rawValue)
      if let collapseID { $0.member("collapse_id", collapseID) }
      if expiresImmediately { $0.member("expiration", 0) }
      if let apnsID { $0.member("apns_id", apnsID) }
    }
    return writer.bytes
  }

  /// Reads the stored form; nil when the bytes are none that any version wrote.
  public init?(encoded: [UInt8]) {
    // An unreadable row is reported by the caller with its notification id; the parser's position would not help.
    guard let value = try? JSONValue(parsing: encoded),
      let pushType = value["push_type"]?.string.flatMap(PushType.init(rawValue:)),
      let priority = value["priority"]?.integer.flatMap({ UInt8(exactly: $0) }).flatMap(
        Priority.init(rawValue:))
    else { return nil }
    self.init(
      pushType: pushType, priority: priority, collapseID: value["collapse_id"]?.string,
      expiresImmediately: value["expiration"]?.integer == 0, apnsID: value["apns_id"]?.string)
  }
}
