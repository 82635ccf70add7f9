import Operations
import Testing

@testable import APNsSimulator

@Suite("Counting")
struct LedgerTests {
  @Test("a compact set holds what was put in, each once", .timeLimit(.minutes(1)))
  func compactSet() {
    var set = CompactSet<UInt128>()
    let numbers = (0..<50_000).map { UInt128($0) << 70 | UInt128($0 / 2) }

    let inserted = numbers.count { set.insert($0) }
    let again = numbers.count { set.insert($0) }

    #expect(inserted == 50_000)
    #expect(again == 0)
    #expect(set.count == 50_000)
    #expect(numbers.allSatisfy { set.contains($0) })
    #expect(!set.contains(UInt128(1) << 127))
  }

  @Test("device tokens in upper and lower case are one device; ids compare in either case")
  func fingerprints() {
    #expect(
      Fingerprint.of(Array("0A0b".utf8).span, foldingCase: true)
        == Fingerprint.of(Array("0a0B".utf8).span, foldingCase: true))
    #expect(
      Fingerprint.of(Array("0a0b".utf8).span, foldingCase: true)
        != Fingerprint.of(Array("0a0c".utf8).span, foldingCase: true))
    #expect(
      Fingerprint.uuid(Array("123e4567-e89b-12d3-a456-4266554400a0".utf8).span)
        == 0x123e_4567_e89b_12d3_a456_4266_5544_00a0)
    #expect(Fingerprint.uuid(Array("123e4567-e89b-12d3-a456+4266554400a0".utf8).span) == nil)
    #expect(Fingerprint.uuid(Array("123e4567e89b12d3a4564266554400a0".utf8).span) == nil)
  }

  @Test("a request is a duplicate only when its apns-id was accepted before")
  func duplicates() {
    var ledger = Ledger()

    ledger.record(LedgerEntry(messageID: 7, outcome: "BadPriority"))
    ledger.record(LedgerEntry(messageID: 7))
    ledger.record(LedgerEntry(messageID: 8))
    ledger.record(LedgerEntry())
    ledger.record(LedgerEntry(messageID: 7))
    ledger.record(LedgerEntry(messageID: 7, outcome: "BadPriority"))

    #expect(ledger.summary.requests == 6)
    #expect(ledger.summary.accepted == 4)
    #expect(ledger.summary.byReason == ["BadPriority": 2])
    #expect(ledger.summary.duplicates == 2)
  }

  @Test("the summary is one line of JSON with every count")
  func json() {
    var ledger = Ledger()
    ledger.connectionOpened(at: MonotonicTime(nanoseconds: 1))
    ledger.record(LedgerEntry(device: 1, providerToken: 1, messageID: 1))
    ledger.record(LedgerEntry(device: 1, providerToken: 2, outcome: "BadTopic"))
    ledger.record(LedgerEntry(device: 2, providerToken: 1))
    for streams in [3, 2] { ledger.opened(streams: streams) }
    ledger.violated(.concurrentStreams)

    #expect(
      ledger.summary.json
        == #"{"requests":3,"accepted":2,"by_reason":{"BadTopic":1},"distinct_devices":2,"duplicates":0,"#
        + #""provider_tokens":2,"connections":1,"max_streams":3,"violations":{"concurrent_streams":1}}"#)
  }
}
