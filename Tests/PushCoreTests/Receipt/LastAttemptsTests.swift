import Operations
import Testing

@testable import PushCore

@Suite("Reading receipts back")
struct LastAttemptsTests {
  @Test("of several attempts the one that comes first counts, within the page alone, by ascending id")
  func lastAttempts() {
    func ids(_ numbers: Int64...) -> [DeviceID] { numbers.map { DeviceID($0) } }
    var attempts = LastAttempts(after: DeviceID(1), end: DeviceID(5))
    attempts.add(ReceiptChunk(devices: ids(3), exceptions: []), at: UnixMilliseconds(2))
    attempts.add(
      ReceiptChunk(
        devices: ids(1, 3, 4, 5, 6),
        exceptions: [
          .init(index: 1, status: 503, reason: .timeout, outcome: .pending),
          .init(index: 3, status: 410, reason: ReasonID(1), outcome: .rejected),
        ]), at: UnixMilliseconds(1))

    let receipts = attempts.receipts

    #expect(receipts.map(\.deviceID) == ids(3, 4, 5))
    #expect(receipts.map(\.outcome) == [.accepted, .accepted, .rejected])
    #expect(receipts.map(\.status) == [200, 200, 410])
    #expect(receipts.map(\.at.value) == [2, 1, 1])
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
