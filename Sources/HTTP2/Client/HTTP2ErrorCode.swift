/// The error codes of RFC 9113 section 7, for texts.
public enum HTTP2ErrorCode {
  private static let names = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]

  /// The name of a code, or `error 0x…` for one that the RFC does not list.
  public static func name(_ code: UInt32) -> String {
    code < names.count ? names[Int(code)] : "error 0x\(String(code, radix: 16))"
  }
}
