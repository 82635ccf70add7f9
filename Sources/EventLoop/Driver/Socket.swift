internal import CLinux
internal import Glibc

/// What a read or write on a non-blocking socket gave.
public enum SocketIO: Sendable {
  /// So many bytes were moved; at least 1.
  case bytes(Int)
  /// Nothing can be moved now: wait for the loop's next event.
  case wouldBlock
  /// The peer closed the connection.
  case closed
  /// The connection is broken.
  case failed(SocketError)
}

/// A non-blocking TCP socket, with Nagle's algorithm off. Confined to one thread at a time; closed when released.
public final class Socket {
  /// The system's descriptor, valid until ``close()``.
  public private(set) var descriptor: Int32
  /// `host:port` of the peer or of the listening address.
  public let name: String

  init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  deinit { close() }

  /// Closes the descriptor; further calls do nothing. Remove it from its loop first.
  public func close() {
    guard descriptor >= 0 else { return }
    // EINTR and EIO leave the descriptor closed on Linux, so there is nothing to repeat.
    _ = Glibc.close(descriptor)
    descriptor = -1
  }

  /// Makes the next ``close()`` drop unsent bytes and send RST instead of FIN.
  public func setAbortiveClose() {
    var value = linger(l_onoff: 1, l_linger: 0)
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
  }

  /// Sends FIN: the peer reads the end of the stream, and may go on sending.
  public func shutDownWriting() {
    // It fails only when there is no connection any more, and then the peer knows of an end.
    _ = shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Begins a connection. It has succeeded when the socket is writable and ``takeError(_:)`` is nil.
  public static func connect(to address: SocketAddress) throws(SocketError) -> Socket {
    let socket = try open(address, operation: .connect)
    let result = unsafe address.withSockaddr { unsafe Glibc.connect(socket.descriptor, $0, $1) }
    if result != 0, errno != EINPROGRESS { throw SocketError.system(.connect, address.description, errno) }
    return socket
  }

  /// Listens on an address of `host` (the first the system gives). An empty host means every interface, port 0 any free
  /// port: ``localAddress`` says which.
  public static func listen(host: String, port: UInt16, backlog: Int32 = 1024) throws(SocketError) -> Socket {
    let address = try SocketAddress.resolve(host: host, port: port, passive: true)[0]
    let socket = try open(address, operation: .listen)
    var one: Int32 = 1
    _ = unsafe setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    guard unsafe address.withSockaddr({ unsafe bind(socket.descriptor, $0, $1) }) == 0,
      Glibc.listen(socket.descriptor, backlog) == 0
    else { throw SocketError.system(.listen, "\(host):\(port)", errno) }
    return socket
  }

  /// Takes a waiting connection, or nil when there is none.
  public func accept() throws(SocketError) -> Socket? {
    while true {
      let accepted = accept4(descriptor, nil, nil, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
      if accepted >= 0 {
        let socket = Socket(descriptor: accepted, name: name)
        socket.disableNagle()
        return socket
      }
      switch errno {
      case EAGAIN: return nil
      case EINTR, ECONNABORTED: continue
      default: throw SocketError.system(.accept, name, errno)
      }
    }
  }

  /// The pending error of the socket, cleared by reading it; nil when there is none.
  public func takeError(_ operation: SocketError.Operation) -> SocketError? {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
      return SocketError.system(operation, name, errno)
    }
    return code == 0 ? nil : SocketError.system(operation, name, code)
  }

  /// The address this end has.
  public var localAddress: SocketAddress? { unsafe address(getsockname) }

  /// The address of the peer.
  public var peerAddress: SocketAddress? { unsafe address(getpeername) }

  private func address(
    _ ask: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutableBytes(of: &storage) { raw -> SocketAddress? in
      guard let base = unsafe raw.baseAddress?.assumingMemoryBound(to: sockaddr.self),
        unsafe ask(descriptor, base, &length) == 0
      else { return nil }
      return unsafe SocketAddress(base, length: length)
    }
  }

  private static func open(_ address: SocketAddress, operation: SocketError.Operation) throws(SocketError) -> Socket {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = Glibc.socket(address.family, type, 0)
    guard descriptor >= 0 else { throw SocketError.system(operation, address.description, errno) }
    let socket = Socket(descriptor: descriptor, name: address.description)
    socket.disableNagle()
    return socket
  }

  private func disableNagle() {
    // With Nagle on, a small flush waits 40 ms for the peer's delayed ACK. A failure costs speed only.
    var one: Int32 = 1
    _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }
}

extension Socket {
  /// Reads what has come, up to the size of `buffer`.
  public func read(into buffer: UnsafeMutableRawBufferPointer) -> SocketIO {
    unsafe result(.read, recv(descriptor, buffer.baseAddress, buffer.count, 0))
  }

  /// Writes what the kernel takes of `bytes`.
  public func write(_ bytes: UnsafeRawBufferPointer) -> SocketIO {
    unsafe result(.write, send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
  }

  /// Reads what has come, up to `limit` bytes, into memory of its own: for the little that is said before a protocol begins.
  public func receive(atMost limit: Int) -> (SocketIO, [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: limit)
    let io = unsafe bytes.withUnsafeMutableBytes { unsafe read(into: $0) }
    guard case .bytes(let count) = io else { return (io, []) }
    return (io, Array(bytes.prefix(count)))
  }

  /// Writes what the kernel takes of `bytes`.
  public func write(_ bytes: ArraySlice<UInt8>) -> SocketIO { unsafe bytes.withUnsafeBytes { unsafe write($0) } }

  private func result(_ operation: SocketError.Operation, _ count: Int) -> SocketIO {
    if count > 0 { return .bytes(count) }
    if count == 0 { return .closed }
    return errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed(.system(operation, name, errno))
  }
}
