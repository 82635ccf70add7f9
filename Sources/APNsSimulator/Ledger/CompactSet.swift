/// A set of whole numbers that only grows: an open-addressing table of the numbers themselves, so that millions of device
/// tokens and apns-ids cost 2 to 4 words each.
struct CompactSet<Element: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
  private var slots: [Element]
  private var containsZero = false
  /// How many numbers are in.
  private(set) var count = 0
  private var shift: Int

  /// An empty set.
  init() {
    slots = Array(repeating: 0, count: 1024)
    shift = 64 - 10
  }

  /// Puts a number in; false when it was in.
  @discardableResult
  mutating func insert(_ element: Element) -> Bool {
    guard element != 0 else {
      if !containsZero { count += 1 }
      defer { containsZero = true }
      return !containsZero
    }
    let slot = place(of: element)
    if slots[slot] == element { return false }
    slots[slot] = element
    count += 1
    if count * 2 > slots.count { grow() }
    return true
  }

  /// Whether a number is in.
  func contains(_ element: Element) -> Bool { element == 0 ? containsZero : slots[place(of: element)] == element }

  /// The slot that holds the number or would hold it.
  private func place(of element: Element) -> Int {
    let low = UInt64(truncatingIfNeeded: element)
    let high = Element.bitWidth > 64 ? UInt64(truncatingIfNeeded: element >> 64) : 0
    // Fibonacci hashing: the top bits of a product with an odd constant depend on every bit of the factor.
    let mixed = (low ^ (high &* 0xD6E8_FEB8_6659_FD93)) &* 0x9E37_79B9_7F4A_7C15
    var slot = Int(mixed >> UInt64(shift))
    while slots[slot] != 0, slots[slot] != element { slot = (slot + 1) & (slots.count - 1) }
    return slot
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: 0, count: old.count * 2)
    shift -= 1
    for element in old where element != 0 { slots[place(of: element)] = element }
  }
}
