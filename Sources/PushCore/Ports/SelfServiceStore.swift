import Operations

/// What apps do with a store by themselves, without a key, and what belongs to Beams. Each call is one transaction.
public protocol SelfServiceStore: Sendable {
  // MARK: Users that apps register

  /// Notes a user and registers the device that names them; true when the user was not known.
  func register(_ user: AppUser, device: DeviceRegistration) async throws(StoreError) -> Bool
  /// The user of an id, as an app registered them.
  func appUser(_ id: String) async throws(StoreError) -> AppUser?

  // MARK: Beams devices

  /// Registers a device under the id it has in that instance already, else under the candidate's.
  func register(
    _ candidate: BeamsDeviceID, device: DeviceRegistration, metadata: [UInt8]?
  ) async throws(StoreError) -> BeamsDevice
  /// The device of an id.
  func beamsDevice(_ id: BeamsDeviceID) async throws(StoreError) -> BeamsDevice?
  /// Removes a device with its subscriptions; false when there was none.
  func removeBeamsDevice(_ id: BeamsDeviceID) async throws(StoreError) -> Bool
  /// Replaces what the SDK says about itself; false when there is no such device.
  func setMetadata(_ metadata: [UInt8], of id: BeamsDeviceID) async throws(StoreError) -> Bool
  /// Changes the interests that a device asks for.
  func change(_ change: InterestChange, of id: BeamsDeviceID) async throws(StoreError) -> InterestChangeResult
  /// Binds a device to a user who was proved by a signed token. The user gets ``OwnInterest`` unless another has it, and the device
  /// is granted it if it asked for it.
  func bind(_ id: BeamsDeviceID, to user: String) async throws(StoreError) -> UserBindingResult

  // MARK: Beams publishes

  /// Stores one notification for each topic of an instance under one id, and whom to tell of them: all of it or nothing.
  func publish(
    _ publications: [Publication], publishID: String, instance: String, webhook: Webhook?
  ) async throws(StoreError) -> [NotificationID]
  /// Notes what a device reports of a push, the first time; nothing where publish or device is not known, or where they do not
  /// belong together.
  func mark(
    _ mark: PushMark, at: UnixMilliseconds, publishID: String, by device: BeamsDeviceID
  ) async throws(StoreError)
}
