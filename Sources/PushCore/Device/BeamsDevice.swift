import Operations

/// Names a device as the Beams SDKs do. Who knows both ids may change the device's interests, and nothing else proves anything.
public struct BeamsDeviceID: Sendable, Hashable {
  /// The most devices one user may have.
  public static let devicesOfUser = 100
  /// The most interests one device may ask for.
  public static let interestsOfDevice = 5000

  /// The instance, a UUID in lower case.
  public var instance: String
  /// The device within it: `apns-` and a random UUID.
  public var id: String

  /// A name by its parts.
  public init(instance: String, id: String) {
    self.instance = instance
    self.id = id
  }
}

/// A device as the Beams SDKs see it.
public struct BeamsDevice: Sendable, Equatable {
  /// Its id within the instance.
  public var id: String
  /// The user that it is bound to.
  public var user: String?
  /// What the SDK said about itself and the system: a JSON object.
  public var metadata: [UInt8]?
  /// The interests that it asked for, sorted, also those that are not granted yet.
  public var interests: [String]

  /// A device by its values.
  public init(id: String, user: String?, metadata: [UInt8]?, interests: [String]) {
    self.id = id
    self.user = user
    self.metadata = metadata
    self.interests = interests
  }
}

/// Interests that an app asks for by itself, in two parts: those that everybody may have, and protected ones, which must be
/// granted.
public struct AskedInterests: Sendable, Equatable {
  /// Subscribed to at once.
  public var open: [String]
  /// Subscribed to when they are the verified user's own; else kept until they are granted.
  public var protected: [String]

  /// The two parts.
  public init(open: [String], protected: [String]) {
    self.open = open
    self.protected = protected
  }
}

/// What an app changes about its interests.
public enum InterestChange: Sendable, Equatable {
  /// These become all that it has; protected ones that were granted stay granted.
  case replace(AskedInterests)
  /// These are added.
  case add(AskedInterests)
  /// This one goes.
  case remove(String)
}

/// What became of a change of interests.
public enum InterestChangeResult: Sendable, Equatable {
  /// It is done.
  case done
  /// There is no such device.
  case noDevice
  /// The device would have more than ``BeamsDeviceID/interestsOfDevice``; nothing was changed.
  case tooMany
}

/// What became of binding a device to a user who was proved by a signed token.
public enum UserBindingResult: Sendable, Equatable {
  /// It is bound, or was already.
  case bound
  /// There is no such device.
  case noDevice
  /// Another user was proved for it before; nothing was changed.
  case otherUser
  /// The user has ``BeamsDeviceID/devicesOfUser`` already; nothing was changed.
  case tooManyDevices
}

/// What the Beams SDKs report of a push.
public enum PushMark: Sendable, Equatable {
  /// The app was woken by it.
  case delivered
  /// A person opened it.
  case opened
}

/// A user as an app registered them, without proof.
public struct AppUser: Sendable, Equatable {
  /// The id.
  public var id: String
  /// The name that the app gave.
  public var name: String

  /// A user by their values.
  public init(id: String, name: String) {
    self.id = id
    self.name = name
  }
}
