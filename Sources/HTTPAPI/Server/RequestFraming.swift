/// Decides from its head alone whether a request may be read: a body whose length is said twice, or in two ways, ends where each
/// program on the way thinks it does (RFC 9112 §6.3), so nothing of such a request is believed.
enum RequestFraming {
  /// What to do with the body.
  enum Decision: Equatable {
    /// Read it.
    case read
    /// Its length is doubtful; why.
    case doubtful(String)
    /// It is longer than is taken.
    case tooLarge
  }

  /// The decision for a head.
  static func decide(_ head: RequestHead, limitBytes: Int) -> Decision {
    let lengths = head.fields.filter { $0.name == "content-length" }
    let codings = head.fields.filter { $0.name == "transfer-encoding" }
    if !codings.isEmpty {
      guard lengths.isEmpty else {
        return .doubtful("the request has both Transfer-Encoding and Content-Length")
      }
      guard codings.count == 1, codings[0].value.lowercased() == "chunked" else {
        return .doubtful("the request has a Transfer-Encoding other than chunked")
      }
      return .read
    }
    guard let length = lengths.first else { return .read }
    guard lengths.count == 1 else { return .doubtful("the request has Content-Length more than once") }
    guard !length.value.isEmpty, length.value.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
    else { return .doubtful("the request has a Content-Length that is no number") }
    // What Int cannot hold is too large as well.
    guard let count = Int(length.value), count <= limitBytes else { return .tooLarge }
    return .read
  }
}
