internal import Glibc
public import OpenSSL
import Operations

/// The folder of the simulator's certificates: `ca.pem` for clients to trust, `cert.pem` and `key.pem` for itself, and
/// `ca-key.pem` to make more by that authority.
public struct TLSDirectory: Sendable {
  /// The names that every certificate has.
  public static let usualNames = ["localhost", "127.0.0.1", "::1"]

  private let path: String

  /// A folder, which need not be there yet.
  public init(path: String) { self.path = path }

  /// The authority's certificate.
  public var authorityFile: String { "\(path)/ca.pem" }
  /// The authority's private key.
  var authorityKeyFile: String { "\(path)/ca-key.pem" }
  /// The server's certificate.
  public var certificateFile: String { "\(path)/cert.pem" }
  /// The server's private key.
  public var privateKeyFile: String { "\(path)/key.pem" }

  /// Keeps the certificates when they belong together, are good for another day and have all names; makes new ones
  /// otherwise. Simulators that start at the same time wait for each other.
  @discardableResult
  public func prepare(names: [String], now: UnixMilliseconds) throws(SimulatorError) -> CertificateSet {
    let names = Self.usualNames + names.filter { !Self.usualNames.contains($0) }
    if let name = names.first(where: { !CertificateSet.isName($0) }) {
      throw SimulatorError(.certificate, "--tls-name: '\(name)' is neither a DNS name nor an address")
    }
    do {
      let lock = try FolderLock(path)
      defer { lock.release() }
      if let set = try existing(), set.isUsable(for: names, at: now.seconds + 86400) { return set }
      let set = try CertificateSet.issue(names: names, at: now.seconds)
      try AtomicFile.write(set.authorityKey, to: authorityKeyFile, mode: 0o600)
      try AtomicFile.write(set.privateKey, to: privateKeyFile, mode: 0o600)
      try AtomicFile.write(set.certificate, to: certificateFile, mode: 0o644)
      try AtomicFile.write(set.authority, to: authorityFile, mode: 0o644)
      return set
    } catch {
      throw SimulatorError(.certificate, "--tls-dir: \(error)")
    }
  }

  private func existing() throws(SystemError) -> CertificateSet? {
    guard let authority = try AtomicFile.read(authorityFile), let certificate = try AtomicFile.read(certificateFile),
      let privateKey = try AtomicFile.read(privateKeyFile), let authorityKey = try AtomicFile.read(authorityKeyFile)
    else { return nil }
    return CertificateSet(
      authority: authority, authorityKey: authorityKey, certificate: certificate, privateKey: privateKey)
  }
}

/// A folder that one process at a time works in; the kernel lets go of it when the process ends.
private struct FolderLock {
  private let descriptor: Int32

  /// Creates the folder when it is not there, and waits for whoever has it.
  init(_ path: String) throws(SystemError) {
    if unsafe mkdir(path, 0o700) != 0, errno != EEXIST { throw .last("create", path) }
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last("open", path) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else {
        let error = SystemError.last("lock", path)
        close(descriptor)
        throw error
      }
    }
    self.descriptor = descriptor
  }

  func release() { close(descriptor) }
}

/// Small files that others see whole or not at all.
private enum AtomicFile {
  private static let limit = 64 * 1024

  /// The content; nil when there is no such file.
  static func read(_ path: String) throws(SystemError) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw .last("read", path) }
    defer { close(file) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe Glibc.read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .last("read", path) }
      guard count > 0 else { return content }
      content += buffer[..<count]
      guard content.count <= limit else { throw SystemError("read", path, code: EFBIG) }
    }
  }

  /// Writes a new file beside the old one and puts it in its place.
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(SystemError) {
    let draft = path + ".new"
    // Left over from a process that was killed; the folder is ours alone now.
    unsafe unlink(draft)
    let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard file >= 0 else { throw .last("create", draft) }
    let isWritten = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Glibc.write(file, buffer.baseAddress, buffer.count) == buffer.count && fsync(file) == 0
    }
    let failure = SystemError.last("write", draft)
    close(file)
    guard isWritten, unsafe rename(draft, path) == 0 else {
      unsafe unlink(draft)
      throw isWritten ? .last("replace", path) : failure
    }
  }
}
