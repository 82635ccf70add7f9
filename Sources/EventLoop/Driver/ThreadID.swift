internal import CLinux

/// A started thread.
struct ThreadID: Sendable {
  private let thread: pthread_t

  /// Starts a thread with all signals blocked that runs `body` and ends.
  static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(SocketError) -> ThreadID {
    let context = unsafe Unmanaged.passRetained(ThreadBody(name: name, body: body)).toOpaque()
    // A thread inherits the mask of its creator.
    var all = sigset_t()
    var previous = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, nil, runThread, context)
    unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
    guard code == 0 else {
      unsafe Unmanaged<ThreadBody>.fromOpaque(context).release()
      throw SocketError.system(.create, "the thread \(name)", code)
    }
    return ThreadID(thread: thread)
  }

  /// Waits for its end. Once only, and not after ``detach()``.
  func join() { pthread_join(thread, nil) }

  /// Lets the system clean up after its end by itself.
  func detach() { pthread_detach(thread) }
}

private final class ThreadBody: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let thread = unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
  // Only a name over 15 bytes is refused, hence the cut.
  let name = String(decoding: thread.name.utf8.prefix(15), as: UTF8.self)
  _ = unsafe name.withCString { unsafe pthread_setname_np(pthread_self(), $0) }
  thread.body()
  return nil
}
