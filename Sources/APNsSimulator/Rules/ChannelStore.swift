import OpenSSL

/// The channels of broadcasts: each belongs to one app in one environment.
struct ChannelStore: Sendable {
  /// An app in an environment.
  struct App: Sendable, Hashable {
    var bundleID: String
    var environment: Environment
  }

  /// What APNs keeps for devices that are offline; the raw value is that of `message-storage-policy`.
  enum StoragePolicy: Int64, Sendable {
    case none = 0
    case mostRecent = 1
  }

  /// How many channels an app may have in an environment.
  static let limit = 10_000
  private static let idBytes = 16

  private var channels: [App: [String: StoragePolicy]]
  private var appsWithoutBroadcast: Set<String> = []

  /// A store of the given channels.
  init(_ channels: [App: [String: StoragePolicy]] = [:]) { self.channels = channels }

  /// Whether the text has the form of a channel's id: base64 with padding, of any length.
  static func isChannelID(_ text: String) -> Bool {
    let characters = Array(text.utf8)
    guard !characters.isEmpty, characters.count.isMultiple(of: 4) else { return false }
    let padding = characters.suffix(2).count { $0 == UInt8(ascii: "=") }
    return characters.dropLast(padding).allSatisfy { character in
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        true
      default: false
      }
    }
  }

  /// Switches the Broadcast capability of an app, in both environments; without it its channels are gone for good.
  mutating func setCapability(_ isOn: Bool, of bundleID: String) {
    if isOn {
      appsWithoutBroadcast.remove(bundleID)
    } else {
      appsWithoutBroadcast.insert(bundleID)
      for environment in Environment.allCases { channels[App(bundleID: bundleID, environment: environment)] = nil }
    }
  }

  /// Refuses an app without the Broadcast capability.
  func checkCapability(of app: App) throws(Rejection) {
    if appsWithoutBroadcast.contains(app.bundleID) { throw Rejection(.featureNotEnabled) }
  }

  /// Whether an app has that channel.
  func contains(_ id: String, of app: App) -> Bool { channels[app]?[id] != nil }

  /// The ids of an app's channels, sorted; Apple's order is not known.
  func ids(of app: App) -> [String] { channels[app, default: [:]].keys.sorted() }

  /// The policy of a channel; refuses one that the app does not have in its environment.
  func policy(of id: String, of app: App) throws(Rejection) -> StoragePolicy {
    guard let policy = channels[app]?[id] else { throw Rejection(.channelNotRegistered) }
    return policy
  }

  /// Makes a channel with a random id, which is returned; refuses one more than ``limit``.
  mutating func create(_ policy: StoragePolicy, of app: App) throws(Rejection) -> String {
    guard channels[app, default: [:]].count < Self.limit else { throw Rejection(.cannotCreateChannelConfig) }
    let id = Base64.encode((0..<Self.idBytes).map { _ in UInt8.random(in: .min ... .max) })
    channels[app, default: [:]][id] = policy
    return id
  }

  /// Deletes a channel for good; refuses one that the app does not have in its environment.
  mutating func delete(_ id: String, of app: App) throws(Rejection) {
    guard channels[app]?.removeValue(forKey: id) != nil else { throw Rejection(.channelNotRegistered) }
  }
}
