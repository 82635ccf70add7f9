import Glibc

/// A TCP port of 127.0.0.1 that nobody listens on now: for tests that need a closed port or must name one in advance.
///
/// Another process may take it; a server under test should listen on port 0 instead.
public func freePort() throws -> UInt16 {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { throw SupportError("cannot make a socket: errno \(errno)") }
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let outcome = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
      bind(descriptor, generic, length) == 0 ? getsockname(descriptor, generic, &length) : -1
    }
  }
  guard outcome == 0 else { throw SupportError("cannot find a free port: errno \(errno)") }
  return UInt16(bigEndian: address.sin_port)
}
