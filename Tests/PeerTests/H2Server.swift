import Foundation
import JSON
import Support

/// A running `h2_server.py`: HTTP/2 by python3-h2, which checks what it receives.
struct H2Server {
  let program: RunningProgram
  let port: String

  init(_ site: PeerSite, plan: String) async throws {
    program = try BuiltProgram(path: Peer.python).start(
      [Fixture.path("h2_server.py"), site.certificate, site.certificateKey, plan])
    let line = try await program.line { $0.contains("\"listening\"") }
    guard let port = try JSONValue(parsing: Array(line.utf8))["port"]?.integer else { throw SupportError(line) }
    self.port = String(port)
  }

  /// What it reported of one kind, after each of the `connections` opened so far has been closed.
  func events(_ kind: String, afterClosing connections: Int = 1) async throws -> [JSONValue] {
    try await eventually("the server sees its connections closed") {
      try all().count { $0["event"]?.string == "closed" } >= connections
    }
    return try all().filter { $0["event"]?.string == kind }
  }

  private func all() throws -> [JSONValue] { try JSONLines.parse(program.output) }
}
