/// base64url without padding (RFC 4648 §5, RFC 7515 §2): the alphabet of JWTs. Strict both ways.
public enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The text of `bytes`: no `+`, `/`, `=` and no line break.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: Base64.encode(bytes, alphabet), as: UTF8.self)
  }

  /// The bytes of a text; nil when it holds another character, padding, an impossible length, or bits beyond the last
  /// byte.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    Base64Decoder.decode(text.utf8, value: value(of:))
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: Base64Decoder.commonValue(of: character)
    }
  }
}

/// The part of decoding that both alphabets of RFC 4648 share.
enum Base64Decoder {
  /// The bytes of characters without padding; nil as ``Base64URL/decode(_:)`` says.
  static func decode(_ characters: some Sequence<UInt8>, value: (UInt8) -> UInt8?) -> [UInt8]? {
    var bytes: [UInt8] = []
    var group: UInt32 = 0
    var bits = 0
    for character in characters {
      guard let value = value(character) else { return nil }
      group = group << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
        group &= (1 << UInt32(bits)) - 1
      }
    }
    // Six bits left over are a lone character; set bits left over would be lost.
    return bits < 6 && group == 0 ? bytes : nil
  }

  /// The bytes of standard base64 with its padding, white space anywhere, as PEM bodies are written; nil when it is
  /// none.
  static func decodeStandard(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var characters = text.filter { !($0 == 0x20 || $0 >= 0x09 && $0 <= 0x0D) }
    let isPadded = characters.last == UInt8(ascii: "=")
    if isPadded {
      guard characters.count.isMultiple(of: 4) else { return nil }
      characters.removeLast()
      if characters.last == UInt8(ascii: "=") { characters.removeLast() }
    } else if !characters.count.isMultiple(of: 4) {
      return nil
    }
    return decode(characters) { character in
      switch character {
      case UInt8(ascii: "+"): 62
      case UInt8(ascii: "/"): 63
      default: commonValue(of: character)
      }
    }
  }

  /// The value of a letter or digit.
  static func commonValue(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    default: nil
    }
  }
}
