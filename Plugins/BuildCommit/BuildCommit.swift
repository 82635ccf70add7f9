import Foundation
import PackagePlugin

/// Writes the commit that is built into a source file, for `version`.
@main
struct BuildCommit: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let file = context.pluginWorkDirectoryURL.appending(path: "BuildCommit.swift").path
    let script = """
      commit=$(git -C "$1" rev-parse --verify HEAD 2>/dev/null) || commit=unknown
      text="let buildCommit = \\"$commit\\""
      [ "$(cat "$2" 2>/dev/null)" = "$text" ] || printf '%s\\n' "$text" >"$2"
      """
    return [
      .prebuildCommand(
        displayName: "Note the commit", executable: URL(filePath: "/bin/sh"),
        arguments: ["-c", script, "sh", context.package.directoryURL.path, file],
        outputFilesDirectory: context.pluginWorkDirectoryURL)
    ]
  }
}
