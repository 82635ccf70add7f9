/// Standard base64 with padding, in one line (RFC 4648 §4).
public enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The text of `bytes`.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    let text = encode(bytes, alphabet)
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
    return String(decoding: text + padding, as: UTF8.self)
  }

  /// The characters of `bytes` in an alphabet of 64, without padding.
  static func encode(_ bytes: some Collection<UInt8>, _ alphabet: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var group: UInt32 = 0
    var bits = 0
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(alphabet[Int(group >> UInt32(bits) & 0x3F)])
      }
    }
    if bits > 0 { text.append(alphabet[Int(group << UInt32(6 - bits) & 0x3F)]) }
    return text
  }
}
