/// What the fields of an app must be.
enum AppRules {
  /// A bundle id, or another topic of Apple's: letters, digits, dots and dashes.
  static func topic(_ text: String) throws(SettingFault) -> String {
    let topic = trimmed(text)
    if let fault = TopicText.fault(in: topic) { throw SettingFault("is \(shown(topic)): \(fault)") }
    return topic
  }

  static func environment(_ text: String) throws(SettingFault) -> Configuration.Environment {
    try SettingForm<Configuration.Environment>.choice.read(.text(text), "")
  }

  /// A team ID or key ID: ten capital letters and digits, after white space around it is dropped.
  static func identifier(_ text: String) throws(SettingFault) -> String {
    let identifier = trimmed(text)
    guard identifier.count == 10 else {
      throw SettingFault(
        "has \(identifier.count) characters, expected 10",
        remedy: "copy it from developer.apple.com, Keys or Membership")
    }
    let isUpper = identifier.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: false
      }
    }
    guard isUpper else {
      throw SettingFault("must be capital letters A to Z and digits, not '\(identifier)'")
    }
    return identifier
  }

  /// The path of a key that can be read; a value that may be the key itself is never repeated.
  static func keyPath(_ text: String, folder: String, variable: String) throws(SettingFault) -> String {
    if trimmed(text).hasPrefix("-----BEGIN") || looksLikeKeyText(text) {
      throw SettingFault(
        "holds key text where a path should be", remedy: "name the .p8 file, or put the text into \(variable)")
    }
    let path = Files.resolve(text, in: folder)
    try checkReadable(path, seenFrom: folder)
    return path
  }

  /// Checks the text of a key as far as to tell a path from it; what is inside is found when it is loaded.
  static func checkKeyText(_ text: String) throws(SettingFault) {
    let text = trimmed(text)
    if !text.hasPrefix("-----BEGIN"), !looksLikeKeyText(text), text.hasSuffix(".p8") || text.hasPrefix("/") {
      throw SettingFault("looks like a path where the text of a key should be", remedy: "use key_file for a path")
    }
  }

  /// The text without white space, line ends and a byte order mark around it.
  static func trimmed(_ text: String) -> String {
    var scalars = Substring(text).unicodeScalars
    while let first = scalars.first, first.properties.isWhitespace || first == "\u{FEFF}" { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return String(scalars)
  }

  /// Whether the text is long Base64 without the words around it: the body of a key, or a whole key in Base64.
  private static func looksLikeKeyText(_ text: String) -> Bool {
    let letters = text.utf8.filter { $0 > 0x20 }
    return letters.count >= 100
      && letters.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
          true
        default: false
        }
      }
  }
}
