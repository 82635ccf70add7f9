internal import CLinux
internal import Glibc

/// An epoll instance with room for the events of one turn. Owned by one loop; the descriptor is closed with it.
@safe final class Poller: Sendable {
  private static let capacity = 64

  private let descriptor: Int32
  // Touched by the loop's thread alone; the poller crosses to that thread once, before the first use.
  private nonisolated(unsafe) let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)

  init() throws(SocketError) {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw SocketError.system(.create, "an epoll instance", errno) }
  }

  deinit {
    close(descriptor)
    unsafe events.deallocate()
  }

  /// Waits for events; a negative time waits without end. Returns their count, 0 after a timeout.
  func wait(milliseconds: Int32) -> Int {
    let count = unsafe epoll_wait(descriptor, events, Int32(Self.capacity), milliseconds)
    if count >= 0 { return Int(count) }
    // A signal, or the end of a pause of the process: what came in meanwhile must be seen before any timer fires.
    return Int(max(0, unsafe epoll_wait(descriptor, events, Int32(Self.capacity), 0)))
  }

  /// The event at `index` of the last ``wait(milliseconds:)``.
  func event(_ index: Int) -> (key: UInt64, readiness: Readiness) {
    precondition(index < Self.capacity)
    let event = unsafe events[index]
    var readiness: Readiness = []
    if unsafe event.events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
    if unsafe event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
    if unsafe event.events & (EPOLLHUP.rawValue | EPOLLERR.rawValue | EPOLLRDHUP.rawValue) != 0 {
      readiness.insert(.hangUp)
    }
    return unsafe (event.data.u64, readiness)
  }

  func add(_ descriptor: Int32, key: UInt64) throws(SocketError) {
    var event = unsafe epoll_event()
    unsafe event.events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
    unsafe event.data.u64 = key
    guard unsafe epoll_ctl(self.descriptor, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
      throw SocketError.system(.create, "a watch on descriptor \(descriptor)", errno)
    }
  }

  func remove(_ descriptor: Int32) {
    // Fails only when the descriptor is already closed, and then the kernel has removed it itself.
    _ = epoll_ctl(self.descriptor, EPOLL_CTL_DEL, descriptor, nil)
  }
}

/// An eventfd: wakes the loop that watches it.
final class WakeUpSignal: Sendable {
  let descriptor: Int32

  init() throws(SocketError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0 else { throw SocketError.system(.create, "an eventfd", errno) }
  }

  deinit { close(descriptor) }

  func raise() {
    // It fails only when 2^64 - 2 raises are unread, and then the descriptor is readable anyway.
    _ = eventfd_write(descriptor, 1)
  }
}
