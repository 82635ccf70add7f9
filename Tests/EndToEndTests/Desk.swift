import Foundation
import JSON
import Support

/// A place to run the programs in without any APNs: a key, a config file, a store.
final class Desk: Sendable {
  static let topic = "com.example.dashboard"

  let directory: TemporaryDirectory
  private let pushrelay: BuiltProgram
  private let sendpush: BuiltProgram

  /// A desk with a good key and a config file for one app.
  init() async throws {
    directory = try TemporaryDirectory()
    pushrelay = try BuiltProgram("pushrelay")
    sendpush = try BuiltProgram("sendpush")
    try await Site.makeKey(directory.path(of: "AuthKey_KEY1234567.p8"))
    try configure()
  }

  /// Writes `pushrelay.json`, one setting a line.
  func configure(more: String = "") throws {
    try directory.write(
      """
      { "store": "sqlite:relay.db",
        "apps": [{ "topic": "\(Self.topic)",
                   "team_id": "ABCDE12345", "key_id": "KEY1234567",
                   "key_file": "AuthKey_KEY1234567.p8" }],
      \(more) }
      """, to: "pushrelay.json")
  }

  /// Runs a program, the first word, in the desk's folder.
  func run(_ words: String..., input: String = "") async throws -> ProgramResult { try await run(words, input: input) }

  /// Runs a program, the first word, in the desk's folder.
  func run(_ words: [String], input: String = "") async throws -> ProgramResult {
    try await (words[0] == "pushrelay" ? pushrelay : sendpush).run(
      Array(words.dropFirst()), input: Array(input.utf8), directory: directory.path)
  }

  /// Runs a line of a shell that knows the programs as `$pushrelay` and `$sendpush`.
  func shell(_ line: String) async throws -> ProgramResult {
    try await BuiltProgram(path: "/bin/sh").run(
      ["-c", line],
      environment: BuiltProgram.defaultEnvironment.merging(
        ["pushrelay": pushrelay.path, "sendpush": sendpush.path]) { $1 }, directory: directory.path)
  }

  /// Whether a file is in the folder.
  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: directory.path(of: name)) }
}
