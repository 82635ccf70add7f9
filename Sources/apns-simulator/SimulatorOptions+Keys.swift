import APNsSimulator
import Operations

// The keys that provider tokens may be signed with.
extension SimulatorOptions {
  func keys(needed: Bool) throws -> [ProviderKey] {
    var keys = try teamKeys(needed: needed)
    for text in invocation.values("key-topics") {
      let (keyID, topics) = try assignment(text, of: "key-topics", form: "ID=TOPIC,TOPIC")
      let bundleIDs = try bundleIDs(topics.split(separator: ",").map(String.init), of: "key-topics")
      keys[try index(of: keyID, in: keys, "key-topics")].scope = .topics(bundleIDs, relatedKeyID: nil)
    }
    for text in invocation.values("related-keys") {
      let (keyID, other) = try assignment(text, of: "related-keys", form: "ID=ID")
      let index = try index(of: keyID, in: keys, "related-keys")
      let otherIndex = try self.index(of: other, in: keys, "related-keys")
      guard case .topics(let bundleIDs, _) = keys[index].scope, case .topics = keys[otherIndex].scope else {
        throw invocation.usageError("--related-keys relates topic-specific keys: give --key-topics for both")
      }
      keys[index].scope = .topics(bundleIDs, relatedKeyID: other)
    }
    return keys
  }

  private func assignment(_ text: String, of option: String, form: String) throws(UsageError) -> (String, String) {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { throw invocation.usageError("--\(option) must be \(form), not '\(text)'") }
    return (parts[0], parts[1])
  }

  private func index(of keyID: String, in keys: [ProviderKey], _ option: String) throws(UsageError) -> Int {
    if let index = keys.lastIndex(where: { $0.keyID == keyID }) { return index }
    let nearest = NearestName.nearest(to: keyID, in: keys.map(\.keyID)).map { "; the nearest is '\($0)'" } ?? ""
    throw invocation.usageError("--\(option) names the key '\(keyID)', which no --key-id gives\(nearest)")
  }

  private func teamKeys(needed: Bool) throws -> [ProviderKey] {
    let teams = invocation.values("team-id")
    let ids = invocation.values("key-id")
    let privateFiles = invocation.values("key")
    let publicFiles = invocation.values("public-key")
    guard privateFiles.isEmpty || publicFiles.isEmpty else {
      throw invocation.usageError("--key and --public-key cannot be mixed: which belongs to which id would be unclear")
    }
    let files = privateFiles + publicFiles
    guard teams.count == ids.count, ids.count == files.count else {
      throw invocation.usageError(
        "--team-id, --key-id and --key or --public-key go in step, but there are \(teams.count), \(ids.count) and "
          + "\(files.count)")
    }
    guard !files.isEmpty || !needed else {
      throw invocation.usageError(
        "without a key no provider token is valid: give --team-id, --key-id and --key, or --no-checks; for clients with "
          + "certificates alone give --client-ca")
    }
    return try zip(zip(teams, ids), files).map { names, file in
      privateFiles.isEmpty
        ? try ProviderKey(teamID: names.0, keyID: names.1, publicKeyFile: file)
        : try ProviderKey(teamID: names.0, keyID: names.1, privateKeyFile: file)
    }
  }
}
