import PushCore

@testable import APNs
@testable import OpenSSL

extension FuzzTarget {
  /// `.p8` files and public keys.
  static let privateKey = FuzzTarget(name: "private-key") { bytes in
    do {
      let key = try ES256PrivateKey(pem: bytes)
      let message = Array("message".utf8)
      let signature = try key.sign(message)
      try require(signature.count == 64, "a signature of \(signature.count) bytes")
      try require(key.publicKey.verify(signature: signature, of: message), "a signature does not verify")
      let otherEnds = Array(String(decoding: bytes, as: UTF8.self).utf8.map { $0 == 0x0A ? 0x0D : $0 })
      if bytes.allSatisfy({ $0 < 0x80 }) {
        let other = try? ES256PrivateKey(pem: otherEnds)
        try require(other?.publicKeyDER == key.publicKeyDER, "with other line ends it is another key")
      }
    } catch let error as PrivateKeyError {
      try checkSecrecy(error, bytes)
    }
    do {
      let key = try ES256PublicKey(pem: bytes)
      try require(!key.verify(signature: [UInt8](repeating: 1, count: 64), of: []), "a made-up signature verifies")
    } catch let error as PrivateKeyError {
      try checkSecrecy(error, bytes)
    }
  }

  /// No message repeats a stretch of what stands between BEGIN and END, nor anything that a terminal obeys.
  private static func checkSecrecy(_ error: PrivateKeyError, _ bytes: [UInt8]) throws {
    let message = "\(error)"
    try require(message.unicodeScalars.allSatisfy(isShown), "a message shows control characters")
    for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) where line.count >= 24 {
      let text = String(decoding: line, as: UTF8.self)
      try require(text.contains("----") || !message.holdsBytes(of: text), "a message repeats a line of the file")
    }
  }

  /// Files that share provider tokens between processes.
  static let providerToken = FuzzTarget(name: "provider-token") { bytes in
    guard let record = ProviderTokenFile.decode(bytes) else { return }
    let again = ProviderTokenFile.decode(ProviderTokenFile.encode(record))
    try require(again == record && again?.jwt.hasSameBytes(as: record.jwt) == true, "a stored record is read otherwise")
    let key = ProviderKeyIdentity(teamID: "TEAM123456", keyID: "KEY1234567", publicKeySHA256: [])
    guard let token = ProviderToken(record: record, key: key) else { return }
    try require(
      token.jwt.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a provider token with characters that no header may have")
    try require(!"\(token)".holdsBytes(of: token.jwt), "a provider token describes itself in full")
  }
}
