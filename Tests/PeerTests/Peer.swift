import Foundation
import Support

/// The programs of other projects that the tests talk to.
enum Peer {
  /// Debian's Python, whose packages `h2_server.py` uses.
  static let python = "/usr/bin/python3"
  static let nghttpd = "/usr/sbin/nghttpd"
  static let nginx = "/usr/sbin/nginx"
  static let curl = "/usr/bin/curl"
  static let h2load = "/usr/bin/h2load"
  /// The Python with the packages of `requirements.txt`; `scripts/test` makes it.
  static let packagesPython = packages("python3")
  static let hypercorn = packages("hypercorn")
  static let schemathesis = packages("schemathesis")

  /// Debian's python3-h2.
  static let h2Package = "/usr/lib/python3/dist-packages/h2"

  /// Whether tests with these files run: on a developer's machine only when all are there, in CI always.
  static func isUsable(_ files: String...) -> Bool {
    ProcessInfo.processInfo.environment["CI"] == "true"
      || files.allSatisfy { FileManager.default.fileExists(atPath: $0) }
  }

  private static func packages(_ program: String) -> String {
    URL(fileURLWithPath: #filePath).appendingPathComponent("../../../.build/peers/bin/\(program)").standardized.path
  }
}
