import JSON
import OpenSSL
import Operations
import PushCore

/// A user token: the JWT by which a backend tells a Beams instance who uses an app, signed with the instance's secret key (HS256).
struct UserToken {
  /// How far a clock may be ahead that says when the token was made.
  private static let leeway = Duration.seconds(300)
  /// The most characters of a user id; with letters beyond ASCII the bytes of ``NotificationLimits`` may end it earlier.
  static let userIDCharacters = 164

  /// The user.
  let user: String

  /// Reads a token and checks its signature, then its claims.
  init(
    _ text: String, instance: Configuration.BeamsInstance, now: UnixMilliseconds
  ) throws(BeamsError) {
    let claims = try Self.signedClaims(text, key: Array(instance.secretKey.reveal().utf8))
    guard let issuer = claims["iss"]?.string else { throw .badRequest("the JWT has no iss claim") }
    let host = "\(instance.id).pushnotifications.pusher.com"
    guard [host, "https://\(host)"].contains(issuer.lowercased()) else {
      throw BeamsError(403, "Forbidden", "Invalid JWT claims: the issuer is not this instance")
    }
    guard let user = claims["sub"]?.string else { throw .badRequest("the JWT has no sub claim") }
    guard let expiry = claims["exp"]?.number?.double else { throw .badRequest("the JWT has no exp claim") }
    let seconds = Double(now.value) / 1000
    guard expiry > seconds else { throw Self.unauthorized("Invalid JWT claims: Token is expired") }
    if let issued = claims["iat"]?.number?.double, issued > seconds + Double(Self.leeway.components.seconds) {
      throw Self.unauthorized("Invalid JWT claims: Token used before issued")
    }
    if let detail = Self.fault(inUserID: user) { throw .badRequest(detail) }
    self.user = user
  }

  /// What is wrong with a user id; nil when nothing is.
  static func fault(inUserID user: String) -> String? {
    user.unicodeScalars.count > userIDCharacters
      ? "'User id' is too long, max length is \(userIDCharacters)" : NotificationLimits.fault(inUserID: user)
  }

  private static func signedClaims(_ text: String, key: [UInt8]) throws(BeamsError) -> JSONValue {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = json(parts[0]), let signature = Base64URL.decode(parts[2]) else {
      throw unauthorized("the Authorization is no Bearer with a JWT")
    }
    // Any other algorithm, none above all, would let the sender choose how much is proved.
    guard header["alg"]?.string == "HS256" else { throw unauthorized("the JWT must be signed with HS256") }
    let code = HMACSHA256.code(of: Array("\(parts[0]).\(parts[1])".utf8), key: key)
    guard APIKeyText.isSame(code, signature) else { throw unauthorized("the JWT is not signed with the secret key") }
    guard let claims = json(parts[1]) else { throw unauthorized("the claims of the JWT are no JSON object") }
    return claims
  }

  private static func json(_ part: Substring) -> JSONValue? {
    // What is not JSON is no token; the caller says so.
    guard let bytes = Base64URL.decode(part), let value = try? JSONValue(parsing: bytes), value.object != nil else {
      return nil
    }
    return value
  }

  private static func unauthorized(_ description: String) -> BeamsError { BeamsError(401, "Unauthorized", description) }
}
