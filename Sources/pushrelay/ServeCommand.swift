import BuildInfo
import Composition
import Operations

/// `pushrelay serve`, `pushrelay worker` and `pushrelay api`: the daemon, whole or in parts.
enum ServeCommand {
  static let serve = command(
    "serve", "Runs the relay on this machine: everything that is configured, until SIGTERM or SIGINT.", listens: true)

  static let worker = command("worker", "Runs the worker alone, without HTTP surfaces.", listens: false)

  static let api = Command(
    "api", "Runs the HTTP surfaces alone, without a worker; needs no key files.", options: [.store],
    examples: ["pushrelay api --config /etc/pushrelay/pushrelay.json"]
  ) { invocation, console in
    let events = Signals.events()
    let context = try CommandContext(invocation, console, usesKeys: false)
    let service = try await APIService.start(context, version: ProductVersion.current("pushrelay"))
    try await service.run(events: events)
    return .success
  }

  private static func command(_ name: String, _ summary: String, listens: Bool) -> Command {
    Command(
      name, summary,
      options: [
        .store, .host, .authorities, .proxy,
      ],
      examples: ["pushrelay \(name) --config /etc/pushrelay/pushrelay.json"]
    ) { invocation, console in
      let events = Signals.events()
      let relay = try await Relay.start(
        CommandContext(invocation, console), listens: listens, version: ProductVersion.current("pushrelay"))
      try await relay.run(events: events)
      return .success
    }
  }
}
