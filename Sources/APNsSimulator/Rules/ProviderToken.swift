import JSON
import OpenSSL

/// The parts of a provider token: a JWT, `header.claims.signature`, each part base64url without padding.
struct ProviderToken {
  /// `kid`.
  let keyID: String
  /// `iss`.
  let teamID: String
  /// `iat`, in seconds.
  let issuedAt: Int64
  /// What is signed: the first two parts with the dot between.
  let signingInput: [UInt8]
  /// r and s, 32 bytes each.
  let signature: [UInt8]

  static let signatureBytes = 64

  /// Takes a token apart; nil when anything in it is not as Apple's page wants it, but for a signature in DER if that is
  /// accepted.
  init?(_ token: [UInt8], acceptsDER: Bool) {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3,
      let header = Self.object(parts[0]), let claims = Self.object(parts[1]), let given = Self.decode(parts[2]),
      let signature = given.count == Self.signatureBytes
        ? given : acceptsDER ? ES256PublicKey.rawSignature(fromDER: given) : nil,
      header["alg"]?.string == "ES256", let keyID = header["kid"]?.string,
      let teamID = claims["iss"]?.string, let issuedAt = claims["iat"]?.integer
    else { return nil }
    self.keyID = keyID
    self.teamID = teamID
    self.issuedAt = issuedAt
    self.signature = signature
    signingInput = Array(token[..<parts[1].endIndex])
  }

  private static func decode(_ part: ArraySlice<UInt8>) -> [UInt8]? {
    Base64URL.decode(String(decoding: part, as: UTF8.self))
  }

  /// A part that is a JSON object in which no name stands twice.
  private static func object(_ part: ArraySlice<UInt8>) -> JSONValue? {
    guard let bytes = decode(part) else { return nil }
    // Which fault of JSON it is makes no difference: the answer is InvalidProviderToken.
    guard let value = try? JSONValue(parsing: bytes), let members = value.object else { return nil }
    return Set(members.map(\.name)).count == members.count ? value : nil
  }
}
