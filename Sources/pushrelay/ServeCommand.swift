import Composition
import Operations

/// `pushrelay serve` and `pushrelay worker`: the daemon.
enum ServeCommand {
  static let serve = command(
    "serve", "Runs the relay on this machine: everything that is configured, until SIGTERM or SIGINT.")

  static let worker = command("worker", "Runs the worker alone, without HTTP surfaces.")

  private static func command(_ name: String, _ summary: String) -> Command {
    Command(
      name, summary,
      options: [
        .store, .value("host", "HOST:PORT", "another APNs, such as the simulator"),
        .value("ca", "FILE", "PEM file of an authority to trust beside the system's"),
        .value("proxy", "URL", "HTTP proxy to reach APNs through: http://USER:PASSWORD@HOST:PORT"),
      ],
      examples: ["pushrelay \(name) --config /etc/pushrelay/pushrelay.json"]
    ) { invocation, console in
      let events = Signals.events()
      let relay = try await Relay.start(CommandContext(invocation, console))
      try await relay.run(events: events)
      return .success
    }
  }
}
