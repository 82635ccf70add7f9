import Composition
import Operations
import PushCore

/// Waits for a notification to become final.
struct StatusWait {
  let context: CommandContext
  let store: any Store
  /// How long; nil = until the notification's deadline has passed.
  let timeout: Duration?

  /// How long after the deadline its relay may take to write down what expired.
  private static let patience = Duration.seconds(10)

  /// What `--timeout` says.
  /// - Throws: ``UsageError`` when nothing is waited for.
  static func timeout(_ invocation: Invocation) throws(UsageError) -> Duration? {
    if invocation.isGiven("timeout"), !invocation.flag("wait") {
      throw invocation.usageError("--timeout goes with --wait")
    }
    return try invocation.duration("timeout")
  }

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
    var status = try await Self.status(of: id, in: store)
    let rest = Duration.milliseconds(status.expiresAt.value - clocks.wallTime().value) + Self.patience
    let limit = clocks.monotonicTime() + (timeout ?? rest)
    while !status.state.isFinal, clocks.monotonicTime() < limit {
      await clocks.sleep(until: min(limit, clocks.monotonicTime() + .milliseconds(50)))
      status = try await Self.status(of: id, in: store)
    }
    if printsStatus {
      if context.invocation.flag("json") {
        context.console.print(object: status.write)
      } else {
        context.console.print(status.line)
      }
    }
    guard status.state.isFinal else {
      let over = timeout == nil ? "the notification's deadline has passed" : "the time is over"
      let standing = try await Standing(status, in: store)
      context.console.diagnose(
        "\(over) and the notification is still \(status.state.rawValue); \(timeout == nil ? Standing.isServing : standing.outlook)"
      )
      return .temporaryFailure
    }
    let counts = status.counts
    let isGood =
      status.state == .done && counts.rejected + counts.expired + counts.failed + counts.canceled == 0
    return isGood ? .success : .rejected
  }
}

extension CommandOption {
  /// `--timeout` beside `--wait`.
  static let waitTimeout = value(
    "timeout", "DURATION", "how long --wait waits (default: until the notification's deadline)")
}
