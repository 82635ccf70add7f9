import JSON
import Operations

extension Device {
  /// The members of its JSON object, the token in full.
  ///
  /// - Parameter text: the words for a reason.
  public func write(to writer: inout JSONWriter, text: (ReasonID) -> String?) {
    writer.member("token", token.text)
    writer.member("topic", topic)
    writer.member("environment", environment.name)
    writer.member("user", user)
    writer.member("language", language)
    writer.member("interests", interests)
    writer.member("registered_at", RFC3339.format(registeredAt))
    writer.member("state", retiredAt == nil ? "active" : "retired")
    writer.member("retired_at", retiredAt.map(RFC3339.format))
    writer.member("retired_reason", retiredReason.flatMap(text))
  }
}
