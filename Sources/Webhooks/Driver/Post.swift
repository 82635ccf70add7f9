internal import CCurl
internal import CLinux
internal import Glibc
import Operations
import PushCore

/// One POST by libcurl: made, run and freed on one thread, which it blocks. Redirects, cookies and `.netrc` are what they are in
/// a new handle: off.
///
/// The handle and the lists stay in here and are freed once; callbacks come during ``run()`` alone.
@safe final class Post {
  /// The most that is read of an answer, its fields included.
  private static let answerLimitBytes = 16 << 10

  /// libcurl's own set-up, once in a process.
  private static let started = curl_start()

  private let handle: UnsafeMutableRawPointer
  private var fields: UnsafeMutablePointer<curl_slist>?
  private var pinned: UnsafeMutablePointer<curl_slist>?
  private let policy: WebhookPolicy
  private var answerBytes = 0
  private var refusal: String?

  /// A POST of JSON.
  ///
  /// - Throws: ``PostFailure`` when libcurl refuses an option, or has no memory.
  init(_ body: [UInt8], to url: WebhookURL, policy: WebhookPolicy, options: Courier.Options) throws(PostFailure) {
    guard Self.started == CURLE_OK, let handle = unsafe curl_easy_init() else {
      throw PostFailure("libcurl cannot start")
    }
    unsafe self.handle = handle
    self.policy = policy
    try set(CURLOPT_URL, url.text.reveal())
    try set(CURLOPT_PROTOCOLS_STR, policy.allowsHTTP ? "http,https" : "https")
    // An empty text is no proxy, whatever the environment says: the address that is checked would be the proxy's.
    try set(CURLOPT_PROXY, "")
    // Signals are the whole process's. SIGPIPE is ignored by the program.
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_TIMEOUT_MS, Int(options.deadline.wholeMilliseconds))
    try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    if let file = options.authoritiesFile { try set(CURLOPT_CAINFO, file) }
    try set(CURLOPT_USERAGENT, "pushrelay")
    // Without `Expect` libcurl would hold a long body back and wait for 100 Continue.
    for field in ["Content-Type: application/json", "Expect:"] {
      unsafe fields = unsafe curl_slist_append(fields, field)
    }
    for address in options.pinned { unsafe pinned = unsafe curl_slist_append(pinned, address) }
    try unsafe check(easy_set_pointer(handle, CURLOPT_HTTPHEADER, fields))
    try unsafe check(easy_set_pointer(handle, CURLOPT_RESOLVE, pinned))
    try set(CURLOPT_POSTFIELDSIZE, body.count)
    try unsafe check(
      body.withUnsafeBytes { unsafe easy_set_pointer(self.handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) })
    try setCallbacks()
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe curl_slist_free_all(fields)
    unsafe curl_slist_free_all(pinned)
  }

  /// Sends it; the status of the answer. Whatever comes, or does not come, behind a status does not matter.
  func run() throws(PostFailure) -> Int {
    let result = unsafe curl_easy_perform(handle)
    var status = 0
    try unsafe check(easy_status(handle, &status))
    if status >= 200 { return status }
    if let refusal { throw PostFailure(refusal) }
    try check(result)
    throw PostFailure("the answer is not HTTP")
  }

  // MARK: Callbacks

  private func setCallbacks() throws(PostFailure) {
    let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
    for (function, data) in [(CURLOPT_WRITEFUNCTION, CURLOPT_WRITEDATA), (CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA)] {
      try unsafe check(easy_set_pointer(handle, data, owner))
      try unsafe check(
        easy_set_receiver(handle, function) { _, size, count, owner in
          guard let owner = unsafe owner else { return 0 }
          return unsafe Unmanaged<Post>.fromOpaque(owner).takeUnretainedValue().drop(size * count)
        })
    }
    try unsafe check(easy_set_pointer(handle, CURLOPT_OPENSOCKETDATA, owner))
    try unsafe check(
      easy_set_socket_opener(handle) { owner, _, target in
        guard let owner = unsafe owner, let target = unsafe target else { return -1 }
        return unsafe Unmanaged<Post>.fromOpaque(owner).takeUnretainedValue().open(target)
      })
  }

  /// Drops part of an answer; another number than given ends the transfer.
  private func drop(_ count: Int) -> Int {
    answerBytes += count
    return answerBytes <= Self.answerLimitBytes ? count : 0
  }

  /// A socket for the address that is about to be connected to; -1 where the policy forbids it. However the name was looked up,
  /// and whatever it led to before: no other address is ever connected to.
  private func open(_ target: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
    let place = unsafe target.pointee
    guard let address = unsafe Self.address(target) else { return -1 }
    if let kind = policy.refusal(of: address) {
      refusal = "its host leads to \(address), \(kind)"
      return -1
    }
    return socket(place.family, place.socktype | Int32(SOCK_CLOEXEC.rawValue), place.protocol)
  }

  /// nil for other families than the two of the Internet.
  private static func address(_ target: UnsafeMutablePointer<curl_sockaddr>) -> IPAddress? {
    let place: (offset: Int?, count: Int)
    switch unsafe target.pointee.family {
    case AF_INET: place = (MemoryLayout<sockaddr_in>.offset(of: \.sin_addr), 4)
    case AF_INET6: place = (MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr), 16)
    default: return nil
    }
    // The system's address begins at the last member, and is longer than that says.
    guard let start = MemoryLayout<curl_sockaddr>.offset(of: \.addr), let offset = place.offset else { return nil }
    return unsafe IPAddress(
      bytes: UnsafeRawBufferPointer(start: UnsafeRawPointer(target) + start + offset, count: place.count))
  }

  // MARK: Options

  private func set(_ option: CURLoption, _ value: Int) throws(PostFailure) {
    try unsafe check(easy_set_number(handle, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(PostFailure) {
    try unsafe check(easy_set_text(handle, option, value))
  }

  /// The library's words for a code: they are constant, so that nothing of the URL is in them.
  private func check(_ code: CURLcode) throws(PostFailure) {
    guard code != CURLE_OK else { return }
    throw PostFailure(unsafe String(cString: curl_easy_strerror(code)))
  }
}
