import Foundation
import JSON
import OpenSSL
import Operations
import PushCore
import Support
import Testing

@testable import APNs

@Suite("Provider tokens")
struct ProviderTokenTests {
  static func key(team: String = "TESTTEAM01", id: String = "TESTKEY001") throws -> ProviderKey {
    let privateKey = try ES256PrivateKey(pem: try Fixture.bytes("keys/AuthKey_TESTKEY001.p8"))
    return ProviderKey(teamID: team, keyID: id, privateKey: privateKey)
  }

  /// The signatures of the reference vectors over `header.claims`, one with a short r, one with a short s.
  static let vectors: [(Int64, String, String)] = [
    (
      1_767_225_600, "eyJpc3MiOiJURVNUVEVBTTAxIiwiaWF0IjoxNzY3MjI1NjAwfQ",
      "uY6GkEE9jSlgKThq0zbsLYlTEOF-zHltOeblNKaOmpHtZGA5W2SMyh7pChbumHlhv6R85RPWzxdxHh9z-dFmIA"
    ),
    (
      1_767_225_782, "eyJpc3MiOiJURVNUVEVBTTAxIiwiaWF0IjoxNzY3MjI1NzgyfQ",
      "AEDCqKYuwVIH9KFq2eq5EC-3rLTXEnljx1KwRqhf0OAbV4vhB4feWQLSqyFVMkBSaMXtDM0V7cPu_AgjSHi4iA"
    ),
    (
      1_767_226_033, "eyJpc3MiOiJURVNUVEVBTTAxIiwiaWF0IjoxNzY3MjI2MDMzfQ",
      "wUg6pt1AcmzBFCPv5ZQiw_GZCpythnMr1cAki1J5IJsAhrTaAxuoX6T1r-nNxN1tG55wVTnlwlHve_8HExLQIw"
    ),
  ]

  @Test("no way to print a provider token or its record shows it")
  func masked() throws {
    let token = try Self.key().mint(issuedAt: 1_767_225_600)
    let record = ProviderTokenRecord(jwt: token.jwt, issuedAt: token.issuedAt, refusedUntil: nil)
    var text = "\(token) \(record) \(String(reflecting: token)) \(String(reflecting: record)) \([token]) \([record])"
    dump(token, to: &text)
    dump(record, to: &text)

    #expect(!text.contains("eyJ"))
    #expect(text.contains("provider token issued at 1767225600"))
  }

  @Test(
    "header and claims are the reference's to the byte, and its signatures verify",
    arguments: vectors)
  func referenceVector(issuedAt: Int64, claims: String, signature: String) throws {
    let input = ProviderToken.signingInput(
      teamID: "TESTTEAM01", keyID: "TESTKEY001", issuedAt: issuedAt)
    let publicKey = try ES256PublicKey(pem: try Fixture.bytes("keys/TESTKEY001-public.pem"))

    #expect(input == "eyJhbGciOiJFUzI1NiIsImtpZCI6IlRFU1RLRVkwMDEifQ.\(claims)")
    #expect(
      publicKey.verify(signature: try #require(Base64URL.decode(signature)), of: Array(input.utf8)))
  }

  @Test("a minted token is 184 characters without padding, and its own signature verifies")
  func minted() throws {
    let key = try Self.key()
    let publicKey = try ES256PublicKey(pem: try Fixture.bytes("keys/TESTKEY001-public.pem"))
    for _ in 0..<200 {
      let jwt = try key.mint(issuedAt: 1_767_225_600).jwt
      let segments = jwt.split(separator: ".", omittingEmptySubsequences: false)
      #expect(jwt.utf8.count == 184)
      #expect(!jwt.contains { "+/=\r\n".contains($0) })
      let signature = try #require(Base64URL.decode(segments[2]))
      #expect(
        publicKey.verify(
          signature: signature, of: Array(segments[0...1].joined(separator: ".").utf8)))
    }
  }

  @Test("iat is an integer of ten digits")
  func integerTime() throws {
    let jwt = try Self.key().mint(issuedAt: 1_767_225_600).jwt
    let claims = try JSONValue(
      parsing: try #require(Base64URL.decode(jwt.split(separator: ".")[1])))
    #expect(claims["iat"]?.number?.text == "1767225600")
    #expect(claims.object?.map(\.name) == ["iss", "iat"])
  }

  @Test(
    "the signatures of the mock table verify exactly where APNs would get that far",
    arguments: try Fixture.table("jwt-mock-answers.tsv"))
  func mockTable(row: [String]) throws {
    let publicKey = try ES256PrivateKey(pem: try Fixture.bytes("keys/key-good.p8")).publicKey
    let segments = row[1].split(separator: ".", omittingEmptySubsequences: false)
    let signature = Base64URL.decode(segments[2])
    let verifies = signature.map {
      publicKey.verify(signature: $0, of: Array(segments[0...1].joined(separator: ".").utf8))
    }

    switch row[0] {
    case "der-signature", "other-key": #expect(verifies == false)
    case "padded-base64url", "standard-base64": #expect(verifies == nil)
    default: #expect(verifies == true)
    }
    // A record with any of these defects is not presented; the good one is, by the key that made it.
    let identity = ProviderKeyIdentity(
      teamID: "DEF123GHIJ", keyID: "ABC123DEFG", publicKeySHA256: [])
    let record = ProviderTokenRecord(jwt: row[1], issuedAt: 1_700_000_000, refusedUntil: nil)
    let isWellFormed = ProviderToken(record: record, key: identity) != nil
    #expect(isWellFormed == ["good", "other-key"].contains(row[0]))
  }
}
