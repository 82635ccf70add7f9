import Composition
import Operations
import PushCore

/// `sendpush cancel`: stops what is not handed to a connection yet.
enum CancelCommand {
  static let command = Command(
    "cancel", "Cancels a notification: what is not handed to a connection yet is not sent.", options: [.store],
    operands: [Operand("ID", "the id that enqueue printed")], examples: ["sendpush cancel 891234567890123"]
  ) { invocation, console in
    let id = try NotificationID(operandOf: invocation)
    let context = try CommandContext(invocation, console, usesKeys: false)
    return try await context.withStore(creates: false) { store in
      let isCanceled = try await store.cancel(id)
      let status = try await StatusWait.status(of: id, in: store)
      guard isCanceled == true else {
        throw NotificationFaults([
          NotificationFinding("id", "the notification is final already: \(status.state.rawValue)")
        ])
      }
      if invocation.flag("json") {
        console.print { object in
          object.member("id", id.description)
          object.member("state", NotificationState.canceled.rawValue)
          object.name("counts")
          status.counts.write(to: &object)
        }
      } else {
        console.print(status.line)
      }
      return .success
    }
  }
}
