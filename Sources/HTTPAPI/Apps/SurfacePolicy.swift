import Operations
import PushCore

/// What the settings say of apps, of Beams, and of who may be reached.
public struct SurfacePolicy: Sendable {
  /// What apps may do by themselves.
  let deviceAPI: Configuration.DeviceAPI
  /// Whether pushes to a user reach devices that were bound without proof.
  let reachesUnverifiedUsers: Bool
  /// The interests that apps cannot subscribe to by themselves.
  let protectedInterests: [InterestPattern]
  /// The Beams instances.
  let beams: [Configuration.BeamsInstance]
  /// Where webhooks may go.
  let webhooks: WebhookPolicy

  /// The policy of settings.
  public init(_ configuration: Configuration) {
    deviceAPI = configuration.deviceAPI
    reachesUnverifiedUsers = configuration.users.allowUnverified
    protectedInterests = configuration.protectedInterests
    beams = configuration.beams
    webhooks = WebhookPolicy(configuration.webhooks)
  }

  /// Interests that an app asks for, those that must be granted apart.
  func asked(_ names: [String]) -> AskedInterests {
    let isProtected = { (name: String) in protectedInterests.contains { $0.matches(name) } }
    return AskedInterests(open: names.filter { !isProtected($0) }, protected: names.filter(isProtected))
  }
}
