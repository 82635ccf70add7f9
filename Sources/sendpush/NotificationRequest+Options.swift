import Composition
import Operations
import PushCore

extension NotificationRequest {
  /// The largest payload that is read at all.
  private static let payloadLimitBytes = 1 << 20

  /// The request that the options of `send` and `enqueue` make; what is wrong with them by themselves is added to `faults`.
  init(_ invocation: Invocation, _ faults: inout CallFaults) {
    self.init()
    topic = invocation.value("topic")
    interests = invocation.values("interest")
    users = invocation.values("user")
    tokens = invocation.values("token")
    everyone = invocation.flag("everyone")
    environment = invocation.value("environment")
    lane = invocation.value("lane")
    pushType = invocation.value("push-type")
    collapseID = invocation.value("collapse-id")
    apnsID = invocation.value("apns-id")
    priority = faults.collect { try invocation.integer("priority", in: 0...10) } ?? nil
    expiresIn = faults.collect { try invocation.duration("expires-in") } ?? nil
    expiration = faults.collect { try Self.expiration(invocation) } ?? nil
    do {
      try setContent(invocation)
    } catch let error as NotificationFaults {
      faults.add(error.named(by: invocation))
    } catch {
      faults.add(error)
    }
    if hasNoTarget, !invocation.flag("login-approval") {
      faults.add(invocation.usageError("it is not said to whom: give --token, --interest, --user or --everyone"))
    }
  }

  private static func expiration(_ invocation: Invocation) throws -> Int64? {
    guard let text = invocation.value("expiration") else { return nil }
    guard !invocation.isGiven("expires-in") else {
      throw invocation.usageError("give either --expires-in or --expiration, not both")
    }
    guard let seconds = Int64(text) else {
      throw NotificationFaults([
        NotificationFinding("--expiration", "it must be whole UNIX seconds, or 0; for a span use --expires-in")
      ])
    }
    return seconds
  }

  // MARK: Content

  private mutating func setContent(_ invocation: Invocation) throws {
    let builder = try PayloadBuilder(invocation)
    if invocation.flag("login-approval") { return try setApproval(builder, invocation) }
    for option in ["email", "hash"] where invocation.isGiven(option) {
      throw invocation.usageError("--\(option) goes with --login-approval")
    }
    if let source = invocation.value("payload") {
      guard builder.isEmpty else {
        throw invocation.usageError("--payload is the whole payload; leave the other content options away")
      }
      payload = try Self.payload(source)
    } else {
      guard !builder.isEmpty else {
        throw invocation.usageError("it is not said what: give --title, --body or another content option, or --payload")
      }
      payload = try builder.build()
    }
  }

  private mutating func setApproval(_ builder: PayloadBuilder, _ invocation: Invocation) throws {
    guard let email = invocation.value("email"), let hash = invocation.value("hash") else {
      throw invocation.usageError("--login-approval needs --email and --hash")
    }
    var others = builder
    others.title = nil
    others.body = nil
    guard others.isEmpty, !invocation.isGiven("payload") else {
      throw invocation.usageError("--login-approval makes the payload; beside it only --title and --body may be given")
    }
    try LoginApproval(email: email, hash: hash, title: builder.title, body: builder.body)
      .fill(&self, sha256: Digests.sha256)
  }

  /// The bytes that `--payload` names: given, in a file, or on standard input.
  private static func payload(_ source: String) throws -> [UInt8] {
    if source == "-" { return try Files.readStandardInput(limit: payloadLimitBytes) }
    if source.hasPrefix("@") { return try Files.read(String(source.dropFirst()), limit: payloadLimitBytes) }
    // A file that cannot be looked at was not meant.
    if !source.contains("{"), let file = try? Files.status(of: source), file.isRegular {
      throw NotificationFaults([
        NotificationFinding("--payload", "it is no JSON, but there is such a file: write --payload @\(source)")
      ])
    }
    return Array(source.utf8)
  }
}

extension PayloadBuilder {
  /// The values that the content options give.
  fileprivate init(_ invocation: Invocation) throws(UsageError) {
    self.init()
    title = invocation.value("title")
    subtitle = invocation.value("subtitle")
    body = invocation.value("body")
    badge = try invocation.integer("badge", in: 0...Int64(Int32.max))
    sound = invocation.value("sound")
    category = invocation.value("category")
    threadID = invocation.value("thread-id")
    interruptionLevel = invocation.value("interruption-level")
    data = invocation.values("data")
  }
}
