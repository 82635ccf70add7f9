/// Finds the private key in what a file or setting holds, and says plainly what else it is.
enum PrivateKeyText {
  /// The encodings of a private key that are taken.
  enum Encoding {
    /// `PRIVATE KEY`: PKCS#8 (RFC 5958).
    case pkcs8
    /// `EC PRIVATE KEY`: SEC 1 (RFC 5915).
    case sec1
  }

  /// The DER bytes of the first private key.
  static func der(in bytes: [UInt8]) throws(PrivateKeyError) -> (Encoding, [UInt8]) {
    guard !isWideText(bytes) else { throw .wideText }
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    guard text.contains(where: { !isSpace($0) }) else { throw .empty }
    let pem = PEMText(text)
    for block in pem.blocks {
      let encoding: Encoding
      switch block.label {
      case "PRIVATE KEY": encoding = .pkcs8
      case "EC PRIVATE KEY": encoding = .sec1
      default: continue
      }
      guard !block.isEncrypted else { throw .encrypted }
      guard let der = block.der, !der.isEmpty else { throw .corruptBase64 }
      return (encoding, der)
    }
    guard !pem.isTruncated else { throw .truncated }
    // EC PARAMETERS may precede a key and say nothing themselves.
    if let other = pem.blocks.first(where: { $0.label != "EC PARAMETERS" }) ?? pem.blocks.first {
      throw fault(label: other.label)
    }
    throw fault(withoutPEM: text)
  }

  private static func fault(label: String) -> PrivateKeyError {
    switch label {
    case "CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE": .certificate
    case "PUBLIC KEY", "RSA PUBLIC KEY": .publicKey
    case "ENCRYPTED PRIVATE KEY": .encrypted
    case "RSA PRIVATE KEY": .otherAlgorithm("RSA")
    case "DSA PRIVATE KEY": .otherAlgorithm("DSA")
    case "OPENSSH PRIVATE KEY": .otherAlgorithm("OpenSSH")
    default: .otherLabel(printable(label))
    }
  }

  private static func fault(withoutPEM text: [UInt8]) -> PrivateKeyError {
    if isBinary(text) { return BinaryKeyKind.isPKCS12(text) ? .pkcs12 : .binary }
    guard let decoded = Base64Decoder.decodeStandard(text), decoded.count >= 16 else { return .noPEM }
    if decoded.starts(with: "-----BEGIN".utf8) { return .base64OfPEM }
    // 0x30 opens every ASN.1 SEQUENCE, and with it every key.
    return decoded.first == 0x30 ? .bareBase64 : .noPEM
  }

  /// UTF-16 and UTF-32 by their marks, or by every second byte of ASCII text being zero.
  private static func isWideText(_ bytes: [UInt8]) -> Bool {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return true }
    if bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return true }
    let start = bytes.prefix(32)
    return start.count >= 8 && start.filter { $0 == 0 }.count * 2 >= start.count
      && start.allSatisfy { $0 == 0 || $0 >= 0x09 && $0 < 0x7F }
  }

  private static func isBinary(_ bytes: [UInt8]) -> Bool {
    bytes.contains { $0 < 0x20 && !isSpace($0) || $0 >= 0x7F }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte >= 0x09 && byte <= 0x0D }

  /// A label is public; what is not plain ASCII in it is not shown.
  private static func printable(_ label: String) -> String {
    label.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? label : "an unknown label"
  }
}
