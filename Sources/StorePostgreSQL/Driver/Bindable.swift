import Operations
import PushCore

/// A value as PostgreSQL's binary protocol carries it. Whole numbers always go as `bigint`; the statement's text casts what is narrower.
protocol Bindable {
  /// The type, by its number in `pg_type`.
  static var type: UInt32 { get }
  /// The type of an array of it.
  static var arrayType: UInt32 { get }
  /// The value in network byte order; nil = NULL.
  var encoded: [UInt8]? { get }
  /// Several of them as one value.
  static func encode(array: [Self]) -> [UInt8]
}

extension Bindable {
  static func encode(array: [Self]) -> [UInt8] {
    var bytes: [UInt8] = []
    let elements = array.map(\.encoded)
    bytes.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
    bytes.append(bigEndian: Int32(elements.contains { $0 == nil } ? 1 : 0))
    bytes.append(bigEndian: type)
    guard !array.isEmpty else { return bytes }
    bytes.append(bigEndian: Int32(array.count))
    bytes.append(bigEndian: Int32(1))
    for element in elements {
      bytes.append(bigEndian: Int32(element?.count ?? -1))
      if let element { bytes += element }
    }
    return bytes
  }
}

/// What is bound as a `bigint`.
protocol NumberBindable: Bindable {
  /// The number.
  var number: Int64 { get }
}

extension NumberBindable {
  static var type: UInt32 { 20 }
  static var arrayType: UInt32 { 1016 }
  var encoded: [UInt8]? {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: number)
    return bytes
  }
}

extension Int64: NumberBindable { var number: Int64 { self } }
extension Int: NumberBindable { var number: Int64 { Int64(self) } }
extension NotificationID: NumberBindable { var number: Int64 { rawValue } }
extension AppID: NumberBindable { var number: Int64 { rawValue } }
extension CredentialID: NumberBindable { var number: Int64 { rawValue } }
extension InterestID: NumberBindable { var number: Int64 { rawValue } }
extension TaskID: NumberBindable { var number: Int64 { rawValue } }
extension DeviceID: NumberBindable { var number: Int64 { rawValue } }
extension ReasonID: NumberBindable { var number: Int64 { Int64(rawValue) } }
extension Lane: NumberBindable { var number: Int64 { Int64(rawValue) } }
extension Environment: NumberBindable { var number: Int64 { Int64(rawValue) } }
extension Outcome: NumberBindable { var number: Int64 { Int64(rawValue) } }
extension TaskState: NumberBindable { var number: Int64 { rawValue } }

extension Bool: Bindable {
  static var type: UInt32 { 16 }
  static var arrayType: UInt32 { 1000 }
  var encoded: [UInt8]? { [self ? 1 : 0] }
}

extension String: Bindable {
  static var type: UInt32 { 25 }
  static var arrayType: UInt32 { 1009 }
  var encoded: [UInt8]? { StoredText.encode(utf8) }
}

extension DeviceToken: Bindable {
  static var type: UInt32 { 25 }
  static var arrayType: UInt32 { 1009 }
  var encoded: [UInt8]? { text.encoded }
}

extension UnixMilliseconds: Bindable {
  static var type: UInt32 { 1184 }
  static var arrayType: UInt32 { 1185 }
  var encoded: [UInt8]? {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: StoredTime.encode(self))
    return bytes
  }
}

/// Only for its arrays, which are `bytea`.
extension UInt8: Bindable {
  static var type: UInt32 { 18 }
  static var arrayType: UInt32 { 17 }
  var encoded: [UInt8]? { [self] }
  static func encode(array: [UInt8]) -> [UInt8] { array }
}

extension Array: Bindable where Element: Bindable {
  static var type: UInt32 { Element.arrayType }
  /// Of all arrays only those of bytes stand in arrays.
  static var arrayType: UInt32 { 1001 }
  var encoded: [UInt8]? { Element.encode(array: self) }
}

extension Optional: Bindable where Wrapped: Bindable {
  static var type: UInt32 { Wrapped.type }
  static var arrayType: UInt32 { Wrapped.arrayType }
  var encoded: [UInt8]? { self?.encoded }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}

/// Texts: PostgreSQL's cannot hold U+0000, so it is stored as U+0001 U+0002, and U+0001 as U+0001 U+0001. Equal texts stay equal and
/// different ones different.
enum StoredText {
  static func encode(_ text: String.UTF8View) -> [UInt8] {
    var bytes = Array(text)
    guard bytes.contains(where: { $0 <= 1 }) else { return bytes }
    bytes = bytes.flatMap { (byte) -> [UInt8] in
      switch byte {
      case 0: [1, 2]
      case 1: [1, 1]
      default: [byte]
      }
    }
    return bytes
  }

  static func decode(_ stored: some Sequence<UInt8>) -> String {
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in stored {
      if byte == 1, !isEscaped {
        isEscaped = true
        continue
      }
      bytes.append(isEscaped && byte == 2 ? 0 : byte)
      isEscaped = false
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Times: microseconds since 2000. What lies outside the years 1 to 9999 becomes infinite.
enum StoredTime {
  private static let epoch: Int64 = 946_684_800_000
  private static let earliest: Int64 = -62_135_596_800_000
  private static let latest: Int64 = 253_402_300_799_999

  static func encode(_ time: UnixMilliseconds) -> Int64 {
    if time.value < earliest { return .min }
    if time.value > latest { return .max }
    return (time.value - epoch) * 1000
  }

  static func decode(_ stored: Int64) -> UnixMilliseconds {
    if stored == .min { return UnixMilliseconds(earliest) }
    if stored == .max { return UnixMilliseconds(latest) }
    // Rounded down, also before 2000.
    return UnixMilliseconds((stored >= 0 ? stored / 1000 : (stored - 999) / 1000) + epoch)
  }
}
