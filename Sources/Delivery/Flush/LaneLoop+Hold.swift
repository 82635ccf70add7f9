import Operations
import PushCore

extension LaneLoop {
  /// Notes that a credential was refused: of that key all, or all of the app.
  func hold(_ credential: CredentialID, _ scope: HoldScope, _ reason: PushReason) {
    guard let refused = credentials[credential], !held.contains(credential) else { return }
    let stopped = credentials.values.filter { other in
      switch scope {
      case .key:
        other.teamID == refused.teamID && other.keyID == refused.keyID
          && other.certificateSHA256 == refused.certificateSHA256
      case .app: other.appID == refused.appID
      }
    }.map(\.id).filter { !held.contains($0) }
    held.formUnion(stopped)
    proved.subtract(stopped)
    let text = sender.text(of: reason)
    for id in stopped { unwrittenHolds[id] = text }
    let known = stopped.compactMap { credentials[$0] }.sorted { $0.id.rawValue < $1.id.rawValue }
    tell(.held(known, reason: text))
  }

  /// Tells the store, for people, why nothing can be sent, or that it can again.
  func writeTroubles() async {
    guard storeMayWork else { return }
    for (trouble, credentials) in Dictionary(grouping: unwrittenTroubles, by: \.value) {
      let isWritten: Void? = await ask { () throws(StoreError) in
        try await store.note(trouble: trouble, of: credentials.map(\.key))
      }
      if isWritten == nil { return }
      for credential in credentials {
        unwrittenTroubles[credential.key] = nil
        if trouble == nil { troubled.remove(credential.key) } else { troubled.insert(credential.key) }
      }
    }
  }

  /// Writes new holds to the store, so that no worker claims that work.
  func writeHolds() async {
    guard storeMayWork else { return }
    for (reason, credentials) in Dictionary(grouping: unwrittenHolds.keys, by: { unwrittenHolds[$0] ?? "" }) {
      let isWritten: Void? = await ask { () throws(StoreError) in
        try await store.hold(Array(credentials), reason: reason)
      }
      if isWritten == nil { return }
      for credential in credentials { unwrittenHolds[credential] = nil }
    }
  }
}
