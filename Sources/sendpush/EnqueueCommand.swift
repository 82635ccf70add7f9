import Composition
import Operations
import PushCore

/// `sendpush enqueue`: writes a notification to the queue and prints its id.
enum EnqueueCommand {
  static let command = Command(
    "enqueue", "Writes a notification to the relay's queue, durably, and prints its id.",
    groups: [
      PushOptions.target, PushOptions.queuedApp, PushOptions.content, PushOptions.approval, PushOptions.headers,
      OptionGroup(
        "Mode",
        [
          .flag("dry-run", "shows what would be enqueued; writes nothing"),
          .flag("wait", "waits until every device has its outcome; ends 0 or 1"), .waitTimeout,
          .value("idempotency-key", "S", "a repeat with the same key and content enqueues nothing"),
          .value("send-at", "RFC3339", "not before this time, at most 30 days ahead"), .lane,
        ]),
      OptionGroup(
        "Where",
        [.store, .later("api"), .later("api-key")]
          + ["host", "ca", "proxy"].map { .elsewhere($0, "pushrelay serve, which sends, and to sendpush send") }),
    ],
    examples: [
      "sendpush enqueue --interest news --title 'New issue' --body 'Read it now'",
      "sendpush enqueue --login-approval --email janedoe@pusher.com --hash 7d3c…",
    ]
  ) { invocation, console in
    var timeout: Duration?
    var call = try PushCall(invocation, console, usesKeys: false, needsApp: false) { request, faults in
      request.sendAt = faults.collect { try invocation.time("send-at") } ?? nil
      timeout = faults.collect { try StatusWait.timeout(invocation) } ?? nil
      faults.collect { try checkIdempotencyKey(invocation) }
    }
    if invocation.flag("dry-run") {
      DryRun(call, isQueued: true).print()
      return .success
    }
    if let key = invocation.value("idempotency-key") {
      call.publication.idempotencyKey = IdempotencyKey(
        scope: 0, key: key, requestHash: Digests.hash(of: call.publication))
    }
    return try await enqueue(call.publication, call.context, timeout: timeout)
  }

  private static func checkIdempotencyKey(_ invocation: Invocation) throws {
    if let key = invocation.value("idempotency-key"), !(1...255).contains(key.utf8.count) {
      throw invocation.usageError("--idempotency-key takes 1 to 255 bytes")
    }
  }

  private static func enqueue(
    _ publication: Publication, _ context: CommandContext, timeout: Duration?
  ) async throws -> ExitCode {
    let (invocation, console) = (context.invocation, context.console)
    return try await context.withStore(creates: true) { store in
      try await context.bind(store, topics: [publication.topic])
      let id = try await publish(publication, in: store, console)
      let state = try await Self.state(of: id, publication, in: store, context)
      if invocation.flag("json") {
        console.print { object in
          object.member("id", id.description)
          object.member("state", state.rawValue)
        }
      } else {
        console.print(id.description)
      }
      console.flush()
      guard invocation.flag("wait") else { return .success }
      return try await StatusWait(context: context, store: store, timeout: timeout).exitCode(of: id)
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
          "--idempotency-key", "it was used for another notification (\(id)); nothing was enqueued. Choose a new key")
      ])
    }
  }
}
