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

  private let usesKeys: Bool

  /// Reads the settings; what is doubtful in them is said on standard error.
  ///
  /// - Parameter usesKeys: whether the command signs; one that does not works without the key files.
  /// - Throws: ``ConfigurationError`` with every fault.
  public init(_ invocation: Invocation, _ console: Console, usesKeys: Bool = true) throws {
    var faults = CallFaults()
    self.init(invocation, console, usesKeys: usesKeys, &faults)
    if let fault = faults.errors.first { throw fault }
  }

  /// The same, with the error among the faults of a call: what else is wrong with it can be found all the same. The settings are then as
  /// if what is wrong with them had not been written.
  public init(_ invocation: Invocation, _ console: Console, usesKeys: Bool, _ faults: inout CallFaults) {
    self.invocation = invocation
    self.console = console
    self.usesKeys = usesKeys
    environment = ProcessEnvironment.current()
    clocks = SystemClocks()
    let report = ConfigurationLoader(invocation, environment: environment, usesKeys: usesKeys).load()
    configuration = report.configuration
    _ = faults.collect { try report.get() }
    for warning in report.warnings { console.diagnose("\(warning)") }
  }

  /// Opens the store that the settings name.
  ///
  /// - Parameter creates: whether it is made when there is none; commands that only read say no, since an empty store would hide that
  ///   another was meant.
  public func openStore(creates: Bool) async throws -> any FullStore {
    try await StoreFactory.open(configuration.store, clocks: clocks, creates: creates)
  }

  /// Opens the store for a command, and closes it after it.
  public func withStore<Result: Sendable>(
    creates: Bool, _ body: (any FullStore) async throws -> Result
  ) async throws -> Result {
    let store = try await openStore(creates: creates)
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
    let selected = try configuration.app(
      for: AppSelection(invocation), environment: environment, usesKeys: usesKeys)
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
