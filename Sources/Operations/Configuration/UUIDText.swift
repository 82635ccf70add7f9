/// UUIDs as texts of 36 characters (RFC 9562).
public enum UUIDText {
  /// Whether a text is one, in either case.
  public static func isUUID(_ text: String) -> Bool {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && groups.joined().utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
          UInt8(ascii: "A")...UInt8(ascii: "F"):
          true
        default: false
        }
      }
  }

  /// A random one (version 4): 122 bits of the system's randomness.
  public static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    return text((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }, version: 4)
  }

  /// The one that stands for a digest (version 8): its first 16 bytes.
  public static func naming(_ digest: [UInt8]) -> String { text(digest, version: 8) }

  private static func text(_ bytes: [UInt8], version: UInt8) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for index in 0..<16 {
      var byte = index < bytes.count ? bytes[index] : 0
      if index == 6 { byte = byte & 0x0F | version << 4 }
      if index == 8 { byte = byte & 0x3F | 0x80 }
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
