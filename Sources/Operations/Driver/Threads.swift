import CLinux

/// Threads for calls that block: such calls never run on the shared pool.
public enum Threads {
  /// Starts a thread that runs `body` and ends.
  ///
  /// - Parameter name: at most 15 bytes, seen in `top -H`.
  /// - Throws: ``SystemError`` when the system gives no thread.
  public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(Body(run: body))
    let code = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      unsafe context.release()
      throw SystemError("start a thread", name, code: code)
    }
    // Only for people who look at threads: a failure changes nothing.
    _ = unsafe pthread_setname_np(thread, name)
    _ = pthread_detach(thread)
  }

  /// Blocks the calling thread.
  public static func sleep(_ duration: Duration) {
    var time = timespec(
      tv_sec: Int(duration.wholeNanoseconds / 1_000_000_000), tv_nsec: Int(duration.wholeNanoseconds % 1_000_000_000))
    // A signal may end it early; its callers look at the clock again.
    unsafe nanosleep(&time, nil)
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
