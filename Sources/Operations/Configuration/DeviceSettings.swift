extension Configuration {
  /// What apps may do by themselves, without a key.
  public struct DeviceAPI: Sendable, Equatable {
    /// Endpoints that the seeds of this interface leave open to everybody.
    public enum OpenEndpoint: String, Sendable, CaseIterable {
      /// Listing device tokens.
      case tokens
      /// Removing a device by its token.
      case deleteToken = "delete_token"
      /// Sending a greeting to everyone.
      case notify
    }

    /// The topic of devices that name none; nil = that of the only app.
    public internal(set) var defaultTopic: String?
    /// The environment of devices that do not say.
    public internal(set) var environment = Environment.production
    /// The endpoints that are there although they need no key.
    public internal(set) var openEndpoints: [OpenEndpoint] = []

    /// The defaults.
    public init() {}
  }

  /// Which bindings of users count.
  public struct Users: Sendable, Equatable {
    /// Whether pushes to a user reach devices that were bound without proof.
    public internal(set) var allowUnverified = false
  }

  /// Where webhooks of Beams may go.
  public struct Webhooks: Sendable, Equatable {
    /// Networks that are no part of the public Internet.
    public internal(set) var allowedNetworks: [IPAddressRange] = []
    /// Whether `http://` is allowed beside `https://`.
    public internal(set) var allowHTTP = false
  }

  /// A Beams instance that this relay stands for.
  public struct BeamsInstance: Sendable, Equatable {
    /// Its id, a UUID in lower case.
    public let id: String
    /// What its backend proves itself with, and what user tokens are signed with.
    public let secretKey: SecretText
    /// The bundle ids of its apps.
    public let topics: [String]
    /// The environment of its devices.
    public let environment: Environment

    /// An instance by its parts.
    public init(id: String, secretKey: SecretText, topics: [String], environment: Environment) {
      self.id = id
      self.secretKey = secretKey
      self.topics = topics
      self.environment = environment
    }
  }
}

/// A name of an interest, or the beginning of many: `auth-*`.
public struct InterestPattern: Sendable, Equatable, CustomStringConvertible {
  private let text: String
  private let isPrefix: Bool

  /// All names that begin so.
  public init(prefix: String) {
    text = prefix
    isPrefix = true
  }

  /// Reads a name, or a beginning with `*` behind it; nil for an empty text and for `*` elsewhere.
  public init?(_ text: String) {
    isPrefix = text.hasSuffix("*")
    self.text = isPrefix ? String(text.dropLast()) : text
    guard !text.isEmpty, !self.text.contains("*") else { return nil }
  }

  /// Whether a name is meant. Names differ by case.
  public func matches(_ name: String) -> Bool {
    isPrefix ? name.utf8.starts(with: text.utf8) : name.utf8.elementsEqual(text.utf8)
  }

  /// As it is written.
  public var description: String { isPrefix ? "\(text)*" : text }
}
