public import Operations

/// Which receipts of a device are read back.
public enum AttemptChoice: Sendable {
  /// That of the last attempt.
  case last
  /// Those of all attempts that were kept, the earliest first. Of small notifications only the last is kept.
  case all
}

/// The attempts of the devices of a page, out of packed receipts. A value: chunks come in, later attempts first.
public struct PackedAttempts: Sendable {
  private let after: DeviceID
  private let end: DeviceID
  private var all: [Receipt] = []

  /// A page of the devices behind `after`, up to `end`.
  public init(after: DeviceID, end: DeviceID) {
    self.after = after
    self.end = end
  }

  /// Adds the receipts of a chunk that was written at a time.
  public mutating func add(_ chunk: ReceiptChunk, at: UnixMilliseconds) {
    var exceptions = chunk.exceptions[...]
    for (index, device) in chunk.devices.enumerated() {
      let exception = exceptions.first.flatMap { $0.index == index ? $0 : nil }
      if exception != nil { exceptions.removeFirst() }
      guard device > after, device <= end else { continue }
      all.append(
        Receipt(
          deviceID: device, token: nil, environment: nil, outcome: exception?.outcome ?? .accepted,
          status: exception?.status ?? 200, reason: exception?.reason ?? .none, storedReason: nil, at: at,
          attempts: nil, latencyMilliseconds: nil, apnsUniqueID: nil))
    }
  }

  /// By ascending id of the devices: of each all receipts that came, backwards, or the first that came.
  public func receipts(_ choice: AttemptChoice) -> [Receipt] {
    let order = all.indices.sorted { (all[$0].deviceID, -$0) < (all[$1].deviceID, -$1) }
    guard choice == .last else { return order.map { all[$0] } }
    var result: [Receipt] = []
    result.reserveCapacity(order.count)
    for index in order.reversed() where result.last?.deviceID != all[index].deviceID { result.append(all[index]) }
    return result.reversed()
  }
}

extension [Receipt] {
  /// Changes the receipts of a device. Devices come in ascending order; `next` is how far they have come.
  public mutating func change(_ device: DeviceID, from next: inout Int, _ change: (inout Receipt) -> Void) {
    while next < count, self[next].deviceID <= device {
      if self[next].deviceID == device { change(&self[next]) }
      next += 1
    }
  }

  /// Gives the last attempts that are pending another outcome; earlier attempts were followed by another.
  public mutating func settlePending(as outcome: Outcome) {
    for index in indices where self[index].outcome == .pending {
      if index + 1 == count || self[index + 1].deviceID != self[index].deviceID { self[index].outcome = outcome }
    }
  }
}
