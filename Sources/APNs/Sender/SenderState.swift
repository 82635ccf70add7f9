import HTTP2
import Operations
import PushCore

/// Which connections a push uses: APNs binds a connection to a key or certificate, and urgent pushes do not queue behind
/// others.
struct OriginKey: Hashable {
  let environment: PushCore.Environment
  let signer: SignerIdentity
  let isUrgent: Bool
}

/// What a sender knows, guarded by its lock.
struct SenderState {
  var signers: Signers
  var credentials: [CredentialID: Credential] = [:]
  var origins: [OriginKey: HTTP2OriginID] = [:]
  var templates = TemplateCache()
  var sent = SentBatches()
  var handler: (@Sendable ([PushAnswer]) -> Void)?
  var isClosed = false
  /// Batches that wait for the provider token of their key; a key without an entry has no renewal under way.
  private var waiting: [ProviderKeyIdentity: [PushBatch]] = [:]
  /// Per origin, the newest connection that is not to be used any more.
  private var retired: [HTTP2OriginID: UInt32] = [:]
  /// When a credential was refused last; its next push but the ones under way uses a new connection.
  private var heldAt: [CredentialID: MonotonicTime] = [:]

  /// How long pushes under way may still follow a refusal.
  private static let refusalEcho: Duration = .seconds(5)

  init(apps: [SigningApp]) { signers = Signers(apps) }

  /// Notes other apps; the origins that nobody uses any more.
  mutating func replaceApps(_ apps: [SigningApp]) -> [HTTP2OriginID] {
    signers = Signers(apps)
    let identities = signers.identities
    let dropped = origins.filter { !identities.contains($0.key.signer) }
    for (key, origin) in dropped {
      origins[key] = nil
      retired[origin] = nil
    }
    return Array(dropped.values)
  }

  /// Lets a batch wait for its provider token; true when nobody is renewing it yet.
  mutating func wait(_ batch: PushBatch, for key: ProviderKey) -> Bool {
    let isFirst = waiting[key.identity] == nil
    waiting[key.identity, default: []].append(batch)
    return isFirst
  }

  /// The batches that waited for a key's provider token.
  mutating func takeWaiting(for key: ProviderKey) -> [PushBatch] {
    waiting.removeValue(forKey: key.identity) ?? []
  }

  /// Whether the connections of an origin must be replaced because `connection` gave an answer that asks for it. Once
  /// per connection: the answers to everything in flight come one after the other.
  mutating func retires(_ connection: UInt32, of origin: HTTP2OriginID) -> Bool {
    guard connection > retired[origin] ?? 0 else { return false }
    retired[origin] = connection
    return true
  }

  /// Notes refusals of credentials.
  mutating func hold(_ credentials: Set<CredentialID>, at time: MonotonicTime) {
    for credential in credentials { heldAt[credential] = time }
  }

  /// Whether a credential comes back after a refusal: APNs judges what a connection may do when it begins.
  mutating func comesBack(_ credential: CredentialID, at time: MonotonicTime) -> Bool {
    guard let held = heldAt[credential], time.since(held) > Self.refusalEcho else { return false }
    heldAt[credential] = nil
    return true
  }
}
