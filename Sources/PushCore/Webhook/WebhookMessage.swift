import JSON
import Operations

/// What a Beams publish asks to be told of, stored with it.
public struct Webhook: Sendable, Equatable {
  /// Where to; it was read by ``WebhookURL`` before.
  public var url: SecretText
  /// The body of the publish, byte for byte.
  public var requestBody: [UInt8]

  /// A webhook by its parts.
  public init(url: SecretText, requestBody: [UInt8]) {
    self.url = url
    self.requestBody = requestBody
  }
}

/// One message of a webhook, leased to be sent.
public struct WebhookMessage: Sendable, Equatable {
  /// What it tells.
  public enum Content: Sendable, Equatable {
    /// The publish was taken.
    case started
    /// All its notifications are final, with these sums.
    case finished(Counts)
  }

  /// The publish.
  public var publishID: String
  /// Grows with each lease and each settlement.
  public var epoch: Int64
  /// Where it goes.
  public var webhook: Webhook
  /// What it tells.
  public var content: Content
  /// How often it was sent in vain.
  public var tries: Int

  /// A message by its parts.
  public init(publishID: String, epoch: Int64, webhook: Webhook, content: Content, tries: Int) {
    self.publishID = publishID
    self.epoch = epoch
    self.webhook = webhook
    self.content = content
    self.tries = tries
  }

  /// The JSON object that is sent, in the words of Beams.
  public var body: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("publishId", publishID)
      switch content {
      case .started: writer.member("status", "STARTED")
      case .finished: writer.member("status", "FINISHED")
      }
      writer.name("requestBody")
      writer.raw(webhook.requestBody)
      guard case .finished(let counts) = content else { return }
      writer.name("results")
      writer.object { writer in
        writer.name("apns")
        counts.writeBeamsResults(to: &writer)
      }
    }
    return writer.bytes
  }
}

extension Counts {
  /// A device that was not targeted any more when its turn came had no publish, and is in neither number.
  fileprivate func writeBeamsResults(to writer: inout JSONWriter) {
    let failures = rejected + expired + canceled + failed
    writer.object {
      $0.member("numSuccessfulPublishes", accepted)
      $0.member("numFailedPublishes", failures)
      if accepted == 0, failures > 0 { $0.member("failed", true) }
    }
  }
}

/// What becomes of a message that was sent.
public enum WebhookSettlement: Sendable, Equatable {
  /// It arrived, or is given up: what follows it is next.
  case ended
  /// It is sent again after this time.
  case again(after: Duration)
}
