import Operations

/// What the ledger is told about one request.
struct LedgerEntry: Sendable {
  /// ``Fingerprint`` of the device token in the path; nil when there is none.
  var device: UInt64?
  /// ``Fingerprint`` of the value of `authorization`.
  var providerToken: UInt64?
  /// The apns-id that the request brought; nil when it brought none that is well-formed.
  var messageID: UInt128?
  /// A GOAWAY had left out the same push: it may come again.
  var wasLeftOut = false
  /// Nil: accepted. Otherwise the word to count it under.
  var outcome: String?
}

/// Counts what happens, in memory that does not grow with the size of what it counts: 8 bytes of table slot for a device
/// token, 16 for an apns-id, twice to four times that for free slots.
struct Ledger: Sendable {
  private var counts = Summary()
  private var devices = CompactSet<UInt64>()
  private var acceptedMessages = CompactSet<UInt128>()
  private var providerTokens = CompactSet<UInt64>()
  private var lastProviderToken: UInt64 = 0
  private var storms = ConnectStormWatch()

  /// Everything counted so far.
  var summary: Summary {
    var summary = counts
    summary.distinctDevices = devices.count
    summary.providerTokens = providerTokens.count
    if counts.duplicates > 0 { summary.violations[.duplicate] = counts.duplicates }
    return summary
  }

  /// Counts a request and what became of it.
  mutating func record(_ entry: LedgerEntry) {
    counts.requests += 1
    if let device = entry.device { devices.insert(device) }
    if let token = entry.providerToken, token != lastProviderToken {
      lastProviderToken = token
      providerTokens.insert(token)
    }
    if let word = entry.outcome {
      counts.byReason[word, default: 0] += 1
      if let id = entry.messageID, !entry.wasLeftOut, acceptedMessages.contains(id) { counts.duplicates += 1 }
    } else {
      counts.accepted += 1
      if let id = entry.messageID, !acceptedMessages.insert(id), !entry.wasLeftOut { counts.duplicates += 1 }
    }
  }

  /// Takes back an acceptance that the client is not told of, since a GOAWAY left its stream out.
  mutating func leftOut() {
    counts.accepted -= 1
    counts.byReason["left out", default: 0] += 1
  }

  /// Counts a connection.
  mutating func connectionOpened(at now: MonotonicTime) {
    counts.connections += 1
    if storms.isStorm(at: now) { violated(.connectStorm) }
  }

  /// Remembers the end of a connection.
  mutating func connectionClosed(at now: MonotonicTime) { storms.connectionClosed(at: now) }

  /// Remembers how many streams a connection had open at once.
  mutating func opened(streams: Int) { counts.maxStreams = max(counts.maxStreams, streams) }

  /// Counts a violation.
  mutating func violated(_ violation: Violation) { counts.violations[violation, default: 0] += 1 }
}
