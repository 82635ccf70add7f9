import JSON
import OpenSSL
import Operations
import PushCore

/// Keeps provider tokens in files of the user, one a key: so that `sendpush` without a store does not make a token per
/// start.
///
/// A file is written whole to a temporary name, synced and renamed; a lock file beside it lets one process decide at a
/// time. Directory 0700, files 0600.
public final class ProviderTokenFile: ProviderTokenStore {
  /// How long another process may hold the lock before a call gives up.
  public static let lockPatience: Duration = .seconds(15)
  private static let lockPollInterval: Duration = .milliseconds(10)

  private let directory: String
  private let clocks: any Clocks

  /// Tokens in `directory`, which is made when it is missing.
  public init(directory: String, clocks: any Clocks) {
    self.directory = directory
    self.clocks = clocks
  }

  /// The directory for state by the XDG Base Directory Specification; nil when neither variable is set to an absolute
  /// path.
  public static func defaultDirectory(xdgStateHome: String?, home: String?) -> String? {
    // The specification says that a relative path is to be ignored.
    if let state = xdgStateHome, state.hasPrefix("/") { return "\(state)/pushrelay" }
    if let home, home.hasPrefix("/") { return "\(home)/.local/state/pushrelay" }
    return nil
  }

  /// See ``PushCore/ProviderTokenStore``; decisions come one after the other.
  public func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    try StateFile.makeDirectory(directory)
    let path = "\(directory)/\(Self.fileName(of: key))"
    let lock = try await lock("\(path).lock")
    defer { lock.release() }
    let stored = Self.decode(try StateFile.read(path))
    let record = try decide(stored)
    if record != stored { try StateFile.replace(path, with: Self.encode(record)) }
    return record
  }

  /// Waits for the lock without blocking a thread.
  private func lock(_ path: String) async throws(StoreError) -> FileLock {
    let deadline = clocks.monotonicTime() + Self.lockPatience
    while true {
      if let lock = try FileLock(path: path) { return lock }
      let now = clocks.monotonicTime()
      guard now < deadline, !Task.isCancelled else {
        throw StoreError(
          code: .temporary, operation: "lock \(path)", underlying: "another process holds the lock",
          remedy: "Wait for the other sendpush to end, or end it")
      }
      await clocks.sleep(until: now + Self.lockPollInterval)
    }
  }

  /// The ids may be any text, so the name is a digest of them.
  private static func fileName(of key: ProviderKeyIdentity) -> String {
    let digest = SHA256.digest(
      Array("\(key.teamID)\u{0}\(key.keyID)\u{0}".utf8) + key.publicKeySHA256)
    let hex = digest.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return "provider-token-\(hex).json"
  }

  static func encode(_ record: ProviderTokenRecord) -> [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.member("jwt", record.jwt)
      $0.member("issued_at", record.issuedAt)
      $0.member("refused_until", record.refusedUntil?.value)
    }
    return writer.bytes
  }

  /// Nil for an absent or damaged file: a new token is made, which is what a person would do by deleting it.
  static func decode(_ bytes: [UInt8]?) -> ProviderTokenRecord? {
    // The file is a cache; what cannot be read is worth nothing and is replaced.
    guard let bytes, let value = try? JSONValue(parsing: bytes), let jwt = value["jwt"]?.string,
      let issuedAt = value["issued_at"]?.integer
    else { return nil }
    return ProviderTokenRecord(
      jwt: jwt, issuedAt: issuedAt,
      refusedUntil: value["refused_until"]?.integer.map { UnixMilliseconds($0) })
  }
}
