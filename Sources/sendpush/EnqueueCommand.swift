import Composition
import JSON
import Operations
import PushCore

/// `sendpush enqueue`: writes a notification to the queue and prints its id.
enum EnqueueCommand {
  static let command = Command(
    "enqueue", "Writes a notification to the relay's queue, durably, and prints its id.",
    groups: [
      PushOptions.target, PushOptions.app, PushOptions.content, PushOptions.approval, PushOptions.headers,
      OptionGroup(
        "Mode",
        [
          .flag("dry-run", "shows what would be enqueued; writes nothing"),
          .flag("wait", "waits until every device has its outcome; ends 0 or 1"),
          .value("timeout", "DURATION", "how long --wait waits (default: until the notification's deadline)"),
          .value("idempotency-key", "S", "a repeat with the same key and content enqueues nothing"),
          .value("send-at", "RFC3339", "not before this time, at most 30 days ahead"),
          .choice("lane", ["urgent", "normal", "bulk"], "order of service"),
        ]),
      OptionGroup("Where", [.store, .later("api"), .later("api-key")]),
    ],
    options: [.json],
    examples: [
      "sendpush enqueue --interest news --title 'New issue' --body 'Read it now'",
      "sendpush enqueue --login-approval --email janedoe@pusher.com --hash 7d3c…",
    ]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    var request = try PushOptions.request(context)
    request.sendAt = try invocation.time("send-at")
    request.lane = invocation.value("lane") ?? request.lane
    let app = context.configuration.apps.isEmpty && request.topic != nil ? nil : try context.app()
    var publication = try PushOptions.publication(of: request, app: app, context)
    if let key = invocation.value("idempotency-key") {
      guard !key.isEmpty, key.utf8.count <= 255 else {
        throw invocation.usageError("--idempotency-key takes 1 to 255 bytes")
      }
      publication.idempotencyKey = IdempotencyKey(scope: 0, key: key, requestHash: Digests.hash(of: publication))
    }
    if invocation.flag("dry-run") {
      console.print(bytes: Array(DryRun.text(of: publication, app: app, context).utf8))
      return .success
    }
    return try await enqueue(publication, context)
  }

  private static func enqueue(_ publication: Publication, _ context: CommandContext) async throws -> ExitCode {
    let (invocation, console) = (context.invocation, context.console)
    return try await context.withStore { store in
      try await context.bind(store, topics: [publication.topic])
      let id = try await publish(publication, in: store, console)
      let state = try await Self.state(of: id, publication, in: store, context)
      if invocation.flag("json") {
        var writer = JSONWriter()
        writer.object {
          $0.member("id", id.description)
          $0.member("state", state.rawValue)
        }
        console.print(writer.text)
      } else {
        console.print(id.description)
      }
      console.flush()
      guard invocation.flag("wait") else { return .success }
      return try await StatusWait(context: context, store: store).exitCode(of: id)
    }
  }

  /// How it was stored: a relay may be sending it by now.
  private static func state(
    of id: NotificationID, _ publication: Publication, in store: any Store, _ context: CommandContext
  ) async throws -> NotificationState {
    if let sendAt = publication.sendAt, sendAt > context.clocks.wallTime() { return .scheduled }
    return try await store.status(id)?.state == .held ? .held : .queued
  }

  private static func publish(
    _ publication: Publication, in store: any Store, _ console: Console
  ) async throws -> NotificationID {
    switch try await store.publish(publication) {
    case .stored(let id, let expectedDevices):
      if expectedDevices == 0 {
        console.diagnose("no device is registered for this target now; the notification is queued all the same")
      }
      return id
    case .repeated(let id):
      console.diagnose("the idempotency key was used for this notification before; nothing new was enqueued")
      return id
    case .conflict(let id):
      throw NotificationFaults([
        NotificationFinding(
          "idempotency-key", "it was used for another notification (\(id)); nothing was enqueued. Choose a new key")
      ])
    }
  }
}
