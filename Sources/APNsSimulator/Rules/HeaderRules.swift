/// The `apns-…` fields, apart from topic and push type.
enum HeaderRules {
  /// The fields that may stand only once.
  static let single = [
    "authorization", "apns-topic", "apns-push-type", "apns-id", "apns-expiration", "apns-priority", "apns-collapse-id",
  ]

  static let collapseIDLimitBytes = 64

  /// Refuses a field of Apple's that stands twice, with the same value too.
  static func checkDuplicates(_ fields: [PushRequest.Field], of names: [String] = single) throws(Rejection) {
    for name in names where fields.count(where: { $0.name == name }) > 1 { throw Rejection(.duplicateHeaders) }
  }

  /// Whether the text is a UUID in the form 8-4-4-4-12; either case, as Apple's own ids come in upper case.
  static func isUUID(_ text: String) -> Bool {
    let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy { $0.hexDigitValue != nil } }
  }

  static func checkMessageID(_ value: String?, warnings: inout [String]) throws(Rejection) {
    guard let value else { return }
    guard isUUID(value) else { throw Rejection(.badMessageId) }
    if value != value.lowercased() { warnings.append("apns-id is not in lower case") }
  }

  static func checkRequestID(_ value: String?, warnings: inout [String]) throws(Rejection) {
    guard let value else { return }
    guard isUUID(value) else { throw Rejection(.badMessageId) }
    if value != value.lowercased() { warnings.append("apns-request-id is not in lower case") }
  }

  /// The channel that a broadcast or a call is about.
  static func channelID(_ request: PushRequest) throws(Rejection) -> String {
    guard let id = request.text("apns-channel-id") else { throw Rejection(.missingChannelId) }
    guard ChannelStore.isChannelID(id) else { throw Rejection(.badChannelId) }
    return id
  }

  /// Digits only, within 64 bits.
  /// - Returns: the seconds, or nil when the field is absent.
  static func checkExpiration(
    _ value: [UInt8]?, nowSeconds: Int64, stored: Storage = .push, warnings: inout [String]
  ) throws(Rejection) -> Int64? {
    guard let value else { return nil }
    guard !value.isEmpty, value.allSatisfy(\.isDecimalDigit),
      let seconds = Int64(String(decoding: value, as: UTF8.self))
    else { throw Rejection(.badExpirationDate) }
    if seconds > nowSeconds + stored.limitSeconds {
      warnings.append(
        seconds > 100_000_000_000
          ? "apns-expiration looks like milliseconds; it is in seconds"
          : "apns-expiration is more than \(stored.limit) ahead; APNs stores a \(stored) for \(stored.limit) at most")
    } else if seconds != 0, seconds < nowSeconds {
      warnings.append("apns-expiration is in the past")
    }
    return seconds
  }

  /// What APNs stores for devices that are offline; the raw value is its name in a warning.
  enum Storage: String, CustomStringConvertible {
    case push
    case broadcast

    var limitSeconds: Int64 { self == .push ? 30 * 24 * 3600 : 8 * 3600 }
    var limit: String { self == .push ? "30 days" : "8 hours" }
    var description: String { rawValue }
  }

  /// 10, 5 or 1, and what the push type says about it.
  static func checkPriority(_ value: String?, type: PushType?, warnings: inout [String]) throws(Rejection) {
    guard let priority = ["10": 10, "5": 5, "1": 1][value ?? "10"] else { throw Rejection(.badPriority) }
    guard let type, let allowed = type.priorities, !allowed.contains(priority) else { return }
    if type.enforcesPriority { throw Rejection(.badPriority) }
    warnings.append("apns-priority \(priority) is not one of those for \(type.rawValue) pushes")
  }

  static func checkCollapseID(_ value: [UInt8]?, warnings: inout [String]) throws(Rejection) {
    guard let value else { return }
    guard value.count <= collapseIDLimitBytes else { throw Rejection(.badCollapseId) }
    if value.isEmpty { warnings.append("apns-collapse-id is empty") }
    if value.contains(where: { $0 < 0x20 || $0 > 0x7E }) { warnings.append("apns-collapse-id is not plain ASCII") }
  }
}
