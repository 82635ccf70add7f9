/// A request of the control interface: HTTP/1.1 (RFC 9112) as small as it goes; whatever is not known is refused.
struct ControlRequest: Equatable {
  /// The method, such as `GET`.
  var method: String
  /// The target as sent.
  var path: String
  /// The whole body.
  var body: [UInt8]

  /// What is known of a request that is coming in.
  enum Progress: Equatable {
    /// More bytes have to come.
    case incomplete
    /// It is whole.
    case complete(ControlRequest)
    /// It is refused with that status.
    case refused(Int, String)
  }

  private static let headLimitBytes = 8192

  /// Looks at what has come so far.
  static func parse(_ bytes: [UInt8]) -> Progress {
    guard let headEnd = endOfHead(bytes) else {
      return bytes.count > headLimitBytes ? .refused(431, "the fields are larger than 8 KB") : .incomplete
    }
    guard headEnd <= headLimitBytes else { return .refused(431, "the fields are larger than 8 KB") }
    let lines = String(decoding: bytes[..<(headEnd - 4)], as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2] == "HTTP/1.1" else { return .refused(400, "the first line is not HTTP/1.1's") }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
        !line[..<colon].contains(where: \.isWhitespace)
      else { return .refused(400, "a line of the head is no field") }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      guard fields.updateValue(String(value), forKey: line[..<colon].lowercased()) == nil else {
        return .refused(400, "a field is given twice")
      }
    }
    if let refusal = refusal(of: fields) { return refusal }
    var length = 0
    if let text = fields["content-length"] {
      guard text.utf8.allSatisfy(\.isDecimalDigit), let number = Int(text) else {
        return .refused(400, "content-length is no number")
      }
      length = number
    }
    guard length <= FaultScript.sizeLimitBytes else { return .refused(413, "the body is larger than 1 MB") }
    guard bytes.count >= headEnd + length else { return .incomplete }
    guard bytes.count == headEnd + length else { return .refused(400, "there is more behind the body") }
    return .complete(ControlRequest(method: String(words[0]), path: String(words[1]), body: Array(bytes[headEnd...])))
  }

  /// Nothing but a program on this machine that means this interface gets through: a page in a browser does not.
  private static func refusal(of fields: [String: String]) -> Progress? {
    guard let host = fields["host"] else { return .refused(400, "the field host is missing") }
    let name = host.hasSuffix("]") ? host[...] : host[..<(host.lastIndex(of: ":") ?? host.endIndex)]
    guard ["127.0.0.1", "[::1]", "localhost"].contains(name.lowercased()) else {
      return .refused(403, "host is not this machine")
    }
    if fields["origin"] != nil { return .refused(403, "pages have no access") }
    if fields["transfer-encoding"] != nil { return .refused(501, "give content-length in place of transfer-encoding") }
    if fields["expect"] != nil { return .refused(417, "send the body without asking") }
    if fields["upgrade"] != nil { return .refused(400, "there is nothing to upgrade to") }
    return nil
  }

  /// The place behind the empty line.
  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (4...bytes.count).first { bytes[($0 - 4)..<$0].elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) }
  }
}

/// An answer of the control interface.
struct ControlAnswer {
  var status = 200
  var body: [UInt8] = []
  /// With 405: the methods that are taken.
  var allow: String?

  /// The bytes of the answer to a request that begins like that; the connection ends behind it.
  func bytes(to request: [UInt8]) -> [UInt8] {
    var head = "HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")\r\ncontent-type: application/json\r\n"
    head += "content-length: \(body.count)\r\nconnection: close\r\n"
    if let allow { head += "allow: \(allow)\r\n" }
    // RFC 9110 section 9.3.2: the fields of the answer, and no content.
    return Array((head + "\r\n").utf8) + (request.starts(with: Array("HEAD ".utf8)) ? [] : body)
  }
}
