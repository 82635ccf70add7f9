import HTTP2
import PushCore

/// The last templates, so that the batches of a large notification share one.
struct TemplateCache {
  private struct Key: Hashable {
    let notification: NotificationID
    let credential: CredentialID
  }

  private struct Entry {
    let token: ProviderToken?
    let template: HTTP2RequestTemplate
  }

  /// Notifications in delivery at a time are few; each template holds a payload of at most 5120 bytes.
  private static let capacity = 64
  private var entries: [Key: Entry] = [:]
  private var order: [Key] = []
  private var next = 0

  /// The template of a notification under a provider token, or under none.
  func template(
    _ notification: NotificationID, _ credential: CredentialID, _ token: ProviderToken?
  ) -> HTTP2RequestTemplate? {
    guard let entry = entries[Key(notification: notification, credential: credential)],
      entry.token == token
    else { return nil }
    return entry.template
  }

  /// Keeps a template in place of the oldest.
  mutating func insert(
    _ template: HTTP2RequestTemplate, _ notification: NotificationID, _ credential: CredentialID,
    _ token: ProviderToken?
  ) {
    let key = Key(notification: notification, credential: credential)
    if entries.updateValue(Entry(token: token, template: template), forKey: key) != nil { return }
    if order.count < Self.capacity {
      order.append(key)
    } else {
      entries[order[next]] = nil
      order[next] = key
      next = (next + 1) % Self.capacity
    }
  }
}
