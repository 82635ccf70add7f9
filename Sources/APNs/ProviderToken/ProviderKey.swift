import OpenSSL
import PushCore

/// A key with the ids under which APNs knows it.
public final class ProviderKey: Sendable {
  /// The team that signs.
  public let teamID: String
  /// The key's id.
  public let keyID: String
  /// Under what its provider tokens are shared.
  public let identity: ProviderKeyIdentity
  private let privateKey: ES256PrivateKey

  /// A key with its ids.
  public init(teamID: String, keyID: String, privateKey: ES256PrivateKey) {
    self.teamID = teamID
    self.keyID = keyID
    self.privateKey = privateKey
    identity = ProviderKeyIdentity(
      teamID: teamID, keyID: keyID, publicKeySHA256: SHA256.digest(privateKey.publicKeyDER))
  }

  /// Signs a provider token issued at `issuedAt`, UNIX seconds.
  func mint(issuedAt: Int64) throws(CryptoError) -> ProviderToken {
    let input = ProviderToken.signingInput(teamID: teamID, keyID: keyID, issuedAt: issuedAt)
    let signature = try privateKey.sign(Array(input.utf8))
    return ProviderToken(jwt: "\(input).\(Base64URL.encode(signature))", issuedAt: issuedAt)
  }
}
