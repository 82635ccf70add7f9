import Operations

// What every store makes of the chunks that it keeps.
extension ReceiptChunk {
  /// The receipts of the devices above `after` and up to `end`, without what a chunk does not hold.
  public func receipts(at time: UnixMilliseconds, after: DeviceID, through end: DeviceID) -> [Receipt] {
    var receipts: [Receipt] = []
    var exceptions = exceptions[...]
    for (index, device) in devices.enumerated() {
      let exception = exceptions.first.flatMap { $0.index == index ? $0 : nil }
      if exception != nil { exceptions.removeFirst() }
      guard device > after, device <= end else { continue }
      receipts.append(
        Receipt(
          deviceID: device, token: nil, environment: nil, outcome: exception?.outcome ?? .accepted,
          status: exception?.status ?? 200, reason: exception?.reason ?? .none, storedReason: nil, at: time,
          attempts: nil, latencyMilliseconds: nil, apnsUniqueID: nil))
    }
    return receipts
  }
}

extension [Receipt] {
  /// The first receipt of each device, ascending.
  public var firstOfEachDevice: [Receipt] {
    let order = indices.sorted { (self[$0].deviceID, $0) < (self[$1].deviceID, $1) }
    var result: [Receipt] = []
    result.reserveCapacity(order.count)
    for index in order where result.last?.deviceID != self[index].deviceID { result.append(self[index]) }
    return result
  }
}
