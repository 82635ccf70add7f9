/// Makes the ids that APNs makes: UUIDs, in upper case as seen on the wire unless told otherwise.
struct MessageIDs: Sendable {
  private let digits: [UInt8]
  private var generator = SystemRandomNumberGenerator()
  private let random: UInt64
  private var counter: UInt64 = 0

  init(isLowerCase: Bool = false) {
    digits = Array((isLowerCase ? "0123456789abcdef" : "0123456789ABCDEF").utf8)
    random = generator.next()
  }

  /// An id that is random in every digit.
  mutating func next() -> String {
    let high: UInt64 = generator.next()
    let low: UInt64 = generator.next()
    return String(decoding: text(high, low), as: UTF8.self)
  }

  /// An id of a random half and a counter: as unique, and made without asking the system for randomness.
  mutating func nextCounted() -> [UInt8] {
    counter += 1
    return text(random, counter)
  }

  private func text(_ high: UInt64, _ low: UInt64) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for index in 0..<32 {
      if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
      let half = index < 16 ? high : low
      text.append(digits[Int(half >> UInt64(60 - index % 16 * 4) & 0xF)])
    }
    return text
  }
}
