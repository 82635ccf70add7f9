import CLinux
import Glibc

/// The system's side of ``Signals``.
enum SignalMask {
  /// Blocks the signals that are waited for, in this thread and in all that it will start, and ignores SIGPIPE.
  static func block() {
    // A write to a pipe or socket without a reader must be an error of that write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    var set = waitedFor
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one of the signals; only for the thread that does nothing else.
  static func wait() -> Int32 {
    var set = waitedFor
    var number: Int32 = 0
    // sigwait fails only for an invalid set.
    while unsafe sigwait(&set, &number) != 0 {}
    return number
  }

  /// Whether the signal is the one that daemons read their settings again for.
  static func asksToReload(_ number: Int32) -> Bool { number == SIGHUP }

  /// Lets a signal do what it does to a process that does not catch it; returns when that is nothing (under nohup).
  static func deliverAsUsual(_ number: Int32) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, number)
    raise(number)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Ends the process at once: no handlers, no destructors.
  static func end(_ code: ExitCode) -> Never { _exit(code.rawValue) }

  private static var waitedFor: sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&set, number) }
    return set
  }
}
