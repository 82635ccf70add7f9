import Composition
import JSON
import Operations
import PushCore

/// `sendpush status`: where a notification stands.
enum StatusCommand {
  static let command = Command(
    "status", "Shows a notification's state and how many devices have which outcome.",
    options: [
      .flag("wait", "waits until every device has its outcome; ends 0 when all are accepted, else 1"),
      .value("timeout", "DURATION", "how long --wait waits (default: until the notification's deadline)"), .json,
      .store,
    ],
    operands: [Operand("ID", "the id that enqueue printed")],
    examples: ["sendpush status 891234567890123 --wait --timeout 30s"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    let id = try NotificationID(operandOf: invocation)
    return try await context.withStore { store in
      if invocation.flag("wait") {
        return try await StatusWait(context: context, store: store).exitCode(of: id, printsStatus: true)
      }
      console.print(try await StatusWait.status(of: id, in: store).text(json: invocation.flag("json")))
      return .success
    }
  }
}

/// Waits for a notification to become final.
struct StatusWait {
  let context: CommandContext
  let store: any Store

  static func status(of id: NotificationID, in store: any Store) async throws -> NotificationStatus {
    guard let status = try await store.status(id) else {
      throw NotificationFaults([
        NotificationFinding(
          "id", "there is no notification \(id) in this store; is --store the one it was enqueued to?")
      ])
    }
    return status
  }

  /// 0 when every device accepted, 1 when one did not, 75 when the time is over first.
  func exitCode(of id: NotificationID, printsStatus: Bool = false) async throws -> ExitCode {
    let clocks = context.clocks
    let limit = try context.invocation.duration("timeout").map { clocks.monotonicTime() + $0 } ?? .distantFuture
    var status = try await Self.status(of: id, in: store)
    while !status.state.isFinal, clocks.monotonicTime() < limit {
      await clocks.sleep(until: min(limit, clocks.monotonicTime() + .milliseconds(50)))
      status = try await Self.status(of: id, in: store)
    }
    if printsStatus { context.console.print(status.text(json: context.invocation.flag("json"))) }
    guard status.state.isFinal else {
      context.console.diagnose(
        "the time is over and the notification is still \(status.state.rawValue); it goes on by itself")
      return .temporaryFailure
    }
    let counts = status.counts
    let isGood =
      status.state == .done && counts.rejected + counts.expired + counts.failed + counts.canceled == 0
    return isGood ? .success : .rejected
  }
}

extension NotificationID {
  /// The operand of a command.
  init(operandOf invocation: Invocation) throws {
    guard let id = NotificationID(text: invocation.operands[0]) else {
      throw invocation.usageError(
        "'\(invocation.operands[0].prefix(32))' is no notification id; give the number that enqueue printed")
    }
    self = id
  }
}

extension NotificationStatus {
  /// The status for people, or as one JSON object.
  func text(json: Bool) -> String { json ? self.json : lines }

  private var lines: String {
    let sums = [
      ("accepted", counts.accepted), ("rejected", counts.rejected), ("expired", counts.expired),
      ("canceled", counts.canceled), ("failed", counts.failed), ("skipped", counts.skipped),
      ("pending", counts.pending),
    ].filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    let devices = "\(isComplete ? "" : "at least ")\(counts.devices) \(counts.devices == 1 ? "device" : "devices")"
    let detail = sums.isEmpty ? devices : "\(devices): \(sums.joined(separator: ", "))"
    return "\(id)  \(state.rawValue)  \(detail)"
  }

  private var json: String {
    var writer = JSONWriter()
    writer.object { write(to: &$0) }
    return writer.text
  }

  private func write(to writer: inout JSONWriter) {
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
  func write(to writer: inout JSONWriter) {
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
