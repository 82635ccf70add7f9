import JSON
import OpenSSL
import Operations
import PushCore

@testable import HTTPAPI

extension FuzzTarget {
  /// The targets of requests.
  static let requestTarget = FuzzTarget(name: "request-target") { bytes in
    let raw = String(decoding: bytes, as: UTF8.self)
    guard let target = try? RequestTarget(raw: raw) else { return }
    try require(raw.utf8.count <= RequestTarget.limitBytes, "a target beyond the limit is taken")
    let texts = target.segments + target.query.flatMap { [$0.name, $0.value] }
    try require(
      texts.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }, "a control character gets through")
    try require(!target.segments.contains("..") && !target.segments.contains("."), "a path leads upwards")
    let names = target.query.map { Array($0.name.utf8) }
    try require(Set(names).count == names.count, "a parameter is there twice")
    // Everything encoded, it leads to the same place.
    let path = target.segments.map { "/" + encoded($0) }.joined()
    let query = target.query.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    let again = path + (query.isEmpty ? "" : "?" + query)
    guard again.utf8.count <= RequestTarget.limitBytes else { return }
    try require((try? RequestTarget(raw: again)) == target, "what is encoded again leads elsewhere")
  }

  private static func encoded(_ text: String) -> String {
    text.utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// User tokens: as they come, and claims that are signed well. The first byte says which.
  static let userToken = FuzzTarget(name: "user-token") { bytes in
    let secret = "0123456789abcdef"
    let instance = Configuration.BeamsInstance(
      id: "00000000-0000-4000-8000-00000000beef", secretKey: SecretText(secret), topics: ["com.example.app"],
      environment: .production)
    var input = FuzzInput(bytes)
    let isSigned = input.byte() & 1 == 1
    let rest = input.remainder()
    var text = String(decoding: rest, as: UTF8.self)
    if isSigned {
      let parts = [Array(#"{"alg":"HS256"}"#.utf8), rest].map { Base64URL.encode($0) }
      let signed = parts.joined(separator: ".")
      text = signed + "." + Base64URL.encode(HMACSHA256.code(of: Array(signed.utf8), key: Array(secret.utf8)))
    }
    do {
      let token = try UserToken(text, instance: instance, now: UnixMilliseconds(1_790_000_000_000))
      try require(isSigned, "a token is taken that nobody signed")
      try require(UserToken.fault(inUserID: token.user) == nil, "such a user is taken")
      try require((try JSONValue(parsing: rest))["sub"]?.string == token.user, "it names another user")
    } catch let error as BeamsError {
      try require((400...403).contains(error.status), "it is refused with \(error.status)")
      try require(error.description.unicodeScalars.allSatisfy(isShown), "a refusal shows control characters")
    }
  }

  /// Publishes of Beams backends.
  static let beamsPublish = FuzzTarget(name: "beams-publish") { bytes in
    for audience in [BeamsPublish.Audience.interests, .users] {
      do {
        let publish = try BeamsPublish(bytes, to: audience, webhooks: WebhookPolicy())
        try require(bytes.count <= audience.bodyLimitBytes, "a body beyond the limit is taken")
        let target = publish.target
        try require(
          (1...audience.limit).contains(target.interests.count + target.users.count),
          "it is for nobody, or for too many")
        let payload = publish.payload.bytes(publishID: "pubid-1", instance: "instance")
        let document = try JSONValue(parsing: payload)
        try require(document["aps"]?.object != nil, "its payload has no aps")
        try require(document["data"]?["pusher"]?["publishId"]?.string == "pubid-1", "its payload does not name it")
        // In place, since a name may be there twice.
        let sent = document["aps"]?.object ?? []
        for (index, member) in (try JSONValue(parsing: bytes)["apns"]?["aps"]?.object ?? []).enumerated() {
          try require(
            payload[sent[index].value.range] == bytes[member.value.range] && sent[index].name == member.name,
            "its aps is changed")
        }
      } catch let error as BeamsError {
        try require(error.status == 400 || error.status == 422, "it is refused with \(error.status)")
        try require(!error.error.isEmpty && !error.description.isEmpty, "it is refused without a word")
      }
    }
  }
}
