import Foundation
import Testing

@testable import APNsSimulator

@Suite("The documentation page of the simulator")
struct DocumentationTests {
  static func page() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    return try String(
      contentsOf: root.appending(path: "Sources/APNsSimulator/APNsSimulator.docc/APNsSimulator.md"), encoding: .utf8)
  }

  @Test("names every action, setting, violation, reason and knob")
  func names() throws {
    let page = try Self.page()
    let names =
      FaultAction.all.map(\.name) + SettingName.allCases.map(\.rawValue) + Violation.allCases.map(\.rawValue)
      + Reason.allCases.map(\.rawValue) + Knob.all.map(\.name)

    for name in names { #expect(page.contains("`\(name)`"), "\(name)") }
  }

  @Test("has an example script that can be read")
  func example() throws {
    let page = try Self.page()
    let start = try #require(page.range(of: "```json\n")).upperBound
    let end = try #require(page.range(of: "```", range: start..<page.endIndex)).lowerBound

    #expect(try FaultScript(parsing: Array(page[start..<end].utf8)).rules.count == 7)
  }
}
