import Operations

/// What a request says before its body.
struct RequestHead: Sendable {
  /// The method as sent; case matters.
  var method: String
  /// The target as sent.
  var rawTarget: String
  /// The fields as sent, in order; names in lower case.
  var fields: [(name: String, value: String)]
  /// Who is at the other end of the connection.
  var peer: IPAddress?

  /// The value of a field that may be there once; several are joined as RFC 9110 §5.3 says.
  func field(_ name: String) -> String? {
    let values = fields.lazy.filter { $0.name == name }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// How often a field is there.
  func count(of name: String) -> Int { fields.count { $0.name == name } }
}

/// A whole request.
struct Request: Sendable {
  /// What it says before its body.
  var head: RequestHead
  /// Its body, at most as long as the server takes.
  var body: [UInt8]
  /// Names the request in the log and in its answer.
  var id: String
  /// Where it comes from, by the word of a trusted proxy if there is one.
  var client: IPAddress?
}
