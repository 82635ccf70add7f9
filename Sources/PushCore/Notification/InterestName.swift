/// The rules for names of interests: those of Beams, so that its SDKs and ours agree.
public enum InterestName {
  /// The most characters.
  public static let maximumLength = 164

  /// What is wrong with a name; nil when nothing is. Names differ by case.
  public static func fault(in name: String) -> String? {
    guard !name.isEmpty else { return "an interest must not be empty" }
    guard name.utf8.allSatisfy(isAllowed) else {
      if let hidden = name.unicodeScalars.first(where: isInvisible) {
        let code = String(hidden.value, radix: 16, uppercase: true)
        return
          "the interest holds an invisible character (U+\(String(repeating: "0", count: max(0, 4 - code.count)))\(code))"
      }
      return
        "the interest has a character that is not allowed; allowed are A-Z a-z 0-9 _ - = @ , . ;"
    }
    guard name.utf8.count <= maximumLength else {
      return "the interest has \(name.utf8.count) characters, limit \(maximumLength)"
    }
    return nil
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "="),
      UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
      true
    default: false
    }
  }

  private static func isInvisible(_ scalar: UnicodeScalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .format, .control: true
    default: scalar.properties.isDefaultIgnorableCodePoint
    }
  }
}
