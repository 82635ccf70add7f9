/// The device path, `/3/device/<device token>`.
enum RequestTarget {
  static let prefix = "/3/device/"

  /// The device token as sent; empty when the path ends before it, nil when the path is another one.
  static func deviceToken(in path: String) -> String? {
    if path == prefix.dropLast() { return "" }
    guard path.hasPrefix(prefix) else { return nil }
    let token = path.dropFirst(prefix.count)
    return token.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
      ? nil : String(token)
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit in either case, or nil.
  var hexDigitValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  var isDecimalDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}
