import CLinux

/// What waits for a thread: any task or thread puts elements in, one thread takes all of them out.
///
/// The pointers stay in here. Everything is protected by `mutex`; ThreadSanitizer checks.
@safe public final class Inbox<Element: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var elements: [Element] = []
  private var isClosed = false

  /// An empty inbox.
  public init() {
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
  public func add(_ element: Element) -> Bool {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    guard !isClosed else { return false }
    elements.append(element)
    if elements.count == 1 { unsafe pthread_cond_signal(condition) }
    return true
  }

  /// Takes no more elements; those inside are still taken out.
  public func close() {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    isClosed = true
    unsafe pthread_cond_broadcast(condition)
  }

  /// Waits for elements, at most `timeout` (nil = for ever), and takes all; nil when the inbox is closed and empty.
  public func take(timeout: Duration?) -> [Element]? {
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
