/// A look at one open connection of a server.
public struct ServerConnectionState: Sendable, Equatable {
  /// The connection's number, from 1.
  public let connection: UInt64
  /// Which of the server's listeners took it, from 0.
  public let listener: Int
  /// How many of its streams are open.
  public let openStreams: Int
  /// How many it may have open by the settings that its client has acknowledged; nil: no limit.
  public let streamLimit: UInt32?
  /// How many requests it has had.
  public let requests: Int
  /// Whether its client was told to go away.
  public let isGoingAway: Bool
}
