import Glibc

/// The limit of open descriptors.
enum OpenFileLimit {
  /// Raises the soft limit, often 1024, to what the system allows the process: a relay holds a thousand connections of backends beside
  /// those to APNs and its store. Where that is refused the limit stays, and what needs more says so.
  static func raise() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max
    else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
