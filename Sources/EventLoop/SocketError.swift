/// Why a socket, a name look-up or another system object failed.
public struct SocketError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was being done.
  public enum Operation: String, Sendable, Hashable {
    /// Turning a host name into addresses.
    case resolve = "resolve the name of"
    /// Opening a TCP connection.
    case connect = "connect to"
    /// Opening a TCP connection, given up after a time.
    case connectInTime = "connect in time to"
    /// Taking a listening address.
    case listen = "listen on"
    /// Taking a waiting connection.
    case accept = "accept a connection on"
    /// Reading from a connection.
    case read = "read from"
    /// Writing to a connection.
    case write = "write to"
    /// Creating a descriptor, a thread or another object of the system.
    case create = "create"
  }

  /// What was being done.
  public let operation: Operation
  /// With what: `host:port`, or the name of the object.
  public let subject: String
  /// The system's errno, or getaddrinfo's code for ``Operation/resolve``; 0 when a time ran out.
  public let code: Int32
  /// The system's text for ``code``.
  public let reason: String
  /// One sentence: what the reader can do.
  public let remedy: String

  /// A failure by its parts.
  public init(_ operation: Operation, _ subject: String, code: Int32, reason: String, remedy: String = "") {
    self.operation = operation
    self.subject = subject
    self.code = code
    self.reason = reason
    self.remedy = remedy
  }

  /// What failed and why, without the remedy.
  public var summary: String { "cannot \(operation.rawValue) \(subject): \(reason)" }

  /// One line for people; holds no secret.
  public var description: String {
    remedy.isEmpty ? summary : "\(summary); \(remedy)"
  }
}
