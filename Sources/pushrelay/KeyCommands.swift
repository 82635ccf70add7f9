import Composition
import JSON
import Operations
import PushCore

/// How an API key is shown: never its secret.
extension APIKey {
  /// A line for people.
  fileprivate var line: String {
    var parts = [id.description, name, "topics=\(topics?.joined(separator: ",") ?? "all")"]
    parts.append("actions=\(actionNames?.joined(separator: ",") ?? "all")")
    parts.append("used=\(lastUsedAt.map(RFC3339.format) ?? "never")")
    if let revokedAt { parts.append("revoked=\(RFC3339.format(revokedAt))") }
    return parts.joined(separator: "  ")
  }

  private var actionNames: [String]? { actions.map { all in APIAction.allCases.filter(all.contains).map(\.rawValue) } }

  /// The members of its JSON object.
  fileprivate func write(to writer: inout JSONWriter) {
    writer.member("id", id.description)
    writer.member("name", name)
    writer.name("topics")
    if let topics { writer.array { for topic in topics { $0.string(topic) } } } else { writer.null() }
    writer.name("actions")
    if let actionNames { writer.array { for name in actionNames { $0.string(name) } } } else { writer.null() }
    writer.member("created_at", RFC3339.format(createdAt))
    writer.member("last_used_at", lastUsedAt.map(RFC3339.format))
    writer.member("revoked_at", revokedAt.map(RFC3339.format))
  }
}

/// `pushrelay key add`: makes an API key and prints it, once.
enum KeyAddCommand {
  static let command = Command(
    "add", "Makes an API key for a backend and prints it; it cannot be shown again.",
    options: [
      .value("name", "TEXT", "who has it, for people"),
      .value("topics", "T,…", "only for these apps (default: all)"),
      .value("actions", "A,…", "only what is named: send, read, devices, apps (default: all)"), .store,
    ],
    examples: ["pushrelay key add --name dashboard --topics com.example.dashboard --actions send,read"]
  ) { invocation, console in
    guard let name = invocation.value("name"), (1...100).contains(name.utf8.count) else {
      throw invocation.usageError("--name is missing, or has more than 100 bytes")
    }
    let topics = try list("topics", invocation)
    for topic in topics ?? [] {
      if let fault = TopicText.fault(in: topic) { throw invocation.usageError("--topics: \(fault)") }
    }
    let actions = try list("actions", invocation).map { names in
      Set(
        try names.map { name in
          guard let action = APIAction(rawValue: name) else {
            let all = APIAction.allCases.map(\.rawValue)
            let nearest = NearestName.nearest(to: name, in: all).map { "; did you mean \($0)?" } ?? ""
            throw invocation.usageError("--actions takes \(all.joined(separator: ", "))\(nearest)")
          }
          return action
        })
    }
    let context = try CommandContext(invocation, console, usesKeys: false)
    for topic in topics ?? [] where context.configuration.app(for: topic) == nil {
      console.diagnose("warning: no app in the settings has the topic \(topic)")
    }
    return try await context.withStore(creates: true) { store in
      let secret = APIKeyText.makeSecret()
      let key = try await store.addAPIKey(
        name: name, secretSHA256: Digests.sha256(secret), topics: topics, actions: actions)
      let text = APIKeyText(id: key.id, secret: secret).revealed
      if invocation.flag("json") {
        console.print { object in
          object.member("key", text)
          key.write(to: &object)
        }
      } else {
        console.print(text)
      }
      return .success
    }
  }

  /// The parts of `--name a,b`; nil when it is not given.
  private static func list(_ name: String, _ invocation: Invocation) throws -> [String]? {
    guard let text = invocation.value(name) else { return nil }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard !parts.contains("") else { throw invocation.usageError("--\(name) has an empty part; write a,b,c") }
    return parts
  }
}

/// `pushrelay key list`: all keys, without their secrets.
enum KeyListCommand {
  static let command = Command(
    "list", "Lists API keys, also revoked ones: what each may do and when it was used last, to the hour.",
    options: [.store], examples: ["pushrelay key list"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console, usesKeys: false)
    return try await context.withStore(creates: false) { store in
      for key in try await store.apiKeys() {
        if invocation.flag("json") { console.print(object: key.write) } else { console.print(key.line) }
      }
      return .success
    }
  }
}

/// `pushrelay key revoke`: refuses a key from now on.
enum KeyRevokeCommand {
  static let command = Command(
    "revoke", "Refuses an API key from now on, at every relay on this store.", options: [.store],
    operands: [Operand("ID", "the id that key list shows, or the key itself")],
    examples: ["pushrelay key revoke 3"]
  ) { invocation, console in
    let operand = invocation.operands[0]
    guard let id = APIKeyText(operand)?.id ?? Int64(operand).map(APIKeyID.init) else {
      throw invocation.usageError("ID is the number that pushrelay key list shows")
    }
    let context = try CommandContext(invocation, console, usesKeys: false)
    return try await context.withStore(creates: false) { store in
      guard try await store.revokeAPIKey(id) else {
        console.diagnose("there is no API key \(id); pushrelay key list shows all")
        return .badData
      }
      // Relays believe a key for so long: when this command returns, none takes it any more.
      await context.clocks.sleep(until: context.clocks.monotonicTime() + CommandContext.apiKeyTrust)
      if invocation.flag("json") {
        console.print { object in
          object.member("result", "revoked")
          object.member("id", id.description)
        }
      } else {
        console.print("revoked \(id)")
      }
      return .success
    }
  }
}
