import JSON

extension Answer {
  /// An answer with one JSON object.
  static func json(_ status: Int = 200, _ members: (inout JSONWriter) -> Void) -> Answer {
    var writer = JSONWriter()
    writer.object(members)
    return Answer(status: status, type: "application/json", writer.bytes)
  }

  /// 204.
  static let noContent = Answer(status: 204)
}
