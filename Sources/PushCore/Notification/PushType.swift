/// `apns-push-type` (Apple, "Sending notification requests to APNs").
public enum PushType: String, Sendable, CaseIterable {
  case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk,
    widgets, controls
}
