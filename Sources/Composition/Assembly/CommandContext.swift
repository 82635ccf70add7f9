import APNs
import Operations
import PushCore
import StoreSQLite

/// What a command starts from: its options, its output, and the settings in force.
public struct CommandContext: Sendable {
  /// The command that was called.
  public let invocation: Invocation
  /// Its output.
  public let console: Console
  /// The settings.
  public let configuration: Configuration
  /// The environment, read once.
  public let environment: ProcessEnvironment
  /// The clocks.
  public let clocks: any Clocks

  /// Reads the settings; what is doubtful in them is said on standard error.
  /// - Throws: ``ConfigurationError`` with every fault.
  public init(_ invocation: Invocation, _ console: Console) throws {
    self.invocation = invocation
    self.console = console
    environment = ProcessEnvironment.current()
    clocks = SystemClocks()
    let report = ConfigurationLoader(invocation, environment: environment).load()
    configuration = try report.get()
    for warning in report.warnings { console.diagnose("\(warning)") }
  }

  /// Opens the store that the settings name.
  public func openStore() async throws -> any Store {
    try await StoreFactory.open(configuration.store, clocks: clocks)
  }

  /// Opens the store for a command, and closes it after it.
  public func withStore<Result: Sendable>(_ body: (any Store) async throws -> Result) async throws -> Result {
    let store = try await openStore()
    do {
      let result = try await body(store)
      await store.close()
      return result
    } catch {
      await store.close()
      throw error
    }
  }

  /// The app that the options choose, or the only one that is configured.
  public func app() throws -> Configuration.App {
    let selected = try configuration.app(for: AppSelection(invocation), environment: environment)
    for warning in selected.warnings { console.diagnose("\(warning)") }
    return selected.app
  }
}

extension PushCore.Environment {
  /// The environment of the settings.
  public init(_ environment: Configuration.Environment) {
    switch environment {
    case .production: self = .production
    case .sandbox: self = .sandbox
    }
  }
}

extension StoreError: ExitCodeProviding {
  /// 75 for what may work later, 69, 77 or 78 for what must be repaired first.
  public var exitCode: ExitCode {
    switch code {
    case .temporary: .temporaryFailure
    case .unavailable, .internal: .unavailable
    case .notAllowed: .notAllowed
    case .unusable, .unknownTopic: .configuration
    }
  }
}

extension NotificationFaults: ExitCodeProviding {
  /// 65.
  public var exitCode: ExitCode { .badData }
}
