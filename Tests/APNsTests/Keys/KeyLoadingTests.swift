import Foundation
import OpenSSL
import Support
import Testing

@Suite("Loading a private key")
struct KeyLoadingTests {
  /// What a key setting holds: the file's bytes, or the value of the variable in an `.env` file.
  static func load(_ file: String) throws -> ES256PrivateKey {
    if file.hasSuffix(".env") {
      return try ES256PrivateKey(pem: try Fixture.variable("APNS_KEY", in: "keys/\(file)"))
    }
    return try ES256PrivateKey(pem: try KeyFile(path: try Fixture.path("keys/\(file)")).bytes)
  }

  @Test(
    "every key file of the case table is accepted or refused as the table says",
    arguments: Case.all("key-"))
  func caseTable(row: Case) throws {
    guard row.file != "key-path-missing.env" else { return }
    switch row.outcome {
    case "accept":
      let key = try Self.load(row.file)
      let good = try Self.load("key-good.p8")
      #expect(key.publicKeyDER == good.publicKeyDER)
    case "reject", "warn":
      #expect(throws: PrivateKeyError.self) { try Self.load(row.file) }
    default: Issue.record("unknown outcome \(row.outcome)")
    }
  }

  @Test("the case table is not empty")
  func tableIsThere() { #expect(Case.all("key-").count == 23) }

  static let refusals: [(String, PrivateKeyError.Code, String)] = [
    ("key-empty.p8", .empty, "the key is empty"),
    ("key-utf16le.p8", .wideText, "UTF-16"),
    ("key-base64-body-only.txt", .bareBase64, "-----BEGIN PRIVATE KEY-----"),
    ("key-base64-of-pem.env", .base64OfPEM, "looks base64-encoded"),
    ("key-truncated.p8", .truncated, "-----END PRIVATE KEY-----"),
    ("key-corrupt-base64.p8", .corruptBase64, "base64"),
    ("key-flipped-byte.p8", .damaged, "damaged"),
    ("key-mismatched-pubkey.p8", .mismatchedPublicKey, "does not belong"),
    ("key-der.p8", .binary, "binary (DER)"),
    ("key-bundle.p12", .pkcs12, "PKCS#12"),
    ("key-certificate.pem", .certificate, "this is a certificate"),
    ("key-public-only.pem", .publicKey, "public key cannot sign"),
    ("key-rsa.pem", .otherAlgorithm, "RSA"),
    ("key-rsa-traditional.pem", .otherAlgorithm, "RSA"),
    ("key-ed25519.pem", .otherAlgorithm, "ED25519"),
    ("key-p384.pem", .otherCurve, "secp384r1"),
    ("key-secp256k1.pem", .otherCurve, "secp256k1"),
    ("key-encrypted.p8", .encrypted, "encrypted with a password"),
    ("key-encrypted-sec1.pem", .encrypted, "encrypted with a password"),
  ]

  @Test(
    "a refusal says what was given and what to do, and shows no byte of it", arguments: refusals)
  func refusal(file: String, code: PrivateKeyError.Code, words: String) throws {
    let error = try #require(throws: PrivateKeyError.self) { try Self.load(file) }

    #expect(error.code == code)
    #expect(error.description.contains(words))
    #expect(error.remedy.count > 20)
    for secret in try Fixture.text("keys/\(file)").split(whereSeparator: \.isNewline) {
      let secret = secret.hasPrefix("APNS_KEY=") ? secret.dropFirst(9) : secret
      guard secret.count > 12, !secret.hasPrefix("-----") else { continue }
      #expect(!"\(error) \(String(reflecting: error))".contains(secret.prefix(12)))
    }
  }

  @Test("a missing file is named, and nothing is said of PEM")
  func missingFile() throws {
    let path = "/nonexistent/AuthKey_ABC123DEFG.p8"

    let error = try #require(throws: PrivateKeyError.self) { _ = try KeyFile(path: path) }

    #expect(error.code == .fileNotFound)
    #expect(error.description.contains(path))
    #expect(!error.description.contains("PEM"))
  }

  @Test("a folder is no key file")
  func folder() throws {
    let error = try #require(throws: PrivateKeyError.self) { _ = try KeyFile(path: "/") }
    #expect(error.code == .fileUnreadable)
  }

  @Test(
    "line ends lost in an environment variable do not matter",
    arguments: ["\\n", "\\r\\n", " ", "\r", "\r\n", "\n\n", "\n  "])
  func lineEnds(end: String) throws {
    let text = try Fixture.text("keys/key-good.p8").replacingOccurrences(of: "\n", with: end)
    let quoted = "\"\(text)\""

    #expect(try ES256PrivateKey(pem: quoted).publicKeyDER == Self.load("key-good.p8").publicKeyDER)
  }

  @Test("every one-byte change of a key file is refused or harmless, and never ends the process")
  func everyByteChanged() throws {
    let good = try Fixture.bytes("keys/AuthKey_TESTKEY001.p8")
    let publicKey = try ES256PrivateKey(pem: good).publicKeyDER
    for index in good.indices {
      for replacement in [UInt8(ascii: "A"), 0, 0xFF, good[index] ^ 1] {
        var changed = good
        changed[index] = replacement
        if let key = try? ES256PrivateKey(pem: changed) {
          #expect(key.publicKeyDER == publicKey)
        }
      }
    }
  }

  @Test("every prefix of a key file is refused")
  func everyPrefix() throws {
    let good = try Fixture.bytes("keys/AuthKey_TESTKEY001.p8")
    for count in 0..<(good.count - 1) {
      #expect(throws: PrivateKeyError.self) {
        _ = try ES256PrivateKey(pem: Array(good.prefix(count)))
      }
    }
  }
}
