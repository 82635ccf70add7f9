import Operations

/// What is the same for all devices of a notification under one credential.
public struct PushContent: Sendable, Equatable {
  /// The notification.
  public var notificationID: NotificationID
  /// The topic with its suffix.
  public var topic: String
  /// The headers.
  public var headers: PushHeaders
  /// `apns-expiration` when the headers do not say 0.
  public var expiresAt: UnixMilliseconds
  /// The payload.
  public var payload: [UInt8]
  /// The payloads of devices whose recipients have values of their own; nil = all get ``payload``.
  public var personal: PersonalPayload?

  /// Content by its parts.
  public init(
    notificationID: NotificationID, topic: String, headers: PushHeaders, expiresAt: UnixMilliseconds, payload: [UInt8],
    personal: PersonalPayload? = nil
  ) {
    self.notificationID = notificationID
    self.topic = topic
    self.headers = headers
    self.expiresAt = expiresAt
    self.payload = payload
    self.personal = personal
  }
}

/// Up to 1000 pushes of one notification, lane and credential.
public struct PushBatch: Sendable {
  /// The most devices of a batch.
  public static let maximumCount = 1000

  /// Chosen by the caller, comes back with each answer.
  public var id: UInt64
  /// The credential.
  public var credential: CredentialID
  /// The lane: the urgent one has its own connection.
  public var lane: Lane
  /// What to send.
  public var content: PushContent
  /// To whom.
  public var devices: DeviceWindow
  /// Nothing is written to a connection at or after this: the lease or the notification has ended by then.
  public var notAfter: MonotonicTime

  /// The payload of the device at an index, where it differs from that of the content; nil = it does not.
  public func personalPayload(_ index: Int) -> [UInt8]? { content.personal?.bytes(ofEntry: devices.entries[index]) }

  /// A batch by its parts.
  public init(
    id: UInt64, credential: CredentialID, lane: Lane, content: PushContent, devices: DeviceWindow,
    notAfter: MonotonicTime
  ) {
    self.id = id
    self.credential = credential
    self.lane = lane
    self.content = content
    self.devices = devices
    self.notAfter = notAfter
  }
}

/// Why, as a number of the table or as a text that no table has.
public enum PushReason: Sendable, Hashable {
  /// A reason of the table.
  case known(ReasonID)
  /// A text that APNs sent and no table has.
  case unknown(String)
}

/// What an answer, or its absence, means for the delivery.
public enum Verdict: Sendable, Equatable {
  /// APNs accepted it.
  case accepted
  /// Final: this push will never be accepted.
  case rejected(PushReason)
  /// Final, and the device is gone: retire it if it registered before `registeredBefore` (the 410's time); nil: if it has not registered
  /// since the walk read it.
  case gone(PushReason, registeredBefore: UnixMilliseconds?)
  /// Final, and the token does not fit environment or topic: retire it, unless so many do not fit that a setting of ours must be wrong.
  case unfit(PushReason)
  /// APNs or the network failed it: try again later. `notBefore` is what APNs asked for.
  case retry(PushReason, notBefore: Duration?)
  /// The credential cannot be used: hold it, nothing is counted.
  case held(HoldScope, PushReason)
  /// Certainly not sent; offer it again from `retryAt` on. Nothing is counted.
  case unsent(SendFailure, retryAt: MonotonicTime)
}

/// Why a push could not be written to a connection.
public struct SendFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Kind: Sendable, Equatable {
    /// No connection: name, address, port, TLS, proxy.
    case unreachable
    /// APNs was reached, and did not process the push: it refused the stream, or ended the connection first.
    case refused
    /// The provider token cannot be made or stored.
    case credential
    /// Too late, or the sender is closing.
    case notSent
  }

  /// What kind of failure it is.
  public var kind: Kind
  /// What failed, with host and port.
  public var message: String
  /// What the reader should do.
  public var remedy: String

  /// A failure by its parts.
  public init(kind: Kind, message: String, remedy: String) {
    self.kind = kind
    self.message = message
    self.remedy = remedy
  }

  /// The whole story in one line; safe to show anyone.
  public var description: String { "\(message). \(remedy)" }
}

/// What a refusal of the credential stops.
public enum HoldScope: Sendable, Equatable {
  /// Every credential of the same team and key.
  case key
  /// This app's credential.
  case app
}

/// One answer.
public struct PushAnswer: Sendable, Equatable {
  /// The batch's id.
  public var batch: UInt64
  /// The device's index in the batch.
  public var index: Int32
  /// The HTTP status; 0 = none.
  public var status: UInt16
  /// What it means.
  public var verdict: Verdict
  /// From the request's first byte to the answer, in milliseconds; negative = no answer.
  public var latencyMilliseconds: Int32
  /// `apns-unique-id`.
  public var apnsUniqueID: String?

  /// An answer by its parts.
  public init(
    batch: UInt64, index: Int32, status: UInt16, verdict: Verdict, latencyMilliseconds: Int32, apnsUniqueID: String?
  ) {
    self.batch = batch
    self.index = index
    self.status = status
    self.verdict = verdict
    self.latencyMilliseconds = latencyMilliseconds
    self.apnsUniqueID = apnsUniqueID
  }
}

/// Sends pushes: the delivery engine as the worker sees it.
public protocol PushSender: Sendable {
  /// Where the answers go, in batches, from a thread of the sender; the handler returns at once. Set once, before the first batch.
  func onAnswers(_ handler: @escaping @Sendable ([PushAnswer]) -> Void)
  /// Hands a batch over and returns at once; each device gets exactly one answer.
  func send(_ batch: PushBatch)
  /// Gives back, unsent, what is not on a connection yet: a worker that stops wants no new streams.
  func withdraw()
  /// The credentials this process has a key for, among `credentials`.
  func canSign(_ credential: Credential) -> Bool
  /// The words for a reason, for people.
  func text(of reason: PushReason) -> String
  /// Tells the sender which credential an id stands for; before the first batch that names it.
  func learn(_ credentials: [Credential])
}
