import JSON

/// What happened in one run of the simulator.
public struct Summary: Sendable, Equatable {
  /// Requests received whole.
  public var requests = 0
  /// Those answered with 200, or, when they make or delete a channel, with 201 and 204.
  public var accepted = 0
  /// The others, by the reason of their answer.
  public var byReason: [String: Int] = [:]
  /// Different device tokens in the paths of all requests; case does not count.
  public var distinctDevices = 0
  /// Requests whose apns-id had been accepted before.
  public var duplicates = 0
  /// Different values of `authorization`.
  public var providerTokens = 0
  /// Connections with a finished handshake.
  public var connections = 0
  /// The most streams that were open at once on one connection.
  public var maxStreams = 0
  /// What clients did that they may not do.
  public var violations: [Violation: Int] = [:]

  /// An empty run.
  public init() {}

  /// The object that the program prints at its end, in one line.
  public var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("requests", requests)
      writer.member("accepted", accepted)
      writer.name("by_reason")
      writer.object { writer in
        for (reason, count) in byReason.sorted(by: { $0.key < $1.key }) { writer.member(reason, count) }
      }
      writer.member("distinct_devices", distinctDevices)
      writer.member("duplicates", duplicates)
      writer.member("provider_tokens", providerTokens)
      writer.member("connections", connections)
      writer.member("max_streams", maxStreams)
      writer.name("violations")
      writer.object { writer in
        for (violation, count) in violations.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
          writer.member(violation.rawValue, count)
        }
      }
    }
    return writer.text
  }
}
