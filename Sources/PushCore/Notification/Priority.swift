/// `apns-priority` (Apple, "Sending notification requests to APNs").
public enum Priority: UInt8, Sendable, CaseIterable {
  /// Send at once.
  case immediate = 10
  /// Send with regard to the device's power; the only one for background pushes beside 1.
  case powerConscious = 5
  /// Power above all; never wakes the device.
  case low = 1
}
