import APNs
import Composition
import Operations
import PushCore

/// `sendpush send`: delivers at once, past the queue, and prints one receipt per device.
enum SendCommand {
  static let command = Command(
    "send", "Delivers a push at once, past the queue, and prints one receipt per device.",
    groups: [
      PushOptions.target, PushOptions.app, PushOptions.content, PushOptions.approval, PushOptions.headers,
      OptionGroup(
        "Mode",
        [
          .flag("dry-run", "shows the exact request, the provider token masked; sends nothing"),
          .value("timeout", "DURATION", "how long everything may take (default: 30s)"),
        ]),
      OptionGroup(
        "Where",
        [
          .value("host", "HOST:PORT", "another APNs, such as the simulator"),
          .value("ca", "FILE", "PEM file of an authority to trust beside the system's"),
          .value("proxy", "URL", "HTTP proxy to reach APNs through: http://USER:PASSWORD@HOST:PORT"), .store,
          .later("api"),
          .later("api-key"),
        ]),
    ],
    options: [.json, .showTokens],
    examples: [
      "sendpush send --token 740f4707…bb78ad1b --title Hello --body World",
      "sendpush send --token 740f4707…bb78ad1b --payload @payload.json --dry-run",
    ]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    let request = try PushOptions.request(context)
    let app = try context.app()
    let publication = try PushOptions.publication(of: request, app: app, context)
    if invocation.flag("dry-run") {
      console.print(bytes: Array(DryRun.text(of: publication, app: app, context).utf8))
      return .success
    }
    let timeout = try invocation.duration("timeout") ?? .seconds(30)
    let printer = ReceiptPrinter(
      form: invocation.flag("json") ? .json : .text, showsTokens: invocation.flag("show-tokens"), console: console)
    return try await DirectSend(
      context: context, app: app, publication: publication, deadline: context.clocks.monotonicTime() + timeout,
      printer: printer
    ).run()
  }
}
