import Composition
import JSON
import Operations
import PushCore

/// `sendpush cancel`: stops what is not handed to a connection yet.
enum CancelCommand {
  static let command = Command(
    "cancel", "Cancels a notification: what is not handed to a connection yet is not sent.", options: [.json, .store],
    operands: [Operand("ID", "the id that enqueue printed")], examples: ["sendpush cancel 891234567890123"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    let id = try NotificationID(operandOf: invocation)
    return try await context.withStore { store in
      let isCanceled = try await store.cancel(id)
      let status = try await StatusWait.status(of: id, in: store)
      guard isCanceled == true else {
        throw NotificationFaults([
          NotificationFinding("id", "the notification is final already: \(status.state.rawValue)")
        ])
      }
      if invocation.flag("json") {
        var writer = JSONWriter()
        writer.object {
          $0.member("id", id.description)
          $0.member("state", NotificationState.canceled.rawValue)
          $0.name("counts")
          status.counts.write(to: &$0)
        }
        console.print(writer.text)
      } else {
        console.print(status.text(json: false))
      }
      return .success
    }
  }
}
