internal import CPostgreSQL
import Glibc
import Operations
import PushCore

/// Connects without blocking for longer than told.
enum ConnectionStart {
  /// Defaults that the URI may override: a server that vanished without a word is noticed within half a minute.
  private static let defaults = [
    ("tcp_user_timeout", "10000"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
  ]

  /// A handle of a connection that is open.
  ///
  /// - Parameter patience: how long each host of the URI may take.
  @unsafe static func open(_ location: PostgreSQLLocation, patience: Duration) throws(StoreError) -> OpaquePointer {
    let operation = "connect to \(location)"
    let hosts = try hostCount(location)
    let words =
      defaults + [
        ("dbname", location.uri.reveal()), ("fallback_application_name", "pushrelay"), ("client_encoding", "UTF8"),
      ]
    let handle = unsafe withCStrings(words.map(\.0)) { names in
      unsafe withCStrings(words.map(\.1)) { values in unsafe PQconnectStartParams(names, values, 1) }
    }
    guard let handle = unsafe handle else { throw SQLState.none.error(operation, message: "no memory") }
    // The state's five characters then stand in the message: nothing else tells a wrong password from a server that starts.
    _ = unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    if unsafe !isReached(handle, patience: patience * hosts) {
      let failure = unsafe failure(of: handle, operation, location)
      unsafe PQfinish(handle)
      throw failure
    }
    _ = unsafe PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
    _ = unsafe PQsetnonblocking(handle, 1)
    return unsafe handle
  }

  private static func isReached(_ handle: OpaquePointer, patience: Duration) -> Bool {
    let deadline = SystemClocks().monotonicTime() + patience
    var wanted = Int16(POLLOUT)
    while unsafe PQstatus(handle) != CONNECTION_BAD {
      guard unsafe SocketWait.wait(PQsocket(handle), for: wanted, until: deadline) else { return false }
      switch unsafe PQconnectPoll(handle) {
      case PGRES_POLLING_OK: return true
      case PGRES_POLLING_READING: wanted = Int16(POLLIN)
      case PGRES_POLLING_WRITING: wanted = Int16(POLLOUT)
      default: return false
      }
    }
    return false
  }

  /// How many hosts the URI names; a URI that libpq cannot read is refused.
  private static func hostCount(_ location: PostgreSQLLocation) throws(StoreError) -> Int {
    var message: UnsafeMutablePointer<CChar>?
    let options = unsafe PQconninfoParse(location.uri.reveal(), &message)
    defer {
      unsafe PQconninfoFree(options)
      unsafe PQfreemem(message)
    }
    guard var option = unsafe options else {
      // Not repeated: libpq's words quote the URI with its password.
      throw StoreError(
        code: .unusable, operation: "connect to \(location)", underlying: "libpq cannot read this URI",
        remedy: "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE, and in each part %XX for other bytes.")
    }
    while let keyword = unsafe option.pointee.keyword {
      if unsafe String(cString: keyword) == "host", let value = unsafe option.pointee.val {
        return unsafe String(cString: value).count { $0 == "," } + 1
      }
      unsafe option += 1
    }
    return 1
  }

  private static func failure(
    of handle: OpaquePointer, _ operation: String, _ location: PostgreSQLLocation
  ) -> StoreError {
    let isSilent = unsafe PQstatus(handle) != CONNECTION_BAD
    let message = isSilent ? "no answer" : unsafe String(cString: PQerrorMessage(handle))
    let failure = ConnectionMessage(message)
    // "Cannot be reached at all" where the server said nothing, else what its state means.
    let error = failure.state.error(operation, message: failure.text)
    guard failure.state == .none else { return error }
    return StoreError(
      code: .unavailable, operation: error.operation, underlying: error.underlying, remedy: error.remedy)
  }

  /// Runs `body` with C strings and a null behind the last.
  @unsafe private static func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = unsafe texts.map { unsafe UnsafePointer<CChar>(strdup($0)) } + [nil]
    defer { unsafe copies.forEach { unsafe free(UnsafeMutableRawPointer(mutating: $0)) } }
    return unsafe copies.withUnsafeBufferPointer { buffer in
      // Not empty, so there is an address.
      unsafe body(buffer.baseAddress.unsafelyUnwrapped)
    }
  }
}

/// What libpq says when a connection fails: in the verbose form the server's state stands after the severity.
struct ConnectionMessage {
  /// The state; none when no server answered.
  let state: SQLState
  /// The first line, without severity and state.
  let text: String

  init(_ message: String) {
    // Of several hosts each has a line; the last one says why there is no connection.
    let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }.map { $0.trimmed }
    let line = lines.last { $0.contains("FATAL:") } ?? lines.joined(separator: " ")
    guard let mark = line.firstRange(of: "FATAL:  "), line[mark.upperBound...].dropFirst(5).hasPrefix(": ") else {
      (state, text) = (.none, line)
      return
    }
    state = SQLState(String(line[mark.upperBound...].prefix(5)))
    text = String(line[mark.upperBound...].dropFirst(7))
  }
}

extension Substring {
  fileprivate var trimmed: String { String(drop { $0.isWhitespace }) }
}

/// Waiting for a socket.
enum SocketWait {
  /// Waits until a socket is readable (POLLIN) or writable (POLLOUT); false when the deadline passed before.
  static func wait(_ socket: Int32, for events: Int16, until deadline: MonotonicTime) -> Bool {
    wait([socket], for: events, until: deadline)
  }

  /// Waits until the first of several sockets is readable, or until the deadline.
  static func wait(_ sockets: [Int32], untilReadableOr deadline: MonotonicTime) -> Bool {
    wait(sockets, for: Int16(POLLIN), until: deadline)
  }

  private static func wait(_ sockets: [Int32], for events: Int16, until deadline: MonotonicTime) -> Bool {
    let clock = SystemClocks()
    while true {
      let left = deadline.since(clock.monotonicTime())
      var polled = sockets.map { pollfd(fd: $0, events: events, revents: 0) }
      // Rounded up, so that the deadline has passed when nothing came.
      let count = unsafe poll(&polled, nfds_t(polled.count), Int32(clamping: left.wholeMilliseconds + 1))
      if count > 0 { return true }
      if count < 0, errno == EINTR { continue }
      if left == .zero { return false }
    }
  }
}
