internal import CLinux
import Glibc
import PushCore

/// Wakes a thread that waits for sockets.
final class Waker: Sendable {
  /// Readable after ``wake()`` until ``drain()``.
  let descriptor: Int32

  init() throws(StoreError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0 else {
      throw StoreError(
        code: .unavailable, operation: "make an eventfd", underlying: unsafe String(cString: strerror(errno)),
        remedy: "Raise the limit of open files of this process.")
    }
  }

  deinit { _ = Glibc.close(descriptor) }

  /// Makes the descriptor readable. It cannot fail but by an overflow, which is readable too.
  func wake() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  /// Makes it unreadable again.
  func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
