/// A parsed JSON value that remembers where it stood in its document, so that a caller can hand on its bytes unchanged.
public struct JSONValue: Sendable, Equatable {
  /// The six kinds of RFC 8259 §3.
  public enum Kind: Sendable, Equatable {
    /// `null`.
    case null
    /// `true` or `false`; never confused with 1 and 0.
    case bool(Bool)
    /// A number with its spelling.
    case number(JSONNumber)
    /// A string, unescaped.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; members in document order, repeated names kept.
    case object([JSONMember])
  }

  /// What the value is.
  public let kind: Kind
  /// The bytes of the value in its document.
  public let range: Range<Int>

  /// The string, when the value is one.
  public var string: String? {
    if case .string(let text) = kind { text } else { nil }
  }

  /// The number, when the value is one.
  public var number: JSONNumber? {
    if case .number(let number) = kind { number } else { nil }
  }

  /// The whole number, when the value is a number spelled as one that fits 64 bits; `1.0` and `1e2` are not.
  public var integer: Int64? { number?.integer }

  /// The truth value, when the value is one.
  public var bool: Bool? {
    if case .bool(let flag) = kind { flag } else { nil }
  }

  /// The elements, when the value is an array.
  public var array: [JSONValue]? {
    if case .array(let elements) = kind { elements } else { nil }
  }

  /// The members, when the value is an object.
  public var object: [JSONMember]? {
    if case .object(let members) = kind { members } else { nil }
  }

  /// Whether the value is `null`.
  public var isNull: Bool {
    if case .null = kind { true } else { false }
  }

  /// The first member of that name, when the value is an object that has one.
  public subscript(name: String) -> JSONValue? {
    object?.first { $0.name == name }?.value
  }

  /// The word for the value's kind in a message to people: "an object", "a number".
  public var kindName: String {
    switch kind {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

/// One `"name": value` of an object.
public struct JSONMember: Sendable, Equatable {
  /// The name, unescaped.
  public let name: String
  /// The bytes of the name with its quotes in the document.
  public let nameRange: Range<Int>
  /// The value.
  public let value: JSONValue
}

/// A number as it was spelled: 18446744073709551615, 1.0 and 1e2 are not the same text, and no digit is lost.
public struct JSONNumber: Sendable, Equatable {
  /// The spelling in the document; ASCII, in the grammar of RFC 8259 §6.
  public let text: String

  /// The whole number, when the spelling is one (no fraction, no exponent) and fits 64 bits.
  public var integer: Int64? { Int64(text) }

  /// The nearest binary64 value; infinite when the number is too large for one.
  public var double: Double { Double(text) ?? .infinity }
}
