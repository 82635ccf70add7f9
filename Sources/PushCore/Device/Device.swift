import Operations

/// Absent or given: what a registration says of a value.
public enum Change<Value: Sendable & Equatable>: Sendable, Equatable {
  /// Not said: the stored value stays.
  case unchanged
  /// Said: the stored value becomes this one.
  case set(Value)
}

/// What a registration means for the same token in the app's other environment.
public enum OtherEnvironment: Sendable, Equatable {
  /// Nothing: both are devices of their own.
  case isApart
  /// The device there is this one, and moves here with its user and interests.
  case movesHere
  /// The device there, when there is none here, is this one and stays where it is.
  case staysThere
}

/// One call that registers or refreshes a device.
public struct DeviceRegistration: Sendable, Equatable {
  /// The topic with its suffix.
  public var topic: String
  /// The environment that issued the token.
  public var environment: Environment
  /// The token.
  public var token: DeviceToken
  /// The user behind the device; a new user clears the interests that are not given.
  public var user: Change<String?>
  /// Whether the user was proved (an API key or a signed user token), not merely said.
  public var userIsVerified: Bool
  /// The language the app speaks, a BCP 47 tag.
  public var language: Change<String?>
  /// The interests, granted; replaces the present ones.
  public var interests: Change<[String]>
  /// What it means for the other environment.
  public var otherEnvironment: OtherEnvironment

  /// A registration by its parts.
  public init(
    topic: String, environment: Environment, token: DeviceToken, user: Change<String?> = .unchanged,
    userIsVerified: Bool = false, language: Change<String?> = .unchanged, interests: Change<[String]> = .unchanged,
    otherEnvironment: OtherEnvironment = .isApart
  ) {
    self.otherEnvironment = otherEnvironment
    self.topic = topic
    self.environment = environment
    self.token = token
    self.user = user
    self.userIsVerified = userIsVerified
    self.language = language
    self.interests = interests
  }
}

/// What a registration did.
public enum RegistrationResult: Sendable, Equatable {
  /// The device was not known.
  case added(DeviceID)
  /// The device was known: refreshed, and no longer retired.
  case refreshed(DeviceID)
}

/// One registered device.
public struct Device: Sendable, Equatable {
  /// Its id; also the place behind which the next page of a listing starts.
  public var id: DeviceID
  /// The topic with its suffix.
  public var topic: String
  /// The environment that issued the token.
  public var environment: Environment
  /// The token.
  public var token: DeviceToken
  /// The user behind it.
  public var user: String?
  /// Whether the user was proved.
  public var userIsVerified: Bool
  /// The language the app speaks.
  public var language: String?
  /// The interests granted to it, sorted.
  public var interests: [String]
  /// When it registered last.
  public var registeredAt: UnixMilliseconds
  /// When APNs said that it is gone; nil = active.
  public var retiredAt: UnixMilliseconds?
  /// What APNs said then.
  public var retiredReason: ReasonID?

  /// A device by its values.
  public init(
    id: DeviceID, topic: String, environment: Environment, token: DeviceToken, user: String?, userIsVerified: Bool,
    language: String?, interests: [String], registeredAt: UnixMilliseconds, retiredAt: UnixMilliseconds?,
    retiredReason: ReasonID?
  ) {
    self.id = id
    self.topic = topic
    self.environment = environment
    self.token = token
    self.user = user
    self.userIsVerified = userIsVerified
    self.language = language
    self.interests = interests
    self.registeredAt = registeredAt
    self.retiredAt = retiredAt
    self.retiredReason = retiredReason
  }
}

/// Which devices a listing shows; all conditions hold together. Tokens merely named by a push are never shown.
public struct DeviceQuery: Sendable, Equatable {
  /// Only of this topic.
  public var topic: String?
  /// Only subscribers of this interest.
  public var interest: String?
  /// Only of this user.
  public var user: String?
  /// Only with this token.
  public var token: DeviceToken?
  /// true: only retired ones; false: only active ones; nil: both.
  public var retired: Bool?

  /// A query without conditions.
  public init() {}
}

/// An app and environment that this process has a credential for. One that names neither key nor certificate makes the app
/// known and leaves what the store knows of its credential.
public struct AppBinding: Sendable, Equatable {
  /// The topic with its suffix.
  public var topic: String
  /// The environment.
  public var environment: Environment
  /// The team that signs; nil with a certificate.
  public var teamID: String?
  /// The key that signs; nil with a certificate.
  public var keyID: String?
  /// SHA-256 of the certificate that is presented instead of a signature; nil with a key.
  public var certificateSHA256: [UInt8]?

  /// A binding by its parts.
  public init(
    topic: String, environment: Environment, teamID: String?, keyID: String?, certificateSHA256: [UInt8]? = nil
  ) {
    self.certificateSHA256 = certificateSHA256
    self.topic = topic
    self.environment = environment
    self.teamID = teamID
    self.keyID = keyID
  }
}

/// A stored credential: (topic, environment), the ids of what signs for it, and its pause.
public struct Credential: Sendable, Equatable {
  /// Its id.
  public var id: CredentialID
  /// The app's id.
  public var appID: AppID
  /// The topic with its suffix.
  public var topic: String
  /// The environment.
  public var environment: Environment
  /// The team that signs; nil when no process has said so yet.
  public var teamID: String?
  /// The key that signs; nil when no process has said so yet.
  public var keyID: String?
  /// SHA-256 of the certificate that is presented in place of a key's signature.
  public var certificateSHA256: [UInt8]?
  /// Since when nothing of it is claimed; nil = it is served.
  public var heldSince: UnixMilliseconds?
  /// Why it is held: APNs' reason, `operator`, or `NoSigner`.
  public var heldReason: String?
  /// Why nothing can be sent for it at the moment, as a worker last said; nil = it can, as far as is known.
  public var trouble: Trouble?

  /// What keeps pushes from being sent, though nobody has paused them.
  public struct Trouble: Sendable, Equatable {
    /// Since when.
    public var since: UnixMilliseconds
    /// What, and what to do: for people.
    public var text: String

    /// A trouble by its parts.
    public init(since: UnixMilliseconds, text: String) {
      self.since = since
      self.text = text
    }
  }

  /// A credential by its values.
  public init(
    id: CredentialID, appID: AppID, topic: String, environment: Environment, teamID: String?, keyID: String?,
    certificateSHA256: [UInt8]? = nil, heldSince: UnixMilliseconds?, heldReason: String?, trouble: Trouble? = nil
  ) {
    self.certificateSHA256 = certificateSHA256
    self.id = id
    self.appID = appID
    self.topic = topic
    self.environment = environment
    self.teamID = teamID
    self.keyID = keyID
    self.heldSince = heldSince
    self.heldReason = heldReason
    self.trouble = trouble
  }
}
