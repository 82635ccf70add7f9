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
