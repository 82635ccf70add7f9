import Foundation

/// A folder of a test's own, removed with everything in it when the object goes.
///
/// Keep it in a property of a suite that is a class, or use ``withTemporaryDirectory(_:)``: a local variable may be released
/// after its last use, before the test ends.
public final class TemporaryDirectory: Sendable {
  /// The folder, without a slash at the end.
  public let path: String

  /// A new empty folder that only this user can read.
  public init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("pushrelay-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = url.path
  }

  deinit {
    // A test that removed the folder itself, or took its permissions away, has nothing more to clean up.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file in the folder.
  public func path(of name: String) -> String { "\(path)/\(name)" }

  /// Writes a file in the folder and returns its path; parent folders are made, `mode` is set whatever the umask.
  @discardableResult
  public func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
    try write(Array(text.utf8), to: name, mode: mode)
  }

  /// Writes a file in the folder and returns its path; parent folders are made, `mode` is set whatever the umask.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String, mode: Int = 0o600) throws -> String {
    let url = URL(fileURLWithPath: path(of: name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    return url.path
  }
}

/// Runs `body` with a folder of its own and removes the folder afterwards.
public func withTemporaryDirectory<Result>(
  _ body: (TemporaryDirectory) async throws -> Result
) async throws -> Result {
  let directory = try TemporaryDirectory()
  defer { withExtendedLifetime(directory) {} }
  return try await body(directory)
}
