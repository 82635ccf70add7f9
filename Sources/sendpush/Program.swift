import BuildInfo
import Composition
import Operations

/// Pushes for people and cron.
enum Program {
  static let command = Command(
    "sendpush", "Sends pushes to APNs, at once or through the relay's queue, and shows what became of them.",
    examples: [
      "sendpush send --token 740f4707…bb78ad1b --title Hello --body World",
      "sendpush enqueue --login-approval --email janedoe@pusher.com --hash 7d3c…",
    ],
    commands: [
      SendCommand.command, EnqueueCommand.command, .later("batch"), StatusCommand.command, ReceiptsCommand.command,
      CancelCommand.command, .later("doctor"), ProductVersion.current("sendpush").command,
    ])
}
