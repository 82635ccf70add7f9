import Composition
import Operations
import PushCore

/// The options that say what to push, to whom and how; `send` and `enqueue` share them.
enum PushOptions {
  static let target = OptionGroup(
    "To whom (may be mixed; one device gets one copy)",
    [
      .value("token", "HEX", "a device token, as the app prints it", repeatable: true),
      .value("interest", "NAME", "the subscribers of an interest", repeatable: true),
      .value("user", "ID", "the devices of a user", repeatable: true),
      .flag("everyone", "every registered device of the topic"),
    ])

  static let app = OptionGroup(
    "App (default: from the config file)",
    [
      .value("topic", "T", "bundle ID; the suffix of the push type is added"),
      .choice("environment", ["production", "sandbox"], "which APNs issued the device tokens"),
      .value("team-id", "T", "team ID, ten characters"), .value("key-id", "K", "key ID, ten characters"),
      .value("key", "FILE", "the key, AuthKey_<KEYID>.p8"),
    ])

  static let content = OptionGroup(
    "Content",
    [
      .value("title", "S", "alert title"), .value("subtitle", "S", "alert subtitle"), .value("body", "S", "alert text"),
      .value("badge", "N", "number on the app's icon; 0 removes it"), .value("sound", "S", "sound file, or default"),
      .value("category", "S", "category, which decides about the buttons"),
      .value("thread-id", "S", "groups notifications"),
      .choice(
        "interruption-level", ["passive", "active", "time-sensitive", "critical"], "how much it may interrupt"),
      .value("data", "ITEM", "custom data beside aps: a JSON object, key=text, or key:=json", repeatable: true),
      .value("payload", "JSON|@FILE|-", "the whole payload, sent byte for byte"),
    ])

  static let approval = OptionGroup(
    "Login approval",
    [
      .flag("login-approval", "asks to approve a login: category LoginActions, urgent, for 5 minutes"),
      .value("email", "E", "whose login; its interest auth-… is the target unless one is given"),
      .value("hash", "H", "what the app hands back"),
    ])

  static let headers = OptionGroup(
    "Headers",
    [
      .value("push-type", "T", "alert, background, voip, … (default: what the payload or topic says)"),
      .choice("priority", ["10", "5", "1"], "10 at once, 5 with regard to power, 1 least"),
      .value("expires-in", "DURATION", "how long it lives, such as 5m (default: 24h)"),
      .value("expiration", "UNIX|0", "when it dies, UNIX seconds; 0 = one attempt, never stored"),
      .value("collapse-id", "S", "replaces a notification with the same id; at most 64 bytes"),
      .value("apns-id", "UUID", "apns-id; for one device token only"),
    ])

  /// The request that the options make.
  /// - Throws: every fault that the options have by themselves.
  static func request(_ context: CommandContext) throws -> NotificationRequest {
    let invocation = context.invocation
    var request = NotificationRequest()
    request.topic = invocation.value("topic")
    request.interests = invocation.values("interest")
    request.users = invocation.values("user")
    request.tokens = invocation.values("token")
    request.everyone = invocation.flag("everyone")
    request.environment = invocation.value("environment")
    request.pushType = invocation.value("push-type")
    request.priority = try invocation.integer("priority", in: 0...10)
    request.expiresIn = try invocation.duration("expires-in")
    request.expiration = try expiration(invocation)
    request.collapseID = invocation.value("collapse-id")
    request.apnsID = invocation.value("apns-id")
    try setPayload(&request, invocation)
    return request
  }

  /// The checked notification; what is legal and yet probably not meant is said on standard error.
  static func publication(
    of request: NotificationRequest, app: Configuration.App?, _ context: CommandContext
  ) throws -> Publication {
    let defaults = NotificationDefaults(
      topic: app?.topic, environment: app.map { Environment($0.environment) } ?? .production)
    let (publication, warnings) = try request.publication(now: context.clocks.wallTime(), defaults: defaults)
    for warning in warnings { context.console.diagnose("warning: \(warning)") }
    return publication
  }

  private static func expiration(_ invocation: Invocation) throws -> Int64? {
    guard let text = invocation.value("expiration") else { return nil }
    guard let seconds = Int64(text) else {
      throw NotificationFaults([
        NotificationFinding("expiration", "it must be whole UNIX seconds, or 0; for a span use --expires-in")
      ])
    }
    return seconds
  }

  private static func setPayload(_ request: inout NotificationRequest, _ invocation: Invocation) throws {
    let builder = try payloadBuilder(invocation)
    if invocation.flag("login-approval") {
      guard let email = invocation.value("email"), let hash = invocation.value("hash") else {
        throw invocation.usageError("--login-approval needs --email and --hash")
      }
      var others = builder
      others.title = nil
      others.body = nil
      guard others.isEmpty, invocation.value("payload") == nil else {
        throw invocation.usageError(
          "--login-approval makes the payload; beside it only --title and --body may be given")
      }
      let approval = LoginApproval(email: email, hash: hash, title: builder.title, body: builder.body)
      try approval.fill(&request, sha256: Digests.sha256)
      return
    }
    for option in ["email", "hash"] where invocation.value(option) != nil {
      throw invocation.usageError("--\(option) goes with --login-approval")
    }
    if let source = invocation.value("payload") {
      guard builder.isEmpty else {
        throw invocation.usageError("--payload is the whole payload; leave the other content options away")
      }
      request.payload = try payload(source)
    } else if !builder.isEmpty {
      request.payload = try builder.build()
    }
  }

  private static func payloadBuilder(_ invocation: Invocation) throws -> PayloadBuilder {
    var builder = PayloadBuilder()
    builder.title = invocation.value("title")
    builder.subtitle = invocation.value("subtitle")
    builder.body = invocation.value("body")
    builder.badge = try invocation.integer("badge", in: 0...Int64(Int32.max))
    builder.sound = invocation.value("sound")
    builder.category = invocation.value("category")
    builder.threadID = invocation.value("thread-id")
    builder.interruptionLevel = invocation.value("interruption-level")
    builder.data = invocation.values("data")
    return builder
  }

  /// The bytes that `--payload` names: given, in a file, or on standard input.
  private static func payload(_ source: String) throws -> [UInt8] {
    let limit = 1 << 20
    if source == "-" { return try Files.readStandardInput(limit: limit) }
    if source.hasPrefix("@") { return try Files.read(String(source.dropFirst()), limit: limit) }
    return Array(source.utf8)
  }
}

extension CommandOption {
  /// `--store URL`.
  static let store = value("store", "URL", "queue, registry and receipts: sqlite:PATH (default: sqlite:pushrelay.db)")
  /// `--show-tokens`.
  static let showTokens = flag("show-tokens", "shows whole device tokens instead of their ends")
}
