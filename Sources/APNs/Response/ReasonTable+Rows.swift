extension ReasonTable {
  private static let report =
    "This is a fault of pushrelay: please report it with the notification's id."
  private static let channel = "Live Activity channels are not in this version."

  // A receipt of the queue and an answer to a push sent at once have the same words: they tell what is wrong and what to do, and
  // nothing of what the queue does.

  /// Every reason known (Apple, "Handling notification responses from APNs" and "Sending channel requests to APNs").
  /// The place of a row, from 1, is its number in stored receipts: rows are only ever appended.
  static let rows: [Reason] = [
    Reason(400, "BadChannelId", .drop, channel),
    Reason(400, "BadCollapseId", .drop, "The collapse id is longer than 64 bytes; shorten it."),
    Reason(
      400, "BadDeviceToken", .unfit,
      "The device token is malformed or of the other environment; check --environment and how the app prints its token."
    ),
    Reason(
      400, "BadExpirationDate", .drop, "The expiration is no UNIX time in seconds; correct it."),
    Reason(
      400, "BadMessageId", .drop, "The apns-id is no UUID; leave --apns-id away or correct it."),
    Reason(
      400, "BadPriority", .drop,
      "The priority is not allowed for this push type; use 10, or 5 for background."),
    Reason(400, "BadRequestParams", .drop, channel),
    Reason(400, "BadRequestPayload", .drop, channel),
    Reason(
      400, "BadTopic", .holdApp,
      "APNs does not know such a topic; correct it to the app's bundle id."),
    Reason(400, "CannotCreateChannelConfig", .holdApp, channel),
    Reason(400, "ChannelNotRegistered", .holdApp, channel),
    Reason(
      400, "DeviceTokenNotForTopic", .unfit,
      "The device token belongs to another app or kind of push; check which topic the app registers it for."
    ),
    Reason(400, "DuplicateHeaders", .drop, report),
    Reason(
      400, "FeatureNotEnabled", .holdApp,
      "The app lacks the broadcast capability; switch it on in the Apple developer account."
    ),
    Reason(
      400, "IdleTimeout", .reconnect, "APNs closed an idle connection; try again."),
    Reason(
      400, "InvalidPushType", .drop,
      "The push type does not fit the topic; leave --push-type away or use the topic that belongs to it."
    ),
    Reason(400, "MissingChannelId", .drop, channel),
    Reason(400, "MissingDeviceToken", .drop, report),
    Reason(400, "MissingPushType", .drop, channel),
    Reason(400, "MissingTopic", .holdApp, report),
    Reason(400, "PayloadEmpty", .drop, "The payload is empty; give one."),
    Reason(
      400, "TopicDisallowed", .holdApp,
      "The key may not push to this topic; check that topic and team id belong together and the key covers the app."
    ),
    Reason(
      403, "BadCertificate", .holdKey,
      "APNs refuses the certificate: it has expired, was revoked or is not for pushes; make a new one and name it in certificate_file."
    ),
    Reason(
      403, "BadCertificateEnvironment", .holdApp,
      "The certificate is for the other environment; use one that covers this environment."
    ),
    Reason(
      403, "BadEnvironmentKeyIdInToken", .holdApp,
      "The key is for the other environment; use one that covers this environment, or the matching environment."
    ),
    Reason(
      403, "BadEnvironmentKeyInToken", .holdApp,
      "The key is for the other environment; use one that covers this environment, or the matching environment."
    ),
    Reason(
      403, "ExpiredProviderToken", .newProviderToken,
      "APNs takes even a fresh provider token for too old; check the system clock of this machine (timedatectl)."
    ),
    Reason(
      403, "Forbidden", .holdApp,
      "APNs forbids this; check in the Apple developer account that push notifications are on for the app."
    ),
    Reason(
      403, "InvalidProviderToken", .holdKey,
      "The key, team id or key id is wrong, or the key was revoked; check all three against Keys in the Apple developer account."
    ),
    Reason(403, "MissingProviderToken", .holdKey, report),
    Reason(403, "TopicMismatch", .holdApp, channel),
    Reason(
      403, "UnrelatedKeyIdInToken", .ownConnection,
      "The key does not go together with one used before; check that no proxy joins connections."
    ),
    Reason(404, "BadPath", .drop, "The host does not know APNs' paths; check that it is APNs."),
    Reason(405, "MethodNotAllowed", .drop, "The host does not take POST; check that it is APNs."),
    Reason(
      410, "ExpiredToken", .gone,
      "The device token has expired; the app gets a new one at its next start."),
    Reason(
      410, "Unregistered", .gone,
      "The app was removed or the device token replaced; an app that is there gets its token at its next start."),
    Reason(
      413, "PayloadTooLarge", .drop, "The payload is over 4096 bytes (5120 for voip); shorten it."),
    Reason(
      429, "TooManyProviderTokenUpdates", .waitProviderToken,
      "Provider tokens of this key are made too often; check whether another program uses the same key, and give it its own."
    ),
    Reason(
      429, "TooManyRequests", .waitDevice,
      "The device gets too many pushes; send fewer, or give them one collapse id."),
    Reason(500, "InternalServerError", .wait, "APNs has a problem; try again later."),
    Reason(503, "Service Unavailable", .wait, "APNs has a problem; try again later."),
    Reason(503, "ServiceUnavailable", .wait, "APNs has a problem; try again later."),
    Reason(503, "Shutdown", .reconnect, "APNs closed the connection; try again."),
  ]
}
