/// Ascending numbers as differences in LEB128: the packed form of device ids in tasks, targets and receipts.
public enum DeltaVarint {
  /// Appends `value` as an unsigned LEB128 number.
  public static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Reads an unsigned LEB128 number and moves `index` past it; nil when the bytes end or the number passes 64 bits.
  public static func read(_ bytes: Span<UInt8>, _ index: inout Int) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while index < bytes.count, shift < 64 {
      let byte = bytes[index]
      index += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  /// Appends ascending ids; the first difference is from 0.
  public static func append(ascending ids: some Sequence<Int64>, to bytes: inout [UInt8]) {
    var last: Int64 = 0
    for id in ids {
      append(UInt64(id - last), to: &bytes)
      last = id
    }
  }

  /// Reads `count` ascending ids; nil when the bytes end early, the ids do not fit, or the count is no count.
  public static func readAscending(_ bytes: Span<UInt8>, _ index: inout Int, count: Int) -> [Int64]? {
    guard count >= 0, count <= bytes.count - index else { return nil }
    var ids: [Int64] = []
    ids.reserveCapacity(count)
    var last: Int64 = 0
    for _ in 0..<count {
      guard let difference = read(bytes, &index), let step = Int64(exactly: difference) else { return nil }
      let (next, overflow) = last.addingReportingOverflow(step)
      guard !overflow else { return nil }
      last = next
      ids.append(last)
    }
    return ids
  }

  /// Packs the ids of a list task.
  public static func encode(list ids: [DeviceID]) -> [UInt8] {
    var bytes: [UInt8] = []
    append(ascending: ids.lazy.map(\.rawValue), to: &bytes)
    return bytes
  }

  /// Unpacks the ids of a list task; nil when the bytes are no list.
  public static func decode(list bytes: [UInt8]) -> [DeviceID]? {
    let span = bytes.span
    var ids: [DeviceID] = []
    var index = 0
    var last: Int64 = 0
    while index < span.count {
      guard let difference = read(span, &index), let step = Int64(exactly: difference) else { return nil }
      let (next, overflow) = last.addingReportingOverflow(step)
      guard !overflow else { return nil }
      last = next
      ids.append(DeviceID(last))
    }
    return ids
  }
}
