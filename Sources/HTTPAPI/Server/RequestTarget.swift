/// Where a request goes, decoded from the raw target: only after splitting, so that `%2F` is part of a name and no separator.
struct RequestTarget: Equatable {
  /// The longest target taken.
  static let limitBytes = 4096

  /// The parts of the path between its slashes.
  var segments: [String]
  /// The parameters behind `?`, in order.
  var query: [(name: String, value: String)]

  /// Why a target is refused.
  enum Fault: Error, Equatable {
    case tooLong
    /// In words for the caller.
    case malformed(String)
  }

  /// Reads the origin form (`/a/b?c=d`) or the absolute form, whose scheme and host do not matter here.
  init(raw: String) throws(Fault) {
    let bytes = Array(raw.utf8)
    guard bytes.count <= Self.limitBytes else { throw .tooLong }
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw .malformed("the target has bytes that must be percent-encoded")
    }
    var rest = bytes[...]
    for scheme in ["http://", "https://"] where rest.starts(with: scheme.utf8) {
      rest = rest.dropFirst(scheme.utf8.count).drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    }
    let question = rest.firstIndex(of: UInt8(ascii: "?"))
    let path = rest[..<(question ?? rest.endIndex)]
    guard path.first == UInt8(ascii: "/") else { throw .malformed("the target does not begin with /") }
    segments = []
    for part in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      let segment = try Self.decoded(part, plusIsSpace: false)
      guard segment != ".", segment != ".." else {
        throw .malformed("the path has a segment '.' or '..', which no resource here has")
      }
      segments.append(segment)
    }
    query = []
    guard let question else { return }
    for part in rest[(question + 1)...].split(separator: UInt8(ascii: "&")) {
      let equals = part.firstIndex(of: UInt8(ascii: "="))
      let name = try Self.decoded(part[..<(equals ?? part.endIndex)], plusIsSpace: true)
      let value = try equals.map { (index) throws(Fault) in
        try Self.decoded(part[(index + 1)...], plusIsSpace: true)
      }
      guard !query.contains(where: { $0.name == name }) else {
        throw .malformed("a query parameter is there twice")
      }
      query.append((name, value ?? ""))
    }
  }

  /// Two targets are equal when they lead to the same place with the same parameters.
  static func == (left: Self, right: Self) -> Bool {
    left.segments == right.segments && left.query.elementsEqual(right.query) { $0 == $1 }
  }

  /// UTF-8 of percent-encoded bytes; an encoded NUL or any other control character is refused, since no name has one and
  /// other programs cut names there.
  private static func decoded(_ part: ArraySlice<UInt8>, plusIsSpace: Bool) throws(Fault) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(part.count)
    var index = part.startIndex
    while index < part.endIndex {
      switch part[index] {
      case UInt8(ascii: "%"):
        guard index + 2 < part.endIndex, let high = digit(part[index + 1]), let low = digit(part[index + 2]) else {
          throw .malformed("the target has a % without two hexadecimal digits behind it")
        }
        bytes.append(high << 4 | low)
        index += 3
        continue
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
      case let byte: bytes.append(byte)
      }
      index += 1
    }
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw .malformed("the target has an encoded control character")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .malformed("the target is not UTF-8 when decoded")
    }
    return text
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
