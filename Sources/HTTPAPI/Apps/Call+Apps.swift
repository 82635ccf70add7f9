import JSON
import Operations
import PushCore

/// What the endpoints for apps read from a call.
extension Call {
  /// The largest body of a registration.
  static let registrationLimitBytes = 16 << 10

  /// The JSON object of the body; members that are not known do not matter to apps' servers.
  func object(limitBytes: Int = registrationLimitBytes) throws -> JSONValue {
    guard request.body.count <= limitBytes else {
      throw Problem(.tooLarge, "the body has more than \(limitBytes) bytes")
    }
    let value = try JSONValue(parsing: request.body)
    guard value.object != nil else { throw Problem(.malformedRequest, "a JSON object is needed") }
    return value
  }

  /// A device token as an app sends it.
  func appToken(_ text: String) throws -> DeviceToken {
    do {
      return try DeviceToken(parsing: text, allowsOddLength: true)
    } catch {
      throw Problem(.malformedRequest, "\(error)")
    }
  }

  /// The topic of apps that name none.
  func defaultTopic() throws -> String { try appTopic(context.policy.deviceAPI.defaultTopic ?? context.apps.onlyTopic) }

  /// A topic that an app names; an app of the settings has it.
  func appTopic(_ topic: String?) throws -> String {
    guard let topic, TopicText.fault(in: topic) == nil, context.apps.app(for: topic) != nil else {
      throw Problem(.malformedRequest, "no app of this relay has this bundle id")
    }
    return topic
  }

  /// The environment of devices that do not say.
  var defaultEnvironment: Environment {
    Environment(name: context.policy.deviceAPI.environment.rawValue) ?? .production
  }

  /// The tokens of the active devices that a query finds, each once, at most ten thousand.
  func tokens(_ query: DeviceQuery, where isShown: (Device) -> Bool = { _ in true }) async throws -> [String] {
    var query = query
    query.retired = false
    var tokens: [String] = []
    var seen: Set<String> = []
    var after = DeviceID(0)
    while tokens.count < 10_000 {
      let page = try await context.store.devices(query, after: after, limit: 1000)
      for device in page where isShown(device) && seen.insert(device.token.text).inserted {
        tokens.append(device.token.text)
      }
      guard page.count == 1000, let last = page.last else { break }
      after = last.id
    }
    return tokens
  }

  /// An answer of one JSON array of texts.
  static func list(_ texts: [String]) -> Answer {
    var writer = JSONWriter()
    writer.array { for text in texts { $0.string(text) } }
    return Answer(status: 200, type: "application/json", writer.bytes)
  }

  /// An answer of one JSON text.
  static func text(_ status: Int, _ text: String) -> Answer {
    var writer = JSONWriter()
    writer.string(text)
    return Answer(status: status, type: "application/json", writer.bytes)
  }
}
