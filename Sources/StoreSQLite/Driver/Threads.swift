internal import CLinux
import Operations
import PushCore

/// Threads of the store: SQLite's calls block, so they never run on the shared pool.
enum Threads {
  /// Starts a thread that runs `body` and ends.
  ///
  /// - Parameter name: at most 15 bytes, seen in `top -H`.
  static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(StoreError) {
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
      throw StoreError(
        code: .unavailable, operation: "start the thread \(name)", underlying: "pthread_create: error \(code)",
        remedy: "Raise the limit of threads of this process.")
    }
    // Only for people who look at threads: a failure changes nothing.
    _ = unsafe pthread_setname_np(thread, name)
    _ = pthread_detach(thread)
  }

  /// Blocks the calling thread.
  static func sleep(_ duration: Duration) {
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

/// What waits for a thread: any task or thread puts elements in, one thread takes all of them out.
///
/// The pointers stay in here. Everything is protected by `mutex`; ThreadSanitizer checks.
@safe final class Inbox<Element: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var elements: [Element] = []
  private var isClosed = false

  init() {
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  /// Adds an element; false when the inbox is closed.
  func add(_ element: Element) -> Bool {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    guard !isClosed else { return false }
    elements.append(element)
    if elements.count == 1 { unsafe pthread_cond_signal(condition) }
    return true
  }

  /// Takes no more elements; those inside are still taken out.
  func close() {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    isClosed = true
    unsafe pthread_cond_broadcast(condition)
  }

  /// Waits for elements, at most `timeout` (nil = for ever), and takes all; nil when the inbox is closed and empty.
  func take(timeout: Duration?) -> [Element]? {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    if elements.isEmpty, !isClosed { waitForChange(timeout) }
    if elements.isEmpty { return isClosed ? nil : [] }
    defer { elements.removeAll() }
    return elements
  }

  private func waitForChange(_ timeout: Duration?) {
    guard let timeout else {
      while elements.isEmpty, !isClosed { unsafe pthread_cond_wait(condition, mutex) }
      return
    }
    let deadline = SystemClocks().monotonicTime() + timeout
    var time = timespec(
      tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
    while elements.isEmpty, !isClosed, unsafe pthread_cond_timedwait(condition, mutex, &time) == 0 {}
  }
}
