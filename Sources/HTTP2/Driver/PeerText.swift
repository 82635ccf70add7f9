/// Text that a peer sent, made fit for logs.
enum PeerText {
  private static let limit = 256

  /// The first bytes as text, control characters replaced.
  static func readable(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let text = unsafe String(
      decoding: bytes.prefix(limit).map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    return bytes.count > limit ? text + "…" : text
  }
}
