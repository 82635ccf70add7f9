import Operations
import PushCore

/// Reads the next devices of a task from the store.
struct WalkReader: Sendable {
  let store: any Store
  /// The most devices of one step.
  let limit: Int

  /// One step of a walk: devices to send to, devices that leave at once, and how far the step went.
  struct Step: Sendable {
    var devices = DeviceWindow()
    /// Devices that get no push: named ones that are retired, and those a retry no longer reaches.
    var skipped: [(id: DeviceID, reason: ReasonID)] = []
    var through: DeviceID
    var isAtEnd: Bool
  }

  /// The step behind `after`.
  func step(
    of task: LeasedTask, target: PackedTarget, credentials: [CredentialID], after: DeviceID
  ) async throws(StoreError) -> Step {
    if let list = task.list { return try await listStep(list, of: task, target: target, after: after) }
    return try await rangeStep(of: task, target: target, credentials: credentials, after: after)
  }

  private func rangeStep(
    of task: LeasedTask, target: PackedTarget, credentials: [CredentialID], after: DeviceID
  ) async throws(StoreError) -> Step {
    var parts: [WalkMerge.Part] = []
    for source in sources(of: target) {
      let window = try await store.walk(
        WalkRequest(
          source: source, after: after, hi: task.hi, sequenceLimit: task.sequenceLimit, credentials: credentials,
          limit: limit))
      parts.append(.init(window: window, through: window.count >= limit ? window.ids.last ?? task.hi : task.hi))
    }
    let named = Self.next(limit, of: target.devices, after: after, through: task.hi)
    var missing = Set(named.ids)
    if !named.ids.isEmpty {
      let read = try await store.readDevices(named.ids, of: target)
      missing.subtract(read.ids)
      parts.append(.init(window: read, through: named.isFull ? named.ids.last ?? task.hi : task.hi))
    }
    let merged = WalkMerge.merge(parts, hi: task.hi)
    var step = Step(through: merged.through, isAtEnd: merged.through >= task.hi)
    for index in 0..<merged.window.count {
      if merged.window.isRetired[index] {
        step.skipped.append((merged.window.ids[index], .deviceRetired))
      } else {
        step.devices.append(index, of: merged.window)
      }
    }
    for id in missing where id <= merged.through { step.skipped.append((id, .deviceRetired)) }
    step.skipped.sort { $0.id < $1.id }
    return step
  }

  private func listStep(
    _ list: [DeviceID], of task: LeasedTask, target: PackedTarget, after: DeviceID
  ) async throws(StoreError) -> Step {
    let page = Self.next(limit, of: list, after: after, through: task.hi)
    var step = Step(through: page.isFull ? page.ids.last ?? task.hi : task.hi, isAtEnd: !page.isFull)
    guard !page.ids.isEmpty else { return step }
    let read = try await store.readDevices(page.ids, of: target)
    let named = Set(target.devices)
    var next = 0
    for id in page.ids {
      while next < read.count, read.ids[next] < id { next += 1 }
      guard next < read.count, read.ids[next] == id, !read.isRetired[next] else {
        step.skipped.append((id, .deviceRetired))
        continue
      }
      if target.hasMembership, !read.isMember[next], !named.contains(id), !target.everyone {
        step.skipped.append((id, .noLongerTargeted))
      } else {
        step.devices.append(next, of: read)
      }
    }
    return step
  }

  private func sources(of target: PackedTarget) -> [WalkSource] {
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
