import Foundation
import OpenSSL
import Support
import Testing

@Suite("ES256 signatures, digests and base64url")
struct SignatureTests {
  private func key() throws -> ES256PrivateKey {
    try ES256PrivateKey(pem: try Fixture.bytes("keys/AuthKey_TESTKEY001.p8"))
  }

  @Test(
    "the signatures of the table verify in their raw form and not as DER",
    arguments: try Fixture.table("jwt-vectors.tsv"))
  func vectors(row: [String]) throws {
    let publicKey = try ES256PrivateKey(pem: try Fixture.bytes("keys/key-good.p8")).publicKey
    let input = Array(
      "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNzAwMDAwMDAwfQ"
        .utf8)
    let raw = try #require(Base64URL.decode(row[3]))

    #expect(raw == (try bytes(hex: row[2])))
    #expect(Base64URL.encode(raw) == row[3])
    #expect(publicKey.verify(signature: raw, of: input))
    #expect(!publicKey.verify(signature: try bytes(hex: row[1]), of: input))
    #expect(!publicKey.verify(signature: raw, of: input + [0]))
  }

  @Test("a thousand signatures are 64 bytes long and verify, those with a short r or s too")
  func roundTrips() throws {
    let key = try key()
    let publicKey = try ES256PublicKey(pem: try Fixture.bytes("keys/TESTKEY001-public.pem"))
    var shortHalves = 0
    for number in 0..<1000 {
      let message = Array("message \(number)".utf8)
      let signature = try key.sign(message)
      #expect(signature.count == 64)
      #expect(publicKey.verify(signature: signature, of: message))
      if signature[0] == 0 || signature[32] == 0 { shortHalves += 1 }
    }
    // 2 in 256 are expected; none in 1000 has a probability below 0.001.
    #expect(shortHalves > 0)
  }

  @Test("one flipped bit anywhere in a signature is noticed")
  func flippedBits() throws {
    let key = try key()
    let message = Array("message".utf8)
    let signature = try key.sign(message)
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 0x10
      #expect(!key.publicKey.verify(signature: changed, of: message))
    }
    #expect(!key.publicKey.verify(signature: [], of: message))
    #expect(!key.publicKey.verify(signature: [UInt8](repeating: 0, count: 64), of: message))
    #expect(!key.publicKey.verify(signature: Array(signature.dropLast()), of: message))
  }

  @Test("several threads may sign with one key")
  func concurrentSigning() async throws {
    let key = try key()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<64 {
        group.addTask {
          let message = Array("\(number)".utf8)
          return key.publicKey.verify(signature: try key.sign(message), of: message)
        }
      }
      for try await verifies in group { #expect(verifies) }
    }
  }

  @Test("a private key is no public key")
  func publicKeyOnly() throws {
    #expect(throws: PrivateKeyError.self) {
      _ = try ES256PublicKey(pem: try Fixture.bytes("keys/AuthKey_TESTKEY001.p8"))
    }
  }

  @Test("SHA-256 and SHA-1 give the values of FIPS 180-4")
  func digests() throws {
    let abc = Array("abc".utf8)
    #expect(
      SHA256.digest(abc)
        == (try bytes(hex: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")))
    #expect(
      SHA256.digest([])
        == (try bytes(hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")))
    let hasher = try SHA1()
    for _ in 0..<3 {
      let digest = hasher.digest(of: abc.span)
      #expect(
        digest.indices.map { digest[$0] }
          == (try bytes(hex: "a9993e364706816aba3e25717850c26c9cd0d89d")))
    }
  }

  @Test("base64url round-trips and refuses what is not its own")
  func base64URL() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      let text = Base64URL.encode(bytes)
      #expect(Base64URL.decode(text) == bytes)
      #expect(!text.contains { "+/=\n".contains($0) })
    }
    #expect(Base64URL.encode(Array("f".utf8)) == "Zg")
    for text in ["Zg==", "Zg=", "Z", "Zh", "Zm9", "+/", "Zg\n", "Z g", "é"] {
      #expect(Base64URL.decode(text) == nil)
    }
    #expect(Base64URL.decode("Zm8") == Array("fo".utf8))
  }

  private func bytes(hex: String) throws -> [UInt8] {
    let digits = Array(hex)
    return try stride(from: 0, to: digits.count, by: 2).map {
      try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16))
    }
  }
}
