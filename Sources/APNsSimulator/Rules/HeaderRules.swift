/// The `apns-…` fields, apart from topic and push type.
enum HeaderRules {
  /// The fields that may stand only once.
  static let single = [
    "authorization", "apns-topic", "apns-push-type", "apns-id", "apns-expiration", "apns-priority", "apns-collapse-id",
  ]

  static let collapseIDLimitBytes = 64

  /// Refuses a field of Apple's that stands twice, with the same value too.
  static func checkDuplicates(_ fields: [PushRequest.Field]) throws(Rejection) {
    for name in single where fields.count(where: { $0.name == name }) > 1 { throw Rejection(.duplicateHeaders) }
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

  /// Digits only, within 64 bits.
  /// - Returns: the seconds, or nil when the field is absent.
  static func checkExpiration(
    _ value: [UInt8]?, nowSeconds: Int64, warnings: inout [String]
  ) throws(Rejection) -> Int64? {
    guard let value else { return nil }
    guard !value.isEmpty, value.allSatisfy(\.isDecimalDigit),
      let seconds = Int64(String(decoding: value, as: UTF8.self))
    else { throw Rejection(.badExpirationDate) }
    if seconds > nowSeconds + storageLimitSeconds {
      warnings.append(
        seconds > 100_000_000_000
          ? "apns-expiration looks like milliseconds; it is in seconds"
          : "apns-expiration is more than 30 days ahead; APNs stores a push for 30 days at most")
    } else if seconds != 0, seconds < nowSeconds {
      warnings.append("apns-expiration is in the past")
    }
    return seconds
  }

  private static let storageLimitSeconds: Int64 = 30 * 24 * 3600

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
