import HTTP2
import Operations

/// Counts requests and answers 200, as fast as it can: the far end of benchmarks.
///
/// No rule is checked, no text is made and nothing is allocated for a request that brings its apns-id.
final class CountingHandler: ServerHandler {
  private static let devicePrefixCount = RequestTarget.prefix.utf8.count

  private let ledger: Lock<Ledger>
  private let answerDelay: Duration
  private let clocks: any Clocks
  private var messageIDs = MessageIDs()

  init(ledger: Lock<Ledger>, answerDelay: Duration, clocks: any Clocks) {
    self.ledger = ledger
    self.answerDelay = answerDelay
    self.clocks = clocks
  }

  func connectionOpened(_ connection: UInt64) {
    let now = clocks.monotonicTime()
    ledger.withLock { $0.connectionOpened(at: now) }
  }

  func connectionClosed(_ connection: UInt64) {
    let now = clocks.monotonicTime()
    ledger.withLock { $0.connectionClosed(at: now) }
  }

  func opened(streams: Int, connection: UInt64) { ledger.withLock { $0.opened(streams: streams) } }

  func received(_ request: ServerRequest, reply: inout ServerReply) {
    var entry = LedgerEntry()
    var hasMessageID = false
    request.forEachField { name, value in
      // Within the fields of this interface length and one letter tell these three from all others.
      switch name.count {
      case 5 where name[1] == UInt8(ascii: "p"):
        entry.device = Self.device(value)
      case 7 where name[0] == UInt8(ascii: "a") && !hasMessageID:
        entry.messageID = Fingerprint.uuid(value)
        reply.addField("apns-id", value)
        hasMessageID = true
      case 13 where name[1] == UInt8(ascii: "u"):
        entry.providerToken = Fingerprint.of(value, foldingCase: false)
      default: break
      }
    }
    if !hasMessageID { reply.addField("apns-id", messageIDs.nextCounted().span) }
    reply.delay = answerDelay
    ledger.withLock { $0.record(entry) }
  }

  func violated(_ violation: ServerViolation, connection: UInt64) {
    ledger.withLock { $0.violated(Violation(violation)) }
  }

  private static func device(_ path: Span<UInt8>) -> UInt64? {
    guard path.count > devicePrefixCount else { return nil }
    return Fingerprint.of(path.extracting(devicePrefixCount..<path.count), foldingCase: true)
  }
}
