/// An argument that is no text: bytes that are not UTF-8. Nothing of it is repeated; ends the program with 65.
struct ArgumentTextError: ExitCodeProviding, CustomStringConvertible {
  /// Which argument.
  let description: String

  /// 65.
  var exitCode: ExitCode { .badData }
}

extension [String] {
  /// The arguments of a program as texts.
  /// - Throws: ``ArgumentTextError`` for the first that is not UTF-8; replacing bytes would send another text than was meant.
  init(arguments: [[UInt8]]) throws(ArgumentTextError) {
    var texts: [String] = []
    for bytes in arguments {
      guard let text = String(validating: bytes, as: UTF8.self) else {
        let attached = bytes.prefix { $0 != UInt8(ascii: "=") }
        let name = attached.count < bytes.count ? String(validating: attached, as: UTF8.self) : texts.last
        let option = name.flatMap { $0.hasPrefix("--") && !$0.contains("=") ? $0 : nil }
        let place = option.map { "the value of \($0)" } ?? "argument \(texts.count + 1)"
        throw ArgumentTextError(description: "\(place) is not UTF-8 text; set a UTF-8 locale, or convert it with iconv")
      }
      texts.append(text)
    }
    self = texts
  }
}
