/// A part of the product that takes bytes from outside, with what must hold for any of them.
///
/// The fuzzer looks for bytes that trap or break a property; `swift test` replays the kept ones in `Corpus/<name>`.
package struct FuzzTarget: Sendable, CustomStringConvertible {
  /// The name, also of its folder in `Corpus/`.
  package let name: String
  /// Throws ``Violation`` when a property does not hold.
  package let check: @Sendable ([UInt8]) throws -> Void

  /// The name.
  package var description: String { name }

  /// All targets.
  package static let all = [
    json, payload, notification, response, privateKey, configuration, commandLine, csv, deviceToken, interestSlug,
    packed, headerBlock, clientSession, serverSession, providerToken, timeText, webhookURL, requestTarget, userToken,
    beamsPublish,
  ]
}

/// A property that does not hold for some bytes.
package struct Violation: Error, CustomStringConvertible {
  /// Which, in a sentence.
  package let description: String

  init(_ description: String) { self.description = description }
}

/// Throws unless the property holds.
func require(_ holds: Bool, _ property: @autoclosure () -> String) throws {
  if !holds { throw Violation(property()) }
}

/// Takes a fuzzer's bytes apart into the values that a target needs; what is missing at the end is zero or empty.
struct FuzzInput {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func number() -> UInt64 { (0..<8).reduce(0) { number, _ in number << 8 | UInt64(byte()) } }

  mutating func chunk(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func remainder() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }
}

extension String {
  /// Whether two texts have the same bytes; `==` takes canonically equivalent ones for equal.
  func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether the bytes of `other` stand in it; `contains` passes over characters that it takes for ignorable.
  func holdsBytes(of other: String) -> Bool { Array(utf8).firstRange(of: Array(other.utf8)) != nil }
}
