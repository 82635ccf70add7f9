public import OpenSSL
import PushCore

/// `apns-id` of a push: UUID version 5 (RFC 9562 §5.5), so that a repeat carries the same one and receipts need not store it.
///
/// Namespace: the 16 bytes of `6f1f2c52-8d0f-4ae5-9b0e-3c5d1a7e4b90`. Name: 16 bytes, the notification's id and the
/// device's id, each as a 64-bit number, most significant byte first. Never changed: it would rename the receipts of
/// yesterday.
public enum APNsID {
  /// Characters of a UUID.
  static let length = 36

  private static let namespace: [UInt8] = [
    0x6F, 0x1F, 0x2C, 0x52, 0x8D, 0x0F, 0x4A, 0xE5, 0x9B, 0x0E, 0x3C, 0x5D, 0x1A, 0x7E, 0x4B, 0x90,
  ]

  /// The id of the push of a notification to a device, in lower case.
  public static func make(notification: NotificationID, device: DeviceID) throws(CryptoError) -> String {
    let text = try Maker(notification: notification).make(device)
    return String(decoding: text.indices.map { text[$0] }, as: UTF8.self)
  }

  /// Makes the ids of one notification; used by one thread at a time.
  struct Maker: ~Copyable {
    private let hasher: SHA1
    private var input: InlineArray<32, UInt8>

    init(notification: NotificationID) throws(CryptoError) {
      hasher = try SHA1()
      input = InlineArray(repeating: 0)
      for index in 0..<16 { input[index] = APNsID.namespace[index] }
      Self.write(notification.rawValue, at: 16, to: &input)
    }

    /// The text of a device's id; allocates nothing.
    func make(_ device: DeviceID) -> InlineArray<36, UInt8> {
      var input = input
      Self.write(device.rawValue, at: 24, to: &input)
      let digest = hasher.digest(of: input.span)
      var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
      var position = 0
      for index in 0..<16 {
        var byte = digest[index]
        if index == 6 { byte = byte & 0x0F | 0x50 }
        if index == 8 { byte = byte & 0x3F | 0x80 }
        if index == 4 || index == 6 || index == 8 || index == 10 { position += 1 }
        text[position] = Self.digit(byte >> 4)
        text[position + 1] = Self.digit(byte & 0x0F)
        position += 2
      }
      return text
    }

    private static func digit(_ value: UInt8) -> UInt8 {
      value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    private static func write(_ value: Int64, at start: Int, to bytes: inout InlineArray<32, UInt8>) {
      for index in 0..<8 {
        bytes[start + index] = UInt8(truncatingIfNeeded: value >> Int64(56 - 8 * index))
      }
    }
  }
}
