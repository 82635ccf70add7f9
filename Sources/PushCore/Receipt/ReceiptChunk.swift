/// The packed receipts of one flush of one task: version byte 1, the ids as delta varints, then for each device that was not
/// simply accepted its index, status, reason and outcome.
public struct ReceiptChunk: Sendable, Equatable {
  /// A device that was not simply accepted.
  public struct Exception: Sendable, Equatable {
    /// Its index among the chunk's devices.
    public var index: Int
    /// The HTTP status of APNs; 0 = APNs was not asked or did not answer.
    public var status: Int
    /// Why.
    public var reason: ReasonID
    /// What became of it.
    public var outcome: Outcome

    /// An exception by its values.
    public init(index: Int, status: Int, reason: ReasonID, outcome: Outcome) {
      self.index = index
      self.status = status
      self.reason = reason
      self.outcome = outcome
    }
  }

  /// The devices, ascending; not empty in a stored chunk.
  public var devices: [DeviceID]
  /// The exceptions, ascending by index.
  public var exceptions: [Exception]

  /// A chunk by its parts.
  public init(devices: [DeviceID], exceptions: [Exception]) {
    self.devices = devices
    self.exceptions = exceptions
  }

  /// The same receipts as about `count` chunks of equal size, in order.
  public func split(into count: Int) -> [ReceiptChunk] {
    let size = max((devices.count + count - 1) / max(count, 1), 1)
    var rest = exceptions[...]
    return stride(from: 0, to: devices.count, by: size).map { start in
      let end = min(start + size, devices.count)
      let mine = rest.prefix { $0.index < end }
      rest = rest.dropFirst(mine.count)
      return ReceiptChunk(
        devices: Array(devices[start..<end]),
        exceptions: mine.map {
          Exception(index: $0.index - start, status: $0.status, reason: $0.reason, outcome: $0.outcome)
        })
    }
  }

  /// The stored form (column `codes`).
  public var encoded: [UInt8] {
    var bytes: [UInt8] = [1]
    bytes.reserveCapacity(1 + devices.count * 3)
    DeltaVarint.append(ascending: devices.lazy.map(\.rawValue), to: &bytes)
    for exception in exceptions {
      DeltaVarint.append(UInt64(exception.index), to: &bytes)
      DeltaVarint.append(UInt64(exception.status), to: &bytes)
      DeltaVarint.append(UInt64(exception.reason.rawValue), to: &bytes)
      bytes.append(exception.outcome.rawValue)
    }
    return bytes
  }

  /// Reads the stored form; `count` is the column `n`. Nil when the bytes are none that this version knows.
  public init?(encoded: [UInt8], count: Int) {
    let bytes = encoded.span
    var index = 1
    guard bytes.count > 0, bytes[0] == 1, let ids = DeltaVarint.readAscending(bytes, &index, count: count)
    else { return nil }
    var exceptions: [Exception] = []
    while index < bytes.count {
      guard let position = DeltaVarint.read(bytes, &index), position < UInt64(count),
        let status = DeltaVarint.read(bytes, &index), status < 1000,
        let reason = DeltaVarint.read(bytes, &index), let reasonValue = Int32(exactly: reason),
        index < bytes.count, let outcome = Outcome(rawValue: bytes[index])
      else { return nil }
      index += 1
      exceptions.append(
        Exception(index: Int(position), status: Int(status), reason: ReasonID(reasonValue), outcome: outcome))
    }
    self.init(devices: ids.map(DeviceID.init), exceptions: exceptions)
  }
}
