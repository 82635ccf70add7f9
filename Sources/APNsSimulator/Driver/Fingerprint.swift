/// Numbers that stand for texts too long to keep by the million.
enum Fingerprint {
  /// 64 bits for a text; two of a million different texts share one with a chance of about 1 in 37 million.
  ///
  /// Letters count alike in upper and lower case when `foldingCase`, as those of device tokens do.
  static func of(_ bytes: Span<UInt8>, foldingCase: Bool) -> UInt64 {
    // The bit in which ASCII letters of both cases differ; digits have it set.
    let fold: UInt64 = foldingCase ? 0x2020_2020_2020_2020 : 0
    var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
    var index = 0
    while index + 8 <= bytes.count {
      // Within the span by the condition above.
      let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self)
      hash = (hash ^ (word | fold)) &* 0xD6E8_FEB8_6659_FD93
      hash ^= hash >> 32
      index += 8
    }
    var rest: UInt64 = 0
    while index < bytes.count {
      rest = rest << 8 | UInt64(bytes[index])
      index += 1
    }
    return mix(hash ^ (rest | fold))
  }

  /// The 128 bits of a UUID in the form 8-4-4-4-12, in either case; nil for any other text.
  static func uuid(_ bytes: Span<UInt8>) -> UInt128? {
    guard bytes.count == 36 else { return nil }
    var halves: (high: UInt64, low: UInt64) = (0, 0)
    for index in bytes.indices {
      let byte = bytes[index]
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = byte.hexDigitValue else { return nil }
        if index < 19 {
          halves.high = halves.high << 4 | UInt64(digit)
        } else {
          halves.low = halves.low << 4 | UInt64(digit)
        }
      }
    }
    return UInt128(halves.high) << 64 | UInt128(halves.low)
  }

  /// splitmix64's finalizer: each bit of the input changes half of the output.
  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
