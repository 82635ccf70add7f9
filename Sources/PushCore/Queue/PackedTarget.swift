/// A target by ids, as the store keeps it: version byte 1, flags, then interest ids, users and device ids, each counted.
public struct PackedTarget: Sendable, Equatable {
  /// Interests, ascending.
  public var interests: [InterestID]
  /// Users, sorted by their bytes.
  public var users: [String]
  /// Devices named by their tokens, ascending; exempt from the bound on registration order.
  public var devices: [DeviceID]
  /// Every registered device of the topic.
  public var everyone: Bool
  /// Whether users bound without a verified token are reached too.
  public var reachesUnverifiedUsers: Bool
  /// Whether ``Substitutions`` stand beside it. A version that knows none cannot read such a target, and sends no placeholders.
  public var hasValues: Bool

  /// Sorts and deduplicates the parts.
  public init(
    interests: [InterestID], users: [String], devices: [DeviceID], everyone: Bool, reachesUnverifiedUsers: Bool,
    hasValues: Bool = false
  ) {
    self.interests = Set(interests).sorted()
    // The store compares users byte by byte; as a String, é would be the same as e with U+0301.
    self.users = Set(users.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
    self.devices = Set(devices).sorted()
    self.everyone = everyone
    self.reachesUnverifiedUsers = reachesUnverifiedUsers
    self.hasValues = hasValues
  }

  /// Whether a retry must look again whether the device is still meant.
  public var hasMembership: Bool { !interests.isEmpty || !users.isEmpty }

  /// The stored form.
  public var encoded: [UInt8] {
    var bytes: [UInt8] = [1, (everyone ? 1 : 0) | (reachesUnverifiedUsers ? 2 : 0) | (hasValues ? 4 : 0)]
    DeltaVarint.append(UInt64(interests.count), to: &bytes)
    DeltaVarint.append(ascending: interests.lazy.map(\.rawValue), to: &bytes)
    DeltaVarint.append(UInt64(users.count), to: &bytes)
    for user in users {
      DeltaVarint.append(UInt64(user.utf8.count), to: &bytes)
      bytes.append(contentsOf: user.utf8)
    }
    DeltaVarint.append(UInt64(devices.count), to: &bytes)
    DeltaVarint.append(ascending: devices.lazy.map(\.rawValue), to: &bytes)
    return bytes
  }

  /// Reads the stored form; nil when the bytes are none that this version knows.
  public init?(encoded: [UInt8]) {
    let bytes = encoded.span
    var index = 2
    guard bytes.count >= 5, bytes[0] == 1, bytes[1] < 8,
      let interests = Self.ids(bytes, &index),
      let userCount = DeltaVarint.read(bytes, &index)
    else { return nil }
    var users: [String] = []
    for _ in 0..<userCount {
      guard let length = DeltaVarint.read(bytes, &index), length <= UInt64(bytes.count - index) else { return nil }
      let end = index + Int(length)
      var text: [UInt8] = []
      while index < end {
        text.append(bytes[index])
        index += 1
      }
      guard let user = String(validating: text, as: UTF8.self) else { return nil }
      users.append(user)
    }
    guard let devices = Self.ids(bytes, &index), index == bytes.count else { return nil }
    self.init(
      interests: interests.map(InterestID.init), users: users, devices: devices.map(DeviceID.init),
      everyone: bytes[1] & 1 != 0, reachesUnverifiedUsers: bytes[1] & 2 != 0, hasValues: bytes[1] & 4 != 0)
  }

  private static func ids(_ bytes: Span<UInt8>, _ index: inout Int) -> [Int64]? {
    guard let count = DeltaVarint.read(bytes, &index), let exact = Int(exactly: count) else { return nil }
    return DeltaVarint.readAscending(bytes, &index, count: exact)
  }
}
