/// Whose a stored device is, and what a registration makes of that. A value: the rule that keeps a stranger from taking over a proof.
public struct DeviceOwner: Sendable, Equatable {
  /// The user behind the device.
  public private(set) var user: String?
  /// Whether the user was proved.
  public private(set) var isVerified: Bool

  /// The owner of a stored device.
  public init(user: String?, isVerified: Bool) {
    self.user = user
    self.isVerified = isVerified
  }

  /// Whether it is that user, byte by byte as the stores compare: é and e with U+0301 are two users, and the proof of one is none of the
  /// other.
  public func isSame(_ other: String?) -> Bool { user.map { Array($0.utf8) } == other.map { Array($0.utf8) } }

  /// Takes over what a registration says; true when another user takes the device over from a former one, whose interests then go.
  public mutating func apply(_ registration: DeviceRegistration) -> Bool {
    guard case .set(let user) = registration.user else { return false }
    let wasSame = isSame(user)
    let hasNewUser = !wasSame && self.user != nil
    // Saying again, unproved, who was proved before takes nothing away.
    isVerified = user != nil && (registration.userIsVerified || wasSame && isVerified)
    self.user = user
    return hasNewUser
  }
}
