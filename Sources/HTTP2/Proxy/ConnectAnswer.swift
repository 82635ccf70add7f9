import Operations

/// A proxy's answer to CONNECT (RFC 9110 section 9.3.6), read as it comes: a value without a socket.
struct ConnectAnswer {
  enum Outcome: Equatable {
    /// More bytes are needed.
    case incomplete
    /// What follows is the tunnel.
    case open
    /// No tunnel; with the status, its text, and for 407 the schemes that the proxy offers.
    case refused(status: UInt16, text: String, schemes: [String])
    /// It is no answer of HTTP/1.1.
    case garbage(String)
  }

  /// The bytes taken in all; more is no answer.
  static let limit = 16_384

  private var bytes: [UInt8] = []
  private var start = 0

  /// Takes further bytes.
  mutating func take(_ more: [UInt8]) -> Outcome {
    bytes += more
    while true {
      let version = Array("HTTP/1.".utf8)
      guard bytes[start...].prefix(version.count).elementsEqual(version.prefix(bytes.count - start)) else {
        return .garbage("it does not begin with HTTP/1")
      }
      guard let end = headEnd() else {
        return bytes.count < Self.limit ? .incomplete : .garbage("its head is longer than \(Self.limit) bytes")
      }
      let outcome = read(bytes[start..<end], rest: bytes.count - end)
      guard case .incomplete = outcome else { return outcome }
      // An interim answer (1xx): another one follows.
      start = end
      if start == bytes.count { return .incomplete }
    }
  }

  /// The offset after the empty line; LF alone ends a line too (RFC 9112 section 2.2).
  private func headEnd() -> Int? {
    var lineLength = 0
    for index in bytes.indices[start...] {
      switch bytes[index] {
      case UInt8(ascii: "\n"):
        if lineLength == 0 { return index + 1 }
        lineLength = 0
      case UInt8(ascii: "\r"): continue
      default: lineLength += 1
      }
    }
    return nil
  }

  private func read(_ head: ArraySlice<UInt8>, rest: Int) -> Outcome {
    let lines = head.split(separator: UInt8(ascii: "\n")).map { line in
      String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
    }
    let parts = lines[0].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[1].utf8.count == 3, let status = UInt16(parts[1]), (100...599).contains(status) else {
      return .garbage("its first line is '\(PrintableText.escaped(lines[0].prefix(60)))'")
    }
    switch status {
    case 100...199: return .incomplete
    case 200...299:
      // TLS begins with the client: whatever stands here was not sent by the origin.
      return rest == 0 ? .open : .garbage("it sent \(rest) bytes into the tunnel by itself")
    default:
      let text = parts.count == 3 ? PrintableText.escaped(parts[2].prefix(100)) : ""
      return .refused(status: status, text: text, schemes: status == 407 ? Self.schemes(lines) : [])
    }
  }

  private static func schemes(_ lines: [String]) -> [String] {
    lines.compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "proxy-authenticate" else { return nil }
      return parts[1].split(separator: " ").first.map { PrintableText.escaped($0.prefix(20)) }
    }
  }
}
