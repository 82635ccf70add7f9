/// The payloads of a notification whose recipients have values of their own.
public struct PersonalPayload: Sendable, Equatable {
  private let template: PayloadTemplate
  private let entries: [RecipientValues.Entry]

  /// Puts a stored payload and its substitutions together; nil when they do not belong together.
  public init?(_ payload: [UInt8], _ substitutions: Substitutions) {
    // What is wrong with a stored payload does not help its reader: no version of ours has written it.
    guard let payload = try? Payload(payload), let template = try? PayloadTemplate(payload),
      template.names == substitutions.names
    else { return nil }
    self.template = template
    entries = substitutions.entries
  }

  /// The payload for a device that takes the values of an entry.
  public func bytes(ofEntry entry: Int) -> [UInt8] { template.rendered(entries[entry]) }
}
