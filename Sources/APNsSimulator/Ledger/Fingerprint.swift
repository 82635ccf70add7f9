/// Numbers that stand for texts too long to keep by the million.
enum Fingerprint {
  /// 64 bits for a text; two of a million different texts share one with a chance of about 1 in 37 million.
  ///
  /// Letters count alike in upper and lower case when `foldingCase`, as device tokens do.
  static func of(_ bytes: Span<UInt8>, foldingCase: Bool) -> UInt64 {
    var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
    var word: UInt64 = 0
    for index in bytes.indices {
      var byte = bytes[index]
      if foldingCase, byte >= UInt8(ascii: "A"), byte <= UInt8(ascii: "Z") { byte |= 0x20 }
      word = word << 8 | UInt64(byte)
      if index & 7 == 7 {
        hash = mix(hash ^ word)
        word = 0
      }
    }
    return mix(hash ^ word)
  }

  /// The 128 bits of a UUID in the form 8-4-4-4-12, in either case; nil for any other text.
  static func uuid(_ bytes: Span<UInt8>) -> UInt128? {
    guard bytes.count == 36 else { return nil }
    var value: UInt128 = 0
    for index in bytes.indices {
      let byte = bytes[index]
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = byte.hexDigitValue else { return nil }
        value = value << 4 | UInt128(digit)
      }
    }
    return value
  }

  /// splitmix64's finalizer: each bit of the input changes half of the output.
  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
