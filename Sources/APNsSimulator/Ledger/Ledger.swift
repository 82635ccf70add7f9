/// Counts what happens, in memory that does not grow with the size of what it counts: 8 bytes of table slot for a device
/// token, 16 for an apns-id, twice to four times that for free slots.
struct Ledger: Sendable {
  private var counts = Summary()
  private var devices = CompactSet<UInt64>()
  private var acceptedMessages = CompactSet<UInt128>()
  private var providerTokens = CompactSet<UInt64>()
  private var lastProviderToken: UInt64 = 0

  /// Everything counted so far.
  var summary: Summary {
    var summary = counts
    summary.distinctDevices = devices.count
    summary.providerTokens = providerTokens.count
    return summary
  }

  /// Counts a device token as it stands in a path.
  mutating func sawDevice(_ token: Span<UInt8>) {
    if !token.isEmpty { devices.insert(Fingerprint.of(token, foldingCase: true)) }
  }

  /// Counts the value of an `authorization` field.
  mutating func sawProviderToken(_ value: Span<UInt8>) {
    let fingerprint = Fingerprint.of(value, foldingCase: false)
    if fingerprint == lastProviderToken { return }
    lastProviderToken = fingerprint
    providerTokens.insert(fingerprint)
  }

  /// Counts a request answered with 200, and its apns-id if it brought a well-formed one.
  mutating func accepted(messageID: UInt128?) {
    counts.requests += 1
    counts.accepted += 1
    if let messageID, !acceptedMessages.insert(messageID) { counts.duplicates += 1 }
  }

  /// Counts a request that was refused, or answered in another way, under that word.
  mutating func refused(_ reason: String, messageID: UInt128?) {
    counts.requests += 1
    counts.byReason[reason, default: 0] += 1
    if let messageID, acceptedMessages.contains(messageID) { counts.duplicates += 1 }
  }

  /// Counts a connection.
  mutating func connectionOpened() { counts.connections += 1 }

  /// Notes how many streams a connection has open.
  mutating func sawStreams(_ count: Int) {
    if count > counts.maxStreams { counts.maxStreams = count }
  }

  /// Counts a violation.
  mutating func violated(_ violation: Violation) { counts.violations[violation, default: 0] += 1 }
}
