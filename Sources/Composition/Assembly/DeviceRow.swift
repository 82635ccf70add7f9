import Operations
import PushCore

/// A device as options or a row of a file describe it; nil = not said.
public struct DeviceRow: Sendable {
  /// The device token, in any of the forms that apps print.
  public var token: String
  /// The topic; nil = the only configured app.
  public var topic: String?
  /// The environment's name; nil = the configured app's.
  public var environment: String?
  /// The user.
  public var user: String?
  /// The interests.
  public var interests: [String]?
  /// The language.
  public var language: String?

  /// A description by its parts.
  public init(
    token: String, topic: String?, environment: String?, user: String?, interests: [String]?, language: String?
  ) {
    self.token = token
    self.topic = topic
    self.environment = environment
    self.user = user
    self.interests = interests
    self.language = language
  }

  /// Why a description cannot be registered.
  public struct Fault: ExitCodeProviding, CustomStringConvertible {
    /// What is wrong and what to do.
    public let description: String
    /// 65; 78 when the settings have no such app.
    public let exitCode: ExitCode

    init(_ description: String) {
      self.description = description
      exitCode = .badData
    }

    /// What is wrong with the choice of an app.
    init(_ error: ConfigurationError) {
      description = error.findings.map(\.advice).joined(separator: "; ")
      exitCode = error.exitCode
    }
  }

  /// Checks what can be judged without settings; what is wrong with the input counts before what is wrong with them.
  /// - Returns: the device token.
  @discardableResult
  public func check() throws(Fault) -> DeviceToken {
    if let user, let fault = NotificationLimits.fault(inUserID: user) { throw Fault("user: \(fault)") }
    for interest in interests ?? [] {
      if let fault = InterestName.fault(in: interest) { throw Fault("interest: \(fault)") }
    }
    if let language, let fault = LanguageTag.fault(in: language) { throw Fault(fault) }
    do {
      return try DeviceToken(parsing: token)
    } catch {
      throw Fault("\(error)")
    }
  }

  /// Checks everything and makes a registration of it.
  public func registration(_ configuration: Configuration) throws(Fault) -> DeviceRegistration {
    let deviceToken = try check()
    let topic = try checkedTopic(configuration)
    return DeviceRegistration(
      topic: topic, environment: try checkedEnvironment(configuration.app(for: topic)), token: deviceToken,
      user: user.map { .set($0) } ?? .unchanged, userIsVerified: user != nil,
      language: language.map { .set($0) } ?? .unchanged, interests: interests.map { .set($0) } ?? .unchanged)
  }

  private func checkedTopic(_ configuration: Configuration) throws(Fault) -> String {
    if let topic {
      if let fault = TopicText.fault(in: topic) { throw Fault(fault) }
      guard configuration.apps.isEmpty || configuration.app(for: topic) != nil else {
        throw Fault(configuration.unknownTopic(topic))
      }
      return topic
    }
    do {
      return try configuration.onlyApp.topic
    } catch {
      throw Fault(error)
    }
  }

  private func checkedEnvironment(_ app: Configuration.App?) throws(Fault) -> Environment {
    guard let environment else { return app.map { Environment($0.environment) } ?? .production }
    guard let known = Environment(name: environment) else {
      throw Fault("the environment must be production or sandbox")
    }
    return known
  }
}
