import OpenSSL
import Operations

/// The TLS of the simulator: the usual one, and one for each way of spoiling it, made when it is first needed and kept.
struct TLSContexts: Sendable {
  private static let daySeconds: Int64 = 86400

  private let certificates: CertificateSet
  private let names: [String]
  private let clientAuthorityFiles: [String]
  private let startSeconds: Int64
  private var made: [TLSFault: TLSContext] = [:]

  /// Contexts for the certificate of a set and others by its authority; `names` are those of all but the wrong ones, the
  /// files those with the authorities of clients.
  init(_ certificates: CertificateSet, names: [String], clientAuthorityFiles: [String], now: UnixMilliseconds) {
    self.certificates = certificates
    self.names = names
    self.clientAuthorityFiles = clientAuthorityFiles
    startSeconds = now.seconds
  }

  /// A server's TLS: version 1.2 or later, `h2` alone, and a certificate asked of each client, as APNs does; spoiled by
  /// the fault. Throws ``SimulatorError``.
  mutating func context(_ fault: TLSFault = TLSFault()) throws(SimulatorError) -> TLSContext {
    if let context = made[fault] { return context }
    do {
      let context = try TLSContext(server: try configuration(fault))
      made[fault] = context
      return context
    } catch {
      throw SimulatorError(.certificate, "--tls-dir or --client-ca: \(error)")
    }
  }

  private func configuration(_ fault: TLSFault) throws(CryptoError) -> TLSServerConfiguration {
    var configuration = TLSServerConfiguration(try certificates(fault.certificate))
    configuration.requestsClientCertificate = true
    configuration.knownClientAuthorityFiles = clientAuthorityFiles
    configuration.revokesClientCertificates = fault.revokesClientCertificate
    switch fault.version {
    case .tls10: (configuration.minimumVersion, configuration.maximumVersion) = (.tls10, .tls10)
    case .tls11: (configuration.minimumVersion, configuration.maximumVersion) = (.tls10, .tls11)
    case nil: break
    }
    switch fault.applicationProtocol {
    case .none?: configuration.applicationProtocols = []
    case .http11: configuration.applicationProtocols = ["http/1.1"]
    case nil: break
    }
    return configuration
  }

  private func certificates(_ fault: TLSFault.Certificate?) throws(CryptoError) -> CertificateSet {
    let (now, day) = (startSeconds, Self.daySeconds)
    return switch fault {
    case .expired: try certificates.reissued(names: names, from: now - 2 * day, until: now - day)
    case .notYetValid: try certificates.reissued(names: names, from: now + 365 * day, until: now + 366 * day)
    case .wrongHost: try certificates.reissued(names: ["wrong-host.invalid"], from: now - day, until: now + 365 * day)
    case .unknownAuthority: try .issue(names: names, at: now)
    case nil: certificates
    }
  }
}
