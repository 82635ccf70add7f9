import Foundation

/// Finds the data files of a test target in its `Fixtures` folder.
public enum Fixture {
  /// The path of a fixture; the folder is looked for beside the calling file and above it.
  public static func path(_ name: String, caller: String = #filePath) throws -> String {
    var folder = URL(fileURLWithPath: caller).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent("Fixtures").appendingPathComponent(name)
      if FileManager.default.fileExists(atPath: candidate.path) { return candidate.path }
      folder.deleteLastPathComponent()
    }
    throw SupportError("no fixture '\(name)' beside or above \(caller)")
  }

  /// The bytes of a fixture.
  public static func bytes(_ name: String, caller: String = #filePath) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name, caller: caller))))
  }

  /// The text of a fixture.
  public static func text(_ name: String, caller: String = #filePath) throws -> String {
    String(decoding: try bytes(name, caller: caller), as: UTF8.self)
  }
}

/// What went wrong around a test rather than in it.
public struct SupportError: Error, CustomStringConvertible {
  /// One sentence.
  public let description: String

  /// A failure with its sentence.
  public init(_ description: String) { self.description = description }
}
