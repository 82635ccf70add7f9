import JSON
import Operations

extension Credential {
  /// The members of its JSON object: which app, what signs for it, and whether it is served.
  public func write(to writer: inout JSONWriter) {
    writer.member("topic", topic)
    writer.member("environment", environment.name)
    writer.member("team_id", teamID)
    writer.member("key_id", keyID)
    writer.member("certificate_sha256", certificateSHA256.map(Self.hexadecimal))
    writer.member("state", heldSince == nil ? "active" : "paused")
    writer.member("reason", heldReason)
    writer.member("since", heldSince.map(RFC3339.format))
    writer.member("trouble", trouble?.text)
    writer.member("trouble_since", trouble.map { RFC3339.format($0.since) })
  }

  /// Why a credential is held that an operator paused.
  public static let pausedByOperator = "operator"

  private static func hexadecimal(_ digest: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
