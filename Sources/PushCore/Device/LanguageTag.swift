/// The rule for languages of devices: the letters of BCP 47, not its registry.
public enum LanguageTag {
  private static let maximumLength = 35

  /// What is wrong with a tag; nil when nothing is.
  public static func fault(in tag: String) -> String? {
    let isTag =
      !tag.isEmpty && tag.utf8.count <= maximumLength
      && tag.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
    return isTag ? nil : "the language is no tag such as de or pt-BR"
  }
}
