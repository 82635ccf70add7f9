import Operations

/// Names one scheduled timer.
public struct TimerID: Sendable, Hashable {
  let slot: Int
  let generation: UInt64
}

/// Timers in the order of their deadlines, those of one deadline as they were set: a binary heap, with canceled entries
/// left in it until they come up or are half of it. A value without a clock.
struct TimerQueue<Payload> {
  private struct Entry {
    let deadline: MonotonicTime
    let number: UInt64
    let id: TimerID

    func comes(before other: Entry) -> Bool {
      deadline == other.deadline ? number < other.number : deadline < other.deadline
    }
  }

  private var heap: [Entry] = []
  private var payloads: [(generation: UInt64, payload: Payload?)] = []
  private var freeSlots: [Int] = []
  private var canceled = 0
  private var lastNumber: UInt64 = 0

  /// Timers that are still wanted.
  var count: Int { payloads.count - freeSlots.count }

  /// The earliest deadline that is still wanted.
  var nextDeadline: MonotonicTime? {
    mutating get {
      dropCanceledTop()
      return heap.first?.deadline
    }
  }

  mutating func schedule(at deadline: MonotonicTime, _ payload: Payload) -> TimerID {
    let slot: Int
    if let free = freeSlots.popLast() {
      slot = free
    } else {
      slot = payloads.count
      payloads.append((0, nil))
    }
    payloads[slot].payload = payload
    let id = TimerID(slot: slot, generation: payloads[slot].generation)
    lastNumber += 1
    heap.append(Entry(deadline: deadline, number: lastNumber, id: id))
    siftUp(heap.count - 1)
    return id
  }

  /// Forgets a timer; false when it is no longer there.
  @discardableResult
  mutating func cancel(_ id: TimerID) -> Bool {
    guard isLive(id) else { return false }
    release(id.slot)
    canceled += 1
    if canceled > 32, canceled > heap.count / 2 {
      heap = heap.filter { isLive($0.id) }.sorted { $0.comes(before: $1) }
      canceled = 0
    }
    return true
  }

  /// Takes the earliest timer due at `now`.
  mutating func popDue(_ now: MonotonicTime) -> Payload? {
    dropCanceledTop()
    guard let first = heap.first, first.deadline <= now else { return nil }
    removeTop()
    let payload = payloads[first.id.slot].payload
    release(first.id.slot)
    return payload
  }

  private func isLive(_ id: TimerID) -> Bool {
    id.slot < payloads.count && payloads[id.slot].generation == id.generation && payloads[id.slot].payload != nil
  }

  private mutating func release(_ slot: Int) {
    payloads[slot].payload = nil
    payloads[slot].generation += 1
    freeSlots.append(slot)
  }

  private mutating func dropCanceledTop() {
    while let first = heap.first, !isLive(first.id) {
      removeTop()
      canceled -= 1
    }
  }

  private mutating func removeTop() {
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap[0] = last
    siftDown()
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].comes(before: heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].comes(before: heap[least]) { least = child }
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
