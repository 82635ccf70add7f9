import Operations
import PushCore
import Testing

@testable import Delivery

@Suite("Progress of a task")
struct TaskProgressTests {
  private func task(lane: Lane = .bulk, list: [DeviceID]? = nil, attempt: Int = 0, tries: Int = 0) -> LeasedTask {
    LeasedTask(
      id: TaskID(1), notificationID: NotificationID(7), appID: AppID(1), credentialID: CredentialID(1), lane: lane,
      dueAt: UnixMilliseconds(0), attempt: attempt, tries: tries, lo: DeviceID(0), hi: DeviceID(100),
      cursor: DeviceID(0), sequenceLimit: 1 << 40, deviceCount: 0, settled: 5, epoch: 3, list: list,
      timeLeft: .seconds(60), isCanceled: false)
  }

  private func progress(rows: Bool = false, skip: [Int64] = [], attempt: Int = 0, tries: Int = 0) -> TaskProgress {
    TaskProgress(
      task: task(attempt: attempt, tries: tries), rowReceipts: rows, alreadySettled: skip.map(DeviceID.init))
  }

  private func open(_ progress: inout TaskProgress, _ ids: Int64...) -> [Int] {
    ids.compactMap {
      progress.open(id: DeviceID($0), credential: CredentialID(1), registeredAt: UnixMilliseconds(10))
    }
  }

  @Test("the cursor stays below the lowest open device, in whatever order the answers come")
  func cursor() {
    var progress = progress()
    let positions = open(&progress, 10, 20, 30)
    progress.walked(through: DeviceID(40), atEnd: false)

    progress.settle(positions[2], .init(outcome: .accepted, status: 200))
    #expect(progress.cursor == DeviceID(9))
    progress.settle(positions[0], .init(outcome: .accepted, status: 200))
    #expect(progress.cursor == DeviceID(19))
    progress.settle(positions[1], .init(outcome: .accepted, status: 200))
    #expect(progress.cursor == DeviceID(40))
  }

  @Test("devices settled by an earlier owner are not opened again")
  func recovered() {
    var progress = progress(skip: [20])

    let opened = open(&progress, 10, 20, 30)

    #expect(opened.count == 2)
    #expect(progress.openCount == 2)
  }

  @Test("a second answer for one device changes nothing")
  func onceOnly() {
    var progress = progress()
    let positions = open(&progress, 10, 20)

    progress.settle(positions[0], .init(outcome: .accepted, status: 200))
    progress.settle(positions[0], .init(outcome: .rejected, status: 400, reason: ReasonID(3)))

    #expect(progress.newsCount == 1)
    #expect(progress.openCount == 1)
  }

  @Test("a flush packs ascending ids with the exceptions at their places, and the fence counts on")
  func packed() {
    var progress = progress()
    let positions = open(&progress, 10, 20, 30, 40)
    progress.walked(through: DeviceID(100), atEnd: true)
    progress.settle(positions[3], .init(outcome: .accepted, status: 200))
    progress.settle(positions[1], .init(outcome: .rejected, status: 410, reason: ReasonID(35)))
    progress.settle(positions[0], .init(outcome: .accepted, status: 200))

    let flush = progress.takeFlush(ends: false, cut: false)

    let chunk = ReceiptChunk(
      devices: [10, 20, 40].map(DeviceID.init),
      exceptions: [.init(index: 1, status: 410, reason: ReasonID(35), outcome: .rejected)])
    #expect(flush.receipts == .packed(chunk))
    #expect(ReceiptChunk(encoded: chunk.encoded, count: 3) == chunk)
    #expect(flush.count == 3)
    #expect(flush.cursor == DeviceID(29))
    #expect(flush.settledBefore == 5)
    #expect(flush.counts.devices == 3)
    #expect(flush.counts.accepted == 2)
    #expect(flush.counts.rejected == 1)
    let next = progress.takeFlush(ends: false, cut: false)
    #expect(next.settledBefore == 8)
  }

  @Test("retries of one flush become one list per delay and credential, counted as tries")
  func lists() {
    var progress = progress(attempt: 1)
    let positions = open(&progress, 10, 20, 30)
    let retry = TaskProgress.NextAttempt(delay: .seconds(30), isCounted: true, isHeld: false)
    let held = TaskProgress.NextAttempt(delay: .zero, isCounted: false, isHeld: true)
    progress.settle(positions[2], .init(outcome: .pending, status: 503, reason: ReasonID(42), next: retry))
    progress.settle(positions[1], .init(outcome: .pending, reason: .held, next: held))
    progress.settle(positions[0], .init(outcome: .pending, status: 503, reason: ReasonID(42), next: retry))

    let flush = progress.takeFlush(ends: false, cut: false)

    #expect(
      flush.lists == [
        NewList(
          devices: [DeviceID(10), DeviceID(30)], delay: .seconds(30), credentialID: CredentialID(1), isCounted: true,
          isHeld: false),
        NewList(
          devices: [DeviceID(20)], delay: .zero, credentialID: CredentialID(1), isCounted: false, isHeld: true),
      ])
    #expect(flush.counts.devices == 0, "devices are counted in their first attempt only")
    #expect(flush.counts == Counts())
  }

  @Test("row receipts count a try only when a request was sent")
  func rows() {
    var progress = progress(rows: true, tries: 2)
    let positions = open(&progress, 10, 20)
    progress.settle(positions[0], .init(outcome: .accepted, status: 200, latencyMilliseconds: 12))
    progress.settle(positions[1], .init(outcome: .skipped, reason: .deviceRetired))

    guard case .rows(let rows) = progress.takeFlush(ends: true, cut: false).receipts else {
      Issue.record("no rows")
      return
    }
    #expect(rows.map(\.tries) == [3, 2])
    #expect(rows.map(\.latencyMilliseconds) == [12, nil])
  }

  @Test("a million devices leave no memory behind once they are settled")
  func bounded() {
    var progress = progress()
    for id in 1...100_000 as ClosedRange<Int64> {
      for position in open(&progress, id) { progress.settle(position, .init(outcome: .accepted, status: 200)) }
      if id.isMultiple(of: 1000) {
        progress.walked(through: DeviceID(id), atEnd: false)
        let cursor = progress.takeFlush(ends: false, cut: false).cursor
        #expect(cursor == DeviceID(id))
      }
    }
    #expect(progress.openCount == 0)
  }
}
