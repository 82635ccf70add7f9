import APNs
import Composition
import Operations
import PushCore

/// `sendpush send`: delivers at once, past the queue, and prints one receipt per device.
enum SendCommand {
  static let command = Command(
    "send", "Delivers a push at once, past the queue, and prints one receipt per device.",
    groups: [
      PushOptions.target, PushOptions.signingApp, PushOptions.content, PushOptions.approval, PushOptions.headers,
      OptionGroup(
        "Mode",
        [
          .flag("dry-run", "shows the exact request, the provider token masked; sends nothing"),
          .flag("wait", "changes nothing: it always waits"),
          .value("timeout", "DURATION", "how long everything may take (default: 30s)"), .lane,
        ] + ["idempotency-key", "send-at"].map { .elsewhere($0, "sendpush enqueue") }),
      OptionGroup("Where", [.host, .authorities, .proxy, .store, .later("api"), .later("api-key")]),
    ],
    options: [.showTokens],
    examples: [
      "sendpush send --token 740f4707…bb78ad1b --title Hello --body World",
      "sendpush send --token 740f4707…bb78ad1b --payload @payload.json --dry-run",
    ]
  ) { invocation, console in
    var timeout: Duration?
    let isDryRun = invocation.flag("dry-run")
    let call = try PushCall(invocation, console, usesKeys: !isDryRun, needsApp: true) { _, faults in
      timeout = faults.collect { try invocation.duration("timeout") } ?? nil
    }
    guard !isDryRun, let app = call.app else {
      DryRun(call, isQueued: false).print()
      return .success
    }
    let context = call.context
    let printer = ReceiptPrinter(
      form: invocation.flag("json") ? .json : .text, showsTokens: invocation.flag("show-tokens"), console: console)
    return try await DirectSend(
      context: context, app: app, publication: call.publication,
      deadline: context.clocks.monotonicTime() + (timeout ?? .seconds(30)), printer: printer
    ).run()
  }
}
