internal import COpenSSL
internal import Glibc

extension TLSError {
  /// ERR_SYSTEM_FLAG of err.h, a macro with a cast: the other bits are an errno.
  private static let systemFlag: UInt = 0x8000_0000

  /// Takes the texts of this thread's error queue, first cause first; nil when it is empty.
  static func drainQueue() -> String? {
    var texts: [String] = []
    while true {
      let code = ERR_get_error()
      guard code != 0 else { break }
      // System errors carry an errno and have no reason text of their own.
      let text =
        if code & systemFlag != 0 {
          systemText(Int32(truncatingIfNeeded: code & (systemFlag - 1)))
        } else if let reason = unsafe ERR_reason_error_string(code) {
          unsafe String(cString: reason)
        } else {
          "error 0x\(String(code, radix: 16))"
        }
      if !texts.contains(text) { texts.append(text) }
    }
    return texts.isEmpty ? nil : texts.joined(separator: ", ")
  }

  /// The failure to use a file, after a call that left its reasons in the queue.
  static func file(_ path: String, expected: String) -> TLSError {
    TLSError(
      .configuration, path, reason: drainQueue() ?? "no certificate in it", remedy: "\(expected) is needed here")
  }

  /// The system's text for an errno.
  static func systemText(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
}
