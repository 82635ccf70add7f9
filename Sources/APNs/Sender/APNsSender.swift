import HTTP2
import OpenSSL
import Operations
import PushCore

/// Sends pushes to APNs: batches in, answers out, over one HTTP/2 client.
///
/// ```
/// send ─▶ key ─▶ provider token ─▶ template ─▶ HTTP/2 client ─▶ AnswerReader ─▶ handler
///                    │ stale: the batch waits, nothing else does        │
///                    └─ minted ◀── once more, on a new connection ◀─────┘ ExpiredProviderToken, Shutdown …
/// ```
///
/// Connections belong to one (environment, key or certificate, urgent or not). A certificate's pushes need no provider token. Everything here costs per batch; see
/// ``AnswerReader``. Any thread may call. Close a sender before letting go of it.
public final class APNsSender: PushSender {
  let configuration: APNsSenderConfiguration
  let tokens: ProviderTokens
  let clocks: any Clocks
  let client: HTTP2Client
  let tls: TLSContext
  let state: Lock<SenderState>
  let errands = Errands()

  /// Starts the sender's thread; connections are opened when they are needed.
  ///
  /// - Throws: when the CA file cannot be used or the system has no descriptors left.
  public init(
    configuration: APNsSenderConfiguration, apps: [SigningApp], tokens: ProviderTokens,
    clocks: any Clocks
  ) throws(SendFailure) {
    self.configuration = configuration
    self.tokens = tokens
    self.clocks = clocks
    do {
      tls = try TLSContext(
        client: TLSClientConfiguration(certificateAuthorityFile: configuration.authoritiesFile))
    } catch {
      throw SendFailure(
        kind: .unreachable, message: error.description,
        remedy: "Check apns.ca_file or --ca, a PEM file of CAs")
    }
    state = Lock(SenderState(apps: apps))
    let relay = ResponseRelay()
    do {
      client = try HTTP2Client(configuration: configuration.client) { relay.deliver($0) }
    } catch {
      throw SendFailure(
        kind: .unreachable, message: "the sender cannot start: \(error)",
        remedy: "Raise the limits of open files and threads (ulimit -n, ulimit -u)")
    }
    relay.connect(self)
  }

  /// Sets where the answers go; see ``PushCore/PushSender``.
  public func onAnswers(_ handler: @escaping @Sendable ([PushAnswer]) -> Void) {
    state.withLock { $0.handler = handler }
  }

  /// Notes credentials; those known stay.
  public func learn(_ credentials: [Credential]) {
    state.withLock { state in
      for credential in credentials { state.credentials[credential.id] = credential }
    }
  }

  /// Whether this process has the key of a credential.
  public func canSign(_ credential: Credential) -> Bool {
    state.withLock { $0.signers.signer(for: credential) != nil }
  }

  /// The words for a reason.
  public func text(of reason: PushReason) -> String {
    switch reason {
    case .known(let id): ReasonTable.text(of: id, stored: nil) ?? "reason \(id.rawValue)"
    case .unknown(let text): text
    }
  }

  /// Replaces apps and keys. Connections of keys that stay are kept; those of others end after their open requests.
  public func replaceApps(_ apps: [SigningApp]) {
    let dropped = state.withLock { $0.replaceApps(apps) }
    for origin in dropped { client.removeOrigin(origin) }
  }

  /// Gives back, unsent, what is not on a connection yet; open requests go on.
  public func withdraw() { client.withdraw() }

  /// Opens a connection as the credential's pushes would use it; nil when that works, else why it does not.
  public func connect(_ credential: Credential) async -> SendFailure? {
    guard let signer = state.withLock({ $0.signers.signer(for: credential) }) else {
      return .noKey(credential)
    }
    do throws(SendFailure) {
      let origin = try origin(of: signer, credential.environment, isUrgent: false)
      return await client.connect(origin).map { SendFailure($0) }
    } catch {
      return error
    }
  }

  /// How old the provider tokens are that this process presents, by key.
  public var providerTokenAges: [(keyID: String, age: Duration)] { tokens.ages }

  /// The state of all connections.
  public func snapshot() async -> [HTTP2OriginSnapshot] { await client.snapshot() }

  /// Ends the sender: what waits comes back unsent, what is open may be answered within `grace`. All answers were
  /// handed over when it returns.
  public func close(grace: Duration) async {
    state.withLock { $0.isClosed = true }
    await client.close(grace: grace)
    await errands.finish()
  }
}

/// Hands responses to a sender that did not exist yet when the client was made, without keeping it alive.
private final class ResponseRelay: Sendable {
  private struct Weak: Sendable {
    weak let sender: APNsSender?
  }

  private let target = Lock<Weak?>(nil)

  func connect(_ sender: APNsSender) { target.withLock { $0 = Weak(sender: sender) } }

  func deliver(_ responses: [HTTP2Response]) { target.withLock { $0?.sender }?.receive(responses) }
}
