public import Operations

/// The last attempt of each device of a page, out of packed receipts. A value: chunks come in, later attempts first.
public struct LastAttempts: Sendable {
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

  /// The first receipt that came for each device, by ascending id.
  public var receipts: [Receipt] {
    let order = all.indices.sorted { (all[$0].deviceID, $0) < (all[$1].deviceID, $1) }
    var result: [Receipt] = []
    result.reserveCapacity(order.count)
    for index in order where result.last?.deviceID != all[index].deviceID { result.append(all[index]) }
    return result
  }
}
