import Foundation
import Glibc
import Operations

/// Stands before a server's unix socket under the name that PostgreSQL gives it, and cuts a connection in the middle of what it carries.
public final class CuttingProxy: Sendable {
  /// Who says what is cut.
  public enum Side: Sendable, CaseIterable {
    case client
    case server
  }

  private struct Cut: Sendable {
    var side: Side
    var bytesLeft: Int
  }

  /// Where it listens: the `host` of a URI.
  public var folder: String { directory.path }
  private let directory: TemporaryDirectory
  private let listener: Int32
  private let target: String
  private let cut = Lock<Cut?>(nil)

  /// A proxy before the socket in that folder.
  public init(before folder: String) throws {
    directory = try TemporaryDirectory()
    target = "\(folder)/.s.PGSQL.5432"
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let isBound = Self.withAddress("\(directory.path)/.s.PGSQL.5432") { bind(listener, $0, $1) == 0 }
    guard isBound, listen(listener, 16) == 0 else { throw SystemError.last("listen on", directory.path) }
    let descriptor = listener
    Spawn.thread { [weak self] in
      while true {
        let client = accept(descriptor, nil, nil)
        guard client >= 0, let self else { return }
        self.serve(client)
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Once `count` more bytes of that side have passed, on whatever connection, cuts the connection that carries the next one.
  public func cut(_ side: Side, after count: Int) { cut.withLock { $0 = Cut(side: side, bytesLeft: count) } }

  /// Cuts no more; whether the last cut was made.
  public func wasCut() -> Bool {
    cut.withLock { cut in
      defer { cut = nil }
      return cut == nil
    }
  }

  private func serve(_ client: Int32) {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard Self.withAddress(target, { connect(server, $0, $1) == 0 }) else {
      close(server)
      close(client)
      return
    }
    let ends = Lock(2)
    for (side, from, to) in [(Side.client, client, server), (.server, server, client)] {
      Spawn.thread { [cut] in
        Self.carry(side, from, to, cut)
        // Each end sees at once that the other is gone; the descriptors go when neither thread uses them.
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
        let isLast = ends.withLock { ends in
          ends -= 1
          return ends == 0
        }
        if isLast {
          close(from)
          close(to)
        }
      }
    }
  }

  private static func carry(_ side: Side, _ from: Int32, _ to: Int32, _ cut: Lock<Cut?>) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(from, &buffer, buffer.count)
      guard count > 0 else { return }
      let allowed = cut.withLock { cut in
        guard let planned = cut, planned.side == side else { return count }
        if planned.bytesLeft >= count {
          cut?.bytesLeft -= count
          return count
        }
        cut = nil
        return planned.bytesLeft
      }
      Spawn.write(Array(buffer[..<allowed]), to: to)
      if allowed < count { return }
    }
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
