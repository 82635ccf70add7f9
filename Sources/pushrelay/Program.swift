import BuildInfo
import Composition
import Operations

/// The daemon and its administration.
enum Program {
  static let command = Command(
    "pushrelay", "Delivers queued notifications to APNs, and looks after devices, apps and API keys.",
    examples: ["pushrelay check", "pushrelay serve"],
    commands: [
      ServeCommand.serve, ServeCommand.worker, ServeCommand.api, MigrateCommand.command, CheckCommand.command,
      Command(
        "device", "Registers, lists and removes devices.",
        commands: [
          DeviceAddCommand.command, DeviceImportCommand.command, DeviceListCommand.command, DeviceRemoveCommand.command,
        ]),
      Command(
        "app", "Shows, pauses and resumes apps.",
        commands: [AppStatusCommand.command, AppPauseCommand.pause, AppPauseCommand.resume]),
      Command(
        "key", "Makes, lists and revokes API keys for backends.",
        commands: [KeyAddCommand.command, KeyListCommand.command, KeyRevokeCommand.command]),
      ProductVersion.current("pushrelay").command,
    ])
}
