/// When a message is sent again that did not arrive: the times of Beams.
enum WebhookRetries {
  private static let delays: [Duration] = [.seconds(10), .seconds(30), .seconds(120), .seconds(300)]

  /// How long to wait after so many sends in vain; nil = it is given up.
  static func delay(afterTries tries: Int) -> Duration? {
    delays.indices.contains(tries - 1) ? delays[tries - 1] : nil
  }
}
