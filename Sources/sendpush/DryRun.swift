import APNs
import Composition
import Operations
import PushCore

/// What `--dry-run` prints: the exact request of each named device token, or of one device that the registry would find.
enum DryRun {
  static func text(of publication: Publication, app: Configuration.App?, _ context: CommandContext) -> String {
    let environment = publication.environment ?? publication.defaultEnvironment
    let tokens: [DeviceToken?] = publication.target.tokens.isEmpty ? [nil] : publication.target.tokens
    let apns = context.configuration.apns
    return tokens.map { token in
      RequestPreview(
        of: publication, deviceToken: token,
        host: environment == .production ? apns.production : apns.sandbox,
        teamID: app?.teamID ?? "", keyID: app?.keyID ?? "", now: context.clocks.wallTime()
      ).text
    }.joined(separator: "\n")
  }
}
