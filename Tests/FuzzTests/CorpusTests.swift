import Foundation
import Testing

/// Replays the kept bytes of every target: what once trapped or broke a property must not do so again.
@Suite("Bytes that the fuzzer kept")
struct CorpusTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
    "Corpus")

  @Test("keep every property of their target", .timeLimit(.minutes(2)), arguments: FuzzTarget.all)
  func properties(target: FuzzTarget) throws {
    let files = try FileManager.default.contentsOfDirectory(
      at: Self.folder.appendingPathComponent(target.name), includingPropertiesForKeys: nil)

    #expect(files.count >= 2 && files.count < 200, "a corpus of \(files.count) files")
    for file in files {
      let bytes = Array(try Data(contentsOf: file))
      do {
        try target.check(bytes)
      } catch {
        Issue.record("\(target.name)/\(file.lastPathComponent): \(error)")
      }
    }
  }

  @Test("belong to a target each")
  func folders() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { !$0.hasPrefix(".") }

    #expect(folders.sorted() == FuzzTarget.all.map(\.name).sorted())
  }
}
