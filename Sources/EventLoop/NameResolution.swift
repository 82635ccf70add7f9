/// Looks names up away from the loops, since the system's resolver blocks for seconds when a name server is silent.
public enum NameResolution {
  /// Something that looks a name up and tells the result once, on any thread.
  public typealias Resolver =
    @Sendable (
      _ host: String, _ port: UInt16, _ deliver: @escaping @Sendable (Result<[SocketAddress], SocketError>) -> Void
    ) -> Void

  /// Resolves `host` on a thread of its own and calls `deliver` there, once, with at least one address or the failure.
  ///
  /// Both address families, in the order of RFC 6724 as the system's resolver gives them. Put the result into a
  /// ``Mailbox`` to get back to a loop.
  public static func resolve(
    host: String, port: UInt16, deliver: @escaping @Sendable (Result<[SocketAddress], SocketError>) -> Void
  ) {
    do {
      try ThreadID.start(name: "name-look-up") { deliver(lookUp(host: host, port: port)) }.detach()
    } catch {
      deliver(.failure(error))
    }
  }

  /// Resolves on the calling thread; blocks for as long as the system's resolver does.
  public static func lookUp(host: String, port: UInt16) -> Result<[SocketAddress], SocketError> {
    Result { () throws(SocketError) in try SocketAddress.resolve(host: host, port: port, passive: false) }
  }
}
