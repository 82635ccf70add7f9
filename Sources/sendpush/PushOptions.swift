import Composition
import Operations

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

  /// The app, and what signs for it.
  static let signingApp = OptionGroup(
    appTitle,
    [
      .topic, .environment, .value("team-id", "T", "team ID, ten characters"),
      .value("key-id", "K", "key ID, ten characters"), .value("key", "FILE", "the key, AuthKey_<KEYID>.p8"),
      .value("certificate", "FILE", "instead of a key: the certificate with its key, PEM or .p12"),
      .value("certificate-password-variable", "NAME", "environment variable with the password of that file"),
    ])

  /// The app alone: the relay signs.
  static let queuedApp = OptionGroup(
    appTitle,
    [.topic, .environment]
      + ["team-id", "key-id", "key"].map {
        .elsewhere($0, "sendpush send; pushrelay serve signs with the keys of its config file")
      })

  private static let appTitle = "App (default: from the config file)"

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
}

extension CommandOption {
  /// `--lane`.
  static let lane = choice("lane", ["urgent", "normal", "bulk"], "order of service")
  /// `--show-tokens`.
  static let showTokens = flag("show-tokens", "shows whole device tokens instead of their ends")
}
