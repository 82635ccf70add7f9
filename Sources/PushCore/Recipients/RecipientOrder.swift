/// Whose values a device takes when several recipients of a notification name it: its own, else its user's, else those of the first
/// interest, in the order in which the sender listed them.
public struct RecipientOrder: Sendable {
  /// The interests as their sender listed them.
  public let interests: [InterestID]
  /// Whether users bound without a verified token are reached too.
  public var reachesUnverifiedUsers: Bool { target.reachesUnverifiedUsers }

  private let target: PackedTarget
  /// Index in the target of each interest of `interests`.
  private let interestEntries: [Int]
  /// By their bytes: as a String, é would be the same as e with U+0301.
  private let userEntries: [[UInt8]: Int]

  /// The order of a notification.
  public init(_ target: PackedTarget, _ substitutions: Substitutions) {
    self.target = target
    interestEntries = target.interests.indices.sorted {
      substitutions.interestPlaces[$0] < substitutions.interestPlaces[$1]
    }
    interests = interestEntries.map { target.interests[$0] }
    userEntries = Dictionary(uniqueKeysWithValues: target.users.enumerated().map { (Array($1.utf8), $0) })
  }

  /// The entry of ``Substitutions/entries`` whose values a device takes; nil: nobody names it.
  ///
  /// - Parameters:
  ///   - user: the user of the device, where the notification may reach it by the user.
  ///   - interest: the index in ``interests`` of the first that it is subscribed to.
  public func entry(of device: DeviceID, user: String?, interest: Int?) -> Int? {
    if let index = indexOfDevice(device) { return target.interests.count + target.users.count + index }
    if let user, let index = userEntries[Array(user.utf8)] { return target.interests.count + index }
    return interest.map { interestEntries[$0] }
  }

  private func indexOfDevice(_ device: DeviceID) -> Int? {
    var low = 0
    var high = target.devices.count
    while low < high {
      let middle = (low + high) / 2
      if target.devices[middle] < device { low = middle + 1 } else { high = middle }
    }
    return low < target.devices.count && target.devices[low] == device ? low : nil
  }
}

/// What a task asks the registry for where recipients have values of their own.
public struct RecipientRead: Sendable {
  /// The devices, ascending.
  public var devices: [DeviceID]
  /// Whose values they take.
  public var order: RecipientOrder

  /// A read by its parts.
  public init(_ devices: [DeviceID], _ order: RecipientOrder) {
    self.devices = devices
    self.order = order
  }
}
