/// Why a request is refused: Apple's word for the `reason` of an answer, spelled as on the wire.
///
/// Only what the rules can give; source: Apple, "Handling notification responses from APNs", and for broadcasts and
/// channels "Handling error responses from Apple Push Notification service".
public enum Reason: String, Sendable, Hashable, CaseIterable {
  case badCollapseId = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageId = "BadMessageId"
  case badPriority = "BadPriority"
  case badTopic = "BadTopic"
  case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
  case duplicateHeaders = "DuplicateHeaders"
  case invalidPushType = "InvalidPushType"
  case missingDeviceToken = "MissingDeviceToken"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case topicDisallowed = "TopicDisallowed"
  /// Seen on the wire; Apple's page spells it `BadEnvironmentKeyIdInToken`.
  case badEnvironmentKeyInToken = "BadEnvironmentKeyInToken"
  case badCertificate = "BadCertificate"
  case badCertificateEnvironment = "BadCertificateEnvironment"
  case expiredProviderToken = "ExpiredProviderToken"
  case invalidProviderToken = "InvalidProviderToken"
  case missingProviderToken = "MissingProviderToken"
  case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
  case badPath = "BadPath"
  case methodNotAllowed = "MethodNotAllowed"
  case unregistered = "Unregistered"
  case payloadTooLarge = "PayloadTooLarge"
  case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
  // Of broadcasts and channels alone.
  case badChannelId = "BadChannelId"
  case badRequestParams = "BadRequestParams"
  case badRequestPayload = "BadRequestPayload"
  case cannotCreateChannelConfig = "CannotCreateChannelConfig"
  case channelNotRegistered = "ChannelNotRegistered"
  case featureNotEnabled = "FeatureNotEnabled"
  case missingChannelId = "MissingChannelId"
  case missingPushType = "MissingPushType"
  case topicMismatch = "TopicMismatch"

  /// The status of a reason by its word on the wire, also of those that only a script gives; nil: not Apple's.
  static func status(of reason: String) -> Int? { Reason(rawValue: reason)?.status ?? scripted[reason] }

  /// Reasons of APNs that no rule here gives. Source: Apple, "Handling notification responses from APNs".
  private static let scripted = [
    "IdleTimeout": 400, "BadEnvironmentKeyIdInToken": 403, "Forbidden": 403, "ExpiredToken": 410,
    "TooManyRequests": 429, "InternalServerError": 500, "ServiceUnavailable": 503, "Service Unavailable": 503,
    "Shutdown": 503,
  ]

  /// The status code that goes with the reason.
  public var status: Int {
    switch self {
    case .badCollapseId, .badDeviceToken, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
      .deviceTokenNotForTopic, .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty,
      .topicDisallowed, .badChannelId, .badRequestParams, .badRequestPayload, .cannotCreateChannelConfig,
      .channelNotRegistered, .featureNotEnabled, .missingChannelId, .missingPushType:
      400
    case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyInToken, .expiredProviderToken,
      .invalidProviderToken, .missingProviderToken, .topicMismatch, .unrelatedKeyIdInToken:
      403
    case .badPath: 404
    case .methodNotAllowed: 405
    case .unregistered: 410
    case .payloadTooLarge: 413
    case .tooManyProviderTokenUpdates: 429
    }
  }
}
