import APNs
import EventLoop
import HTTPAPI
import OpenSSL
import Operations
import PushCore

extension CommandContext {
  /// Serves HTTP at the listeners of the settings; answers from now on.
  ///
  /// - Throws: ``ConfigurationError`` when an address cannot be taken or a certificate cannot be used.
  func apiServer(
    store: any FullStore, apps: AppDirectory, logger: Logger, metrics: Metrics,
    gauges: @escaping @Sendable () async -> [PrometheusText.Gauge] = { [] }, version: String
  ) throws -> HTTPServer {
    let directory = self
    let api = APIContext(
      store: store, apps: apps, clocks: clocks, logger: logger, metrics: metrics, gauges: gauges,
      sha256: Digests.sha256,
      reasonText: { ReasonTable.text(of: $0, stored: $1) },
      apnsID: { try APNsID.make(notification: $0, device: $1) },
      bind: { try await directory.bind(store, topics: [$0]) }, version: version,
      policy: SurfacePolicy(configuration))
    if configuration.protectedInterests.isEmpty,
      configuration.listeners.contains(where: { $0.surfaces.contains(.device) })
    {
      logger.warning(
        "no interest is protected: every app can subscribe to every interest; name those of users in interests.protected"
      )
    }
    let listeners = try configuration.listeners.map { listener in
      HTTPServer.Listener(
        address: listener.address, certificate: try listener.tls.map(Self.certificate), surfaces: listener.surfaces)
    }
    do {
      return try HTTPServer(
        listeners, trustedProxies: configuration.trustedProxies, grace: configuration.shutdownGrace, context: api)
    } catch let error as SocketError {
      throw ConfigurationError([
        ConfigurationFinding(
          .error, place: configuration.source(of: "listeners").description, setting: "listeners", error.summary,
          remedy: error.remedy)
      ])
    }
  }

  private static func certificate(_ tls: Configuration.Listener.TLS) throws -> ServerCertificate {
    let findings = tls.findings
    guard findings.isEmpty else { throw ConfigurationError(findings) }
    return ServerCertificate(
      certificate: try Files.read(tls.certificateFile, limit: 256 << 10),
      key: try Files.read(tls.keyFile, limit: 256 << 10))
  }
}

extension Configuration.Listener.TLS {
  /// What is wrong with certificate and key, found by loading them.
  public var findings: [ConfigurationFinding] {
    do {
      _ = try TLSContext(
        server: TLSServerConfiguration(certificateFile: certificateFile, privateKeyFile: keyFile))
      return []
    } catch {
      return [
        ConfigurationFinding(
          .error, setting: "listeners", "names '\(certificateFile)', which cannot be served: \(error.reason)",
          remedy: error.remedy)
      ]
    }
  }
}

extension CommandContext {
  /// How long a running relay may take to hear that an API key was revoked.
  public static let apiKeyTrust = HTTPServer.apiKeyTrust
}
