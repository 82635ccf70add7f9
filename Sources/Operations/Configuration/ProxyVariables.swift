/// What the environment says about HTTP proxies, which this version cannot use: a push must not silently go another way.
public struct ProxyVariables: Sendable {
  private let variable: String?
  private let exceptions: [String]

  /// Reads `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case, as curl does.
  public init(_ environment: ProcessEnvironment) {
    variable = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].first { environment[$0] != nil }
    exceptions = (environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")
      .split { $0 == "," || $0 == " " }.map { $0.lowercased() }
  }

  /// What is wrong with connecting to a host directly; `nil` when no proxy is meant for it.
  public func finding(for host: HostPort) -> ConfigurationFinding? {
    guard let variable, !host.isLoopback, !isExcepted(host.host.lowercased()) else { return nil }
    return ConfigurationFinding(
      .error, place: "environment \(variable)", "asks for a proxy, which is not in this version",
      remedy: "to connect to \(host.host) directly, add it to NO_PROXY or unset \(variable)")
  }

  /// A name in the list stands for itself and for every name below it.
  private func isExcepted(_ host: String) -> Bool {
    exceptions.contains { exception in
      let name = exception.hasPrefix(".") ? String(exception.dropFirst()) : exception
      return exception == "*" || host == name || host.hasSuffix("." + name)
    }
  }
}
