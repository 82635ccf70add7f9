import Operations
import PushCore

/// One step of a task's walk: what it asks the registry for, and what it makes of the answer. A value, without a store.
struct WalkStep: Sendable {
  /// What comes of a step: devices to send to, devices that leave at once, and how far it went.
  struct Result: Sendable {
    var devices = DeviceWindow()
    /// Devices that get no push: named ones that are retired, and those a retry no longer reaches.
    var skipped: [(id: DeviceID, reason: ReasonID)] = []
    var through: DeviceID
    var isAtEnd: Bool

    /// Gives each device the entry whose values it takes; who has none is not meant any more.
    mutating func choose(_ entries: [Int?]) {
      var chosen = DeviceWindow()
      for (index, entry) in entries.enumerated() {
        if let entry {
          chosen.append(index, of: devices, entry: entry)
        } else {
          skipped.append((devices.ids[index], .noLongerTargeted))
        }
      }
      devices = chosen
      skipped.sort { $0.id < $1.id }
    }
  }

  /// What is asked; the answers go to ``result(_:)`` in this order.
  let reads: [DeviceRead]
  private let task: LeasedTask
  private let target: PackedTarget
  private let limit: Int
  /// The ids of the step that are named: by the target, or by the task's list.
  private let named: (ids: [DeviceID], isFull: Bool)

  /// The step behind `after`, of at most `limit` devices.
  init(of task: LeasedTask, target: PackedTarget, credentials: [CredentialID], after: DeviceID, limit: Int) {
    self.task = task
    self.target = target
    self.limit = limit
    named = Self.next(limit, of: task.list ?? target.devices, after: after, through: task.hi)
    let walks =
      task.list != nil
      ? []
      : Self.sources(of: target).map { source in
        DeviceRead.walk(
          WalkRequest(
            source: source, after: after, hi: task.hi, sequenceLimit: task.sequenceLimit, credentials: credentials,
            limit: limit))
      }
    reads = walks + (named.ids.isEmpty ? [] : [.named(named.ids, of: target)])
  }

  /// What comes of the windows that ``reads`` were answered with.
  func result(_ windows: [DeviceWindow]) -> Result { task.list == nil ? rangeResult(windows) : listResult(windows) }

  private func rangeResult(_ windows: [DeviceWindow]) -> Result {
    var parts: [WalkMerge.Part] = []
    var missing = Set(named.ids)
    for (read, window) in zip(reads, windows) {
      switch read {
      case .walk:
        parts.append(.init(window: window, through: window.count >= limit ? window.ids.last ?? task.hi : task.hi))
      case .named:
        missing.subtract(window.ids)
        parts.append(.init(window: window, through: named.isFull ? named.ids.last ?? task.hi : task.hi))
      }
    }
    let merged = WalkMerge.merge(parts, hi: task.hi)
    var result = Result(through: merged.through, isAtEnd: merged.through >= task.hi)
    for index in 0..<merged.window.count {
      if merged.window.isRetired[index] {
        result.skipped.append((merged.window.ids[index], .deviceRetired))
      } else {
        result.devices.append(index, of: merged.window)
      }
    }
    for id in missing where id <= merged.through { result.skipped.append((id, .deviceRetired)) }
    result.skipped.sort { $0.id < $1.id }
    return result
  }

  private func listResult(_ windows: [DeviceWindow]) -> Result {
    var result = Result(through: named.isFull ? named.ids.last ?? task.hi : task.hi, isAtEnd: !named.isFull)
    guard let read = windows.first else { return result }
    let targeted = Set(target.devices)
    var next = 0
    for id in named.ids {
      while next < read.count, read.ids[next] < id { next += 1 }
      guard next < read.count, read.ids[next] == id, !read.isRetired[next] else {
        result.skipped.append((id, .deviceRetired))
        continue
      }
      if target.hasMembership, !read.isMember[next], !targeted.contains(id), !target.everyone {
        result.skipped.append((id, .noLongerTargeted))
      } else {
        result.devices.append(next, of: read)
      }
    }
    return result
  }

  private static func sources(of target: PackedTarget) -> [WalkSource] {
    if target.everyone { return [.everyone] }
    let users: [WalkSource] =
      target.users.isEmpty ? [] : [.users(target.users, unverifiedToo: target.reachesUnverifiedUsers)]
    return target.interests.map(WalkSource.interest) + users
  }

  /// The next ids of an ascending row within (after, through]; full when more follow.
  static func next(
    _ limit: Int, of ids: [DeviceID], after: DeviceID, through: DeviceID
  ) -> (ids: [DeviceID], isFull: Bool) {
    var low = 0
    var high = ids.count
    while low < high {
      let middle = (low + high) / 2
      if ids[middle] <= after { low = middle + 1 } else { high = middle }
    }
    let page = ids[low...].prefix(limit).prefix { $0 <= through }
    let isFull = page.count == limit && page.endIndex < ids.count && ids[page.endIndex] <= through
    return (Array(page), isFull)
  }
}
