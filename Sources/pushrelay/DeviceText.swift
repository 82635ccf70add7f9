import APNs
import JSON
import Operations
import PushCore

/// How a registered device is shown.
extension Device {
  /// A line for people.
  var line: String {
    var parts = [token.text, topic, environment.name]
    if let user { parts.append("user=\(user)") }
    if !interests.isEmpty { parts.append("interests=\(interests.joined(separator: ","))") }
    if let language { parts.append("language=\(language)") }
    if let retiredAt {
      parts.append("retired=\(RFC3339.format(retiredAt))")
      if let retiredReason { parts.append("reason=\(ReasonTable.text(of: retiredReason, stored: nil) ?? "")") }
    }
    return parts.joined(separator: "  ")
  }

  /// The members of its JSON object.
  func write(to writer: inout JSONWriter) {
    write(to: &writer) { ReasonTable.text(of: $0, stored: nil) }
  }
}
