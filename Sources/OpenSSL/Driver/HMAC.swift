internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
public enum HMACSHA256 {
  /// The code of a message under a key of any length. Compare codes in constant time.
  public static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: SHA256.byteCount)
    var count: UInt32 = 0
    let result = unsafe HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &count)
    let isMade = unsafe result != nil
    precondition(isMade && count == UInt32(code.count), "OpenSSL failed to compute an HMAC")
    return code
  }
}
