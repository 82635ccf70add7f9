#if PTHREAD_LOCK
  import CLinux

  /// A mutual-exclusion lock around a value.
  ///
  /// This form stands on pthread_mutex_t, which ThreadSanitizer understands; it is chosen by `-DPTHREAD_LOCK`. Never held
  /// across `await` or a C call that can call back.
  @safe public final class Lock<Value>: @unchecked Sendable {  // protected by `mutex`; ThreadSanitizer checks
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    /// A lock around an initial value.
    public init(_ value: sending Value) {
      self.value = value
      unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    }

    /// Runs `body` alone with the value.
    public func withLock<Result, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
      return try body(&value)
    }
  }
#else
  import Synchronization

  /// A mutual-exclusion lock around a value.
  ///
  /// Never held across `await` or a C call that can call back.
  public final class Lock<Value>: Sendable {
    private let mutex: Mutex<Value>

    /// A lock around an initial value.
    public init(_ value: sending Value) { mutex = Mutex(value) }

    /// Runs `body` alone with the value.
    public func withLock<Result, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try mutex.withLock(body)
    }
  }
#endif
