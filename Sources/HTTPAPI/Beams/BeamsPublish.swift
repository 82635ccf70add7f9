import JSON
import Operations
import PushCore

/// The body of a publish, checked in the service's order and words.
struct BeamsPublish {
  /// Whom a publish names.
  enum Audience: String, Sendable {
    case interests, users

    /// How many it may name.
    var limit: Int { self == .interests ? NotificationLimits.interests : NotificationLimits.users }
    /// The largest body.
    var bodyLimitBytes: Int { (self == .interests ? 10 : 200) << 10 }
  }

  private static let interestPattern = #"^[a-zA-Z0-9_\-=@,.;]+$"#

  /// Whom it is for.
  let target: Target
  /// What the device is to receive, before the relay's own part.
  let payload: BeamsPayload
  /// Whom to tell of it.
  let webhook: Webhook?

  /// Reads a body.
  init(_ body: [UInt8], to audience: Audience, webhooks: WebhookPolicy) throws(BeamsError) {
    guard body.count <= audience.bodyLimitBytes else {
      throw .badRequest("the body has more than \(audience.bodyLimitBytes >> 10) KiB")
    }
    // Whatever the parser says: the service has one answer.
    guard let value = try? JSONValue(parsing: body), value.object != nil else {
      throw .badRequest("the body is not a JSON object")
    }
    let names = try Self.names(value, audience)
    target = audience == .interests ? Target(interests: names) : Target(users: names)
    guard let apns = value["apns"] else {
      throw .unprocessable("apns", "apns is required: this relay delivers to APNs alone")
    }
    payload = try BeamsPayload(apns, in: body)
    let url = try Self.webhookURL(value, webhooks)
    webhook = url.map { Webhook(url: $0.text, requestBody: body) }
  }

  private static func webhookURL(_ value: JSONValue, _ policy: WebhookPolicy) throws(BeamsError) -> WebhookURL? {
    guard let member = value["webhookUrl"], !member.isNull else { return nil }
    guard let text = member.string else {
      throw .unprocessable("webhookUrl", "Invalid type. Expected: string, given: \(kind(member))")
    }
    do {
      return try WebhookURL(text, policy: policy)
    } catch {
      throw .unprocessable("webhookUrl", "the URL \(error)")
    }
  }

  private static func names(_ value: JSONValue, _ audience: Audience) throws(BeamsError) -> [String] {
    let path = audience.rawValue
    guard let member = value[path] else { throw .unprocessable(path, "\(path) is required") }
    guard let elements = member.array else {
      throw .unprocessable(path, "Invalid type. Expected: array, given: \(kind(member))")
    }
    guard !elements.isEmpty else { throw .unprocessable(path, "Array must have at least 1 items") }
    guard elements.count <= audience.limit else {
      throw .unprocessable(path, "Array must have at most \(audience.limit) items")
    }
    var names: [String] = []
    var seen: Set<[UInt8]> = []
    for (index, element) in elements.enumerated() {
      let place = "\(path).\(index)"
      guard let name = element.string else {
        throw .unprocessable(place, "Invalid type. Expected: string, given: \(kind(element))")
      }
      if let detail = fault(in: name, audience) { throw .unprocessable(place, detail) }
      if seen.insert(Array(name.utf8)).inserted {
        names.append(name)
      } else if audience == .users {
        throw .unprocessable(path, "array items must be unique")
      }
    }
    return names
  }

  private static func fault(in name: String, _ audience: Audience) -> String? {
    guard !name.isEmpty else { return "String length must be greater than or equal to 1" }
    guard name.unicodeScalars.count <= InterestName.maximumLength else {
      return "String length must be less than or equal to \(InterestName.maximumLength)"
    }
    if audience == .users { return NotificationLimits.fault(inUserID: name) }
    return InterestName.fault(in: name) == nil ? nil : "Does not match pattern '\(interestPattern)'"
  }

  private static func kind(_ value: JSONValue) -> String {
    switch value.kind {
    case .null: "null"
    case .bool: "boolean"
    case .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }
}
