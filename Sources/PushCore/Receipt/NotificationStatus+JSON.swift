import JSON
import Operations

extension NotificationStatus {
  /// The members of its JSON object.
  public func write(to writer: inout JSONWriter) {
    writer.member("id", id.description)
    writer.member("state", state.rawValue)
    writer.member("topic", topic)
    writer.member("lane", lane.name)
    writer.member("created_at", RFC3339.format(createdAt))
    writer.member("send_at", sendAt.map(RFC3339.format))
    writer.member("expires_at", RFC3339.format(expiresAt))
    writer.member("done_at", doneAt.map(RFC3339.format))
    writer.member("complete", isComplete)
    writer.name("counts")
    counts.write(to: &writer)
  }
}

extension Counts {
  /// The object `counts` of the contract.
  public func write(to writer: inout JSONWriter) {
    writer.object {
      $0.member("devices", devices)
      $0.member("accepted", accepted)
      $0.member("rejected", rejected)
      $0.member("expired", expired)
      $0.member("canceled", canceled)
      $0.member("failed", failed)
      $0.member("skipped", skipped)
      $0.member("pending", pending)
    }
  }
}
