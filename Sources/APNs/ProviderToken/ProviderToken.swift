import JSON
import OpenSSL
import PushCore

/// The JWT that stands in `authorization: bearer …` (Apple, "Establishing a token-based connection to APNs"; RFC 7515,
/// RFC 7519).
///
/// A secret: whoever has it can push to every device of the team for an hour. Every way to print it shows its age alone.
public struct ProviderToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The compact form.
  public let jwt: String
  /// `iat`, UNIX seconds.
  public let issuedAt: Int64

  init(jwt: String, issuedAt: Int64) {
    self.jwt = jwt
    self.issuedAt = issuedAt
  }

  /// The token of a stored record; nil when the record is damaged or belongs to another key.
  ///
  /// The age counts from the `iat` that APNs will read, so it must be the one in the token.
  init?(record: ProviderTokenRecord, key: ProviderKeyIdentity) {
    let segments = record.jwt.split(separator: ".", omittingEmptySubsequences: false)
    guard segments.count == 3,
      record.jwt.hasPrefix(
        Self.signingInput(teamID: key.teamID, keyID: key.keyID, issuedAt: record.issuedAt)),
      Base64URL.decode(segments[2])?.count == 64
    else { return nil }
    self.init(jwt: record.jwt, issuedAt: record.issuedAt)
  }

  /// `base64url(header).base64url(claims)`: nothing but alg, kid, iss and an integer iat.
  static func signingInput(teamID: String, keyID: String, issuedAt: Int64) -> String {
    var header = JSONWriter()
    header.object {
      $0.member("alg", "ES256")
      $0.member("kid", keyID)
    }
    var claims = JSONWriter()
    claims.object {
      $0.member("iss", teamID)
      $0.member("iat", issuedAt)
    }
    return "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
  }

  /// Its age only; safe to show anyone.
  public var description: String { "provider token issued at \(issuedAt)" }
  /// Its age only.
  public var debugDescription: String { description }
  /// A mirror that shows nothing, for `dump` and test output.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
