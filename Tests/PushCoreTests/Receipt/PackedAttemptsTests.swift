import Operations
import Testing

@testable import PushCore

@Suite("Reading receipts back")
struct PackedAttemptsTests {
  @Test("of several attempts the one that comes first counts, within the page alone, by ascending id")
  func lastAttempts() {
    func ids(_ numbers: Int64...) -> [DeviceID] { numbers.map { DeviceID($0) } }
    var attempts = PackedAttempts(after: DeviceID(1), end: DeviceID(5))
    attempts.add(ReceiptChunk(devices: ids(3), exceptions: []), at: UnixMilliseconds(2))
    attempts.add(
      ReceiptChunk(
        devices: ids(1, 3, 4, 5, 6),
        exceptions: [
          .init(index: 1, status: 503, reason: .timeout, outcome: .pending),
          .init(index: 3, status: 410, reason: ReasonID(1), outcome: .rejected),
        ]), at: UnixMilliseconds(1))

    let receipts = attempts.receipts(.last)

    #expect(receipts.map(\.deviceID) == ids(3, 4, 5))
    #expect(receipts.map(\.outcome) == [.accepted, .accepted, .rejected])
    #expect(receipts.map(\.status) == [200, 200, 410])
    #expect(receipts.map(\.at.value) == [2, 1, 1])
    let all = attempts.receipts(.all)
    #expect(all.map(\.deviceID) == ids(3, 3, 4, 5))
    #expect(all.map(\.outcome) == [.pending, .accepted, .accepted, .rejected])
  }

  @Test("what is said of a device goes to each of its receipts; only a last attempt that is pending is settled")
  func changes() {
    var attempts = PackedAttempts(after: DeviceID(0), end: DeviceID(9))
    let pending = ReceiptChunk.Exception(index: 0, status: 0, reason: .timeout, outcome: .pending)
    for _ in 0..<2 {
      attempts.add(ReceiptChunk(devices: [DeviceID(3)], exceptions: [pending]), at: UnixMilliseconds(1))
    }
    attempts.add(ReceiptChunk(devices: [DeviceID(2), DeviceID(7)], exceptions: []), at: UnixMilliseconds(1))
    var receipts = attempts.receipts(.all)

    receipts.settlePending(as: .expired)
    var next = 0
    for device in [1, 3, 7, 8] as [Int64] {
      receipts.change(DeviceID(device), from: &next) { $0.attempts = Int(device) }
    }

    #expect(receipts.map(\.outcome) == [.accepted, .pending, .expired, .accepted])
    #expect(receipts.map(\.attempts) == [nil, 3, 3, 7])
  }

  @Test("the state of a notification follows from its row and its open tasks")
  func states() {
    func state(
      canceled: Bool = false, done: Bool = false, leased: Bool = false, ready: Bool = false, held: Bool = false,
      receipts: Bool = false, due: Bool = true
    ) -> NotificationState {
      NotificationState(
        isCanceled: canceled, isDone: done, isLeased: leased, isReady: ready, isHeld: held, hasReceipts: receipts,
        isDue: due)
    }

    #expect(state(canceled: true, done: true) == .canceled)
    #expect(state(done: true) == .done)
    #expect(state(leased: true, held: true) == .sending)
    #expect(state(ready: true, receipts: true) == .sending)
    #expect(state(ready: true) == .queued)
    #expect(state(ready: true, due: false) == .scheduled)
    #expect(state(held: true, receipts: true) == .held)
    #expect(state() == .parked)
  }
}
