import JSON
import OpenSSL
import PushCore

/// Digests that the programs need beside those of the protocols.
public enum Digests {
  /// SHA-256.
  public static func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.digest(bytes) }

  /// A digest as people compare it: lower-case hexadecimal.
  public static func hex(_ digest: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// What tells two enqueues under one idempotency key apart: everything that its sender chose.
  public static func hash(of publication: Publication) -> [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.member("topic", publication.topic)
      $0.member("interests", publication.target.interests.sorted())
      $0.member("users", publication.target.users.sorted())
      $0.member("tokens", publication.target.tokens.map(\.text).sorted())
      $0.member("everyone", publication.target.everyone)
      if let values = publication.recipientValues {
        // In the order in which the values are paired with them.
        $0.member(
          "recipients",
          publication.target.interests + publication.target.users + publication.target.tokens.map(\.text))
        $0.member(
          "values",
          (values.interests + values.users + values.tokens).joined().map { String(decoding: $0, as: UTF8.self) })
      }
      $0.member("environment", publication.environment?.name)
      $0.name("headers")
      $0.raw(publication.headers.encoded)
      $0.member("lane", publication.lane.name)
      $0.member("send_at", publication.sendAt?.value)
      switch publication.deadline {
      case .after(let duration): $0.member("expires_in", duration.wholeMilliseconds)
      case .at(let time): $0.member("expires_at", time.value)
      case .immediate: $0.member("expires_in", 0)
      }
    }
    return SHA256.digest(writer.bytes + publication.payload)
  }
}
