/// The name of a request in logs and answers: the caller's own when it can stand there, else a new one.
enum RequestID {
  /// The most bytes of a caller's own.
  static let limitBytes = 128

  /// The id for what the caller sent.
  static func choose(_ given: String?) -> String {
    if let given, isWellFormed(given) { return given }
    return String(UInt64.random(in: .min ... .max), radix: 16)
  }

  private static func isWellFormed(_ text: String) -> Bool {
    (1...limitBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }
}
