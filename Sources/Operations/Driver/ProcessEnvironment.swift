@unsafe @preconcurrency import CLinux

/// The environment variables of a process, taken once at start.
public struct ProcessEnvironment: Sendable {
  /// Names and values.
  public let variables: [String: String]

  /// An environment made up, for tests.
  public init(_ variables: [String: String]) { self.variables = variables }

  /// Copies the process's own environment; called by `main` before any other thread exists.
  public static func current() -> ProcessEnvironment {
    var variables: [String: String] = [:]
    guard var entry = unsafe __environ else { return ProcessEnvironment([:]) }
    while let text = unsafe entry.pointee {
      let pair = unsafe String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
      unsafe entry += 1
    }
    return ProcessEnvironment(variables)
  }

  /// The value of a variable; an empty one counts as not set.
  public subscript(name: String) -> String? {
    variables[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}
