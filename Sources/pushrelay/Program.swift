import BuildInfo
import Composition
import Operations

/// The daemon and its administration.
enum Program {
  static let command = Command(
    "pushrelay", "Delivers queued notifications to APNs, and looks after devices and apps.",
    examples: ["pushrelay check", "pushrelay serve"],
    commands: [
      ServeCommand.serve, ServeCommand.worker, .later("api"), MigrateCommand.command, CheckCommand.command,
      Command(
        "device", "Registers, lists and removes devices.",
        commands: [
          DeviceAddCommand.command, DeviceImportCommand.command, DeviceListCommand.command, DeviceRemoveCommand.command,
        ]),
      Command(
        "app", "Shows, pauses and resumes apps.",
        commands: [AppStatusCommand.command, AppPauseCommand.pause, AppPauseCommand.resume]),
      .later("key"),
      ProductVersion.current("pushrelay").command,
    ])
}

extension CommandOption {
  /// `--store URL`.
  static let store = value("store", "URL", "queue, registry and receipts: sqlite:PATH (default: sqlite:pushrelay.db)")
  /// `--topic T`.
  static let topic = value("topic", "T", "bundle ID, or topic with its suffix (default: the only configured app)")
  /// `--environment`.
  static let environment = choice(
    "environment", ["production", "sandbox"], "APNs environment (default: the configured app's)")
}
