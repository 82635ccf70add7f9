internal import CLinux

extension SocketError {
  /// A failure by the system's error number.
  static func system(_ operation: Operation, _ subject: String, _ code: Int32) -> SocketError {
    SocketError(operation, subject, code: code, reason: text(code), remedy: remedy(operation, code))
  }

  private static func text(_ code: Int32) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress, unsafe strerror_r(code, base, buffer.count) == 0 else {
        return "errno \(code)"
      }
      return unsafe String(cString: base)
    }
  }

  private static func remedy(_ operation: Operation, _ code: Int32) -> String {
    switch code {
    case ECONNREFUSED: "nothing listens there: check host and port, or start the server"
    case ENETUNREACH, EHOSTUNREACH: "check this machine's network and routes"
    case ETIMEDOUT: "the host does not answer: check the address and whether a firewall drops the port"
    case EADDRINUSE: "another program has this port: stop it or choose another port"
    case EACCES where operation == .listen: "ports below 1024 need CAP_NET_BIND_SERVICE: choose another port"
    case EADDRNOTAVAIL where operation == .listen: "no interface of this machine has that address"
    case EMFILE, ENFILE: "no descriptors left: raise the limit (ulimit -n, LimitNOFILE=)"
    default: ""
    }
  }
}
