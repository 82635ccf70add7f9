import Operations

/// Devices read by the walk, ascending by id; columns, and the tokens in one buffer, so that a million of them cost no string.
public struct DeviceWindow: Sendable, Equatable {
  /// The ids.
  public private(set) var ids: [DeviceID] = []
  /// The credential of each.
  public private(set) var credentials: [CredentialID] = []
  /// When each registered; 0 = never, only named by a push.
  public private(set) var registeredAt: [UnixMilliseconds] = []
  /// Token texts, one after the other.
  public private(set) var tokenBytes: [UInt8] = []
  /// Where each token ends in `tokenBytes`.
  public private(set) var tokenEnds: [Int32] = []
  /// Whether each is retired; only ``DeviceRead/named(_:of:)`` gives retired ones.
  public private(set) var isRetired: [Bool] = []
  /// Whether each is still a member of the target's interests or users; only ``DeviceRead/named(_:of:)`` fills it.
  public private(set) var isMember: [Bool] = []
  /// The entry of the notification's substitutions whose values each takes; empty where nobody has values of their own.
  public private(set) var entries: [Int] = []

  /// An empty window.
  public init() {}

  /// Number of devices.
  public var count: Int { ids.count }

  /// Adds a device; ids come in ascending order.
  public mutating func append(
    id: DeviceID, credential: CredentialID, registeredAt: UnixMilliseconds, token: some Sequence<UInt8>,
    isRetired: Bool = false, isMember: Bool = true
  ) {
    ids.append(id)
    credentials.append(credential)
    self.registeredAt.append(registeredAt)
    tokenBytes.append(contentsOf: token)
    tokenEnds.append(Int32(tokenBytes.count))
    self.isRetired.append(isRetired)
    self.isMember.append(isMember)
  }

  /// Adds the device at `index` of another window.
  public mutating func append(_ index: Int, of other: DeviceWindow) {
    append(
      id: other.ids[index], credential: other.credentials[index], registeredAt: other.registeredAt[index],
      token: other.token(index), isRetired: other.isRetired[index], isMember: other.isMember[index])
    if !other.entries.isEmpty { entries.append(other.entries[index]) }
  }

  /// Adds the device at `index` of another window with the entry whose values it takes.
  public mutating func append(_ index: Int, of other: DeviceWindow, entry: Int) {
    append(index, of: other)
    entries.append(entry)
  }

  /// The token text of a device, hexadecimal digits.
  public func token(_ index: Int) -> ArraySlice<UInt8> {
    tokenBytes[(index == 0 ? 0 : Int(tokenEnds[index - 1]))..<Int(tokenEnds[index])]
  }
}

/// One source of a walk.
public enum WalkSource: Sendable, Hashable {
  /// The subscribers of an interest.
  case interest(InterestID)
  /// The devices of users.
  case users([String], unverifiedToo: Bool)
  /// Every registered device.
  case everyone
}

/// What a task asks the registry for.
public enum DeviceRead: Sendable {
  /// The next devices of a source; no retired ones.
  case walk(WalkRequest)
  /// Named devices and list tasks: each id that has a row, with whether it is retired and still a member of the target.
  case named([DeviceID], of: PackedTarget)
}

/// One step of a walk: the next devices of a source behind an id.
public struct WalkRequest: Sendable {
  /// The source.
  public var source: WalkSource
  /// Devices above this id …
  public var after: DeviceID
  /// … up to this one …
  public var hi: DeviceID
  /// … that did not register later than this.
  public var sequenceLimit: Int64
  /// The credentials of the task.
  public var credentials: [CredentialID]
  /// The most devices; a window that is not full ends at `hi`.
  public var limit: Int

  /// A request by its parts.
  public init(
    source: WalkSource, after: DeviceID, hi: DeviceID, sequenceLimit: Int64, credentials: [CredentialID], limit: Int
  ) {
    self.source = source
    self.after = after
    self.hi = hi
    self.sequenceLimit = sequenceLimit
    self.credentials = credentials
    self.limit = limit
  }
}
