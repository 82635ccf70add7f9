import JSON

/// Makes a payload from single values, as options and columns give them.
public struct PayloadBuilder: Sendable, Equatable {
  /// `alert.title`; a string, whatever it looks like.
  public var title: String?
  /// `alert.subtitle`.
  public var subtitle: String?
  /// `alert.body`.
  public var body: String?
  /// `badge`; 0 removes the badge.
  public var badge: Int64?
  /// `sound`.
  public var sound: String?
  /// `category`.
  public var category: String?
  /// `thread-id`.
  public var threadID: String?
  /// `interruption-level`, as written.
  public var interruptionLevel: String?
  /// Whether `content-available` is set: for pushes of type background.
  public var isContentAvailable = false
  /// Custom data beside `aps`, one item as written: a JSON object, `key=text` or `key:=json`.
  public var data: [String] = []

  /// A builder without values.
  public init() {}

  /// Whether no value was given.
  public var isEmpty: Bool { self == PayloadBuilder() }

  /// The payload; its members in the order of the values above, custom data last.
  /// - Throws: every fault, under the names of the options.
  public func build() throws(NotificationFaults) -> [UInt8] {
    var faults: [NotificationFinding] = []
    if let badge, badge < 0 { faults.append(NotificationFinding("badge", "it must not be negative; 0 removes it")) }
    if let level = interruptionLevel, InterruptionLevel(rawValue: level) == nil {
      faults.append(NotificationFinding("interruption_level", "it must be \(InterruptionLevel.list)"))
    }
    var members: [DataItem.Member] = []
    for (index, text) in data.enumerated() {
      let path = "data[\(index)]"
      do {
        members += try DataItem.members(of: text)
      } catch {
        faults.append(NotificationFinding(path, error.description))
      }
    }
    var names: Set<String> = []
    for member in members where !names.insert(member.name).inserted {
      faults.append(NotificationFinding("data", "the key '\(member.name)' is given twice"))
    }
    guard faults.isEmpty else { throw NotificationFaults(faults) }
    return write(members)
  }

  private func write(_ members: [DataItem.Member]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.name("aps")
      writer.object { writeAps(&$0) }
      for member in members {
        writer.name(member.name)
        writer.raw(member.json)
      }
    }
    return writer.bytes
  }

  private func writeAps(_ writer: inout JSONWriter) {
    if title != nil || subtitle != nil || body != nil {
      writer.name("alert")
      writer.object {
        if let title { $0.member("title", title) }
        if let subtitle { $0.member("subtitle", subtitle) }
        if let body { $0.member("body", body) }
      }
    }
    if let badge { writer.member(ApsKey.badge.rawValue, badge) }
    if let sound { writer.member(ApsKey.sound.rawValue, sound) }
    if let category { writer.member(ApsKey.category.rawValue, category) }
    if let threadID { writer.member(ApsKey.threadID.rawValue, threadID) }
    if let interruptionLevel { writer.member(ApsKey.interruptionLevel.rawValue, interruptionLevel) }
    if isContentAvailable { writer.member(ApsKey.contentAvailable.rawValue, 1) }
  }
}
