import Composition
import Operations
import PushCore

/// `sendpush status`: where a notification stands.
enum StatusCommand {
  static let command = Command(
    "status", "Shows a notification's state and how many devices have which outcome.",
    options: [
      .flag("wait", "waits until every device has its outcome; ends 0 when all are accepted, else 1"), .waitTimeout,
      .store,
    ],
    operands: [Operand("ID", "the id that enqueue printed")],
    examples: ["sendpush status 891234567890123 --wait --timeout 30s"]
  ) { invocation, console in
    let id = try NotificationID(operandOf: invocation)
    let timeout = try StatusWait.timeout(invocation)
    let context = try CommandContext(invocation, console, usesKeys: false)
    return try await context.withStore(creates: false) { store in
      if invocation.flag("wait") {
        return try await StatusWait(context: context, store: store, timeout: timeout).exitCode(
          of: id, printsStatus: true)
      }
      let status = try await StatusWait.status(of: id, in: store)
      if invocation.flag("json") {
        console.print(object: status.write)
      } else {
        console.print(status.line)
        if let story = try await Standing(status, in: store).story { console.print("  \(story)") }
      }
      return .success
    }
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
  /// The status in a line for people.
  var line: String {
    let sums = [
      ("accepted", counts.accepted), ("rejected", counts.rejected), ("expired", counts.expired),
      ("canceled", counts.canceled), ("failed", counts.failed), ("skipped", counts.skipped),
      ("pending", counts.pending),
    ].filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    let devices = "\(isComplete ? "" : "at least ")\(counts.devices) \(counts.devices == 1 ? "device" : "devices")"
    let detail = sums.isEmpty ? devices : "\(devices): \(sums.joined(separator: ", "))"
    return "\(id)  \(state.rawValue)  \(detail)"
  }
}
