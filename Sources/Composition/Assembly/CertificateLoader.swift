import OpenSSL
import Operations
import PushCore

/// Loads the certificate of an app and holds it against the app.
struct CertificateLoader {
  let app: Configuration.App
  let path: String
  let now: UnixMilliseconds

  /// The time before a certificate's end from which on it is warned of.
  private static let notice: Int64 = 30 * 86_400

  /// The certificate, which has its key, is good now, can be presented, and is for the app's topic.
  func load(password: String?) throws(ConfigurationFinding) -> ClientCertificate {
    let bytes: [UInt8]
    do {
      bytes = try Files.read(path, limit: 256 << 10)
    } catch {
      throw ConfigurationFinding(
        .error, place: path, "the certificate cannot be read: \(error.reason)",
        exitCode: error.isNotAllowed ? .notAllowed : .configuration)
    }
    let certificate: ClientCertificate
    do {
      certificate = try ClientCertificate(bytes: bytes, password: password)
      try certificate.details.checkValidity(at: now.seconds, format: Self.text)
    } catch {
      throw ConfigurationFinding(.error, place: path, error.message, remedy: error.remedy)
    }
    do {
      _ = try TLSContext(client: TLSClientConfiguration(), certificate: certificate)
    } catch {
      throw ConfigurationFinding(
        .error, place: path, "the certificate cannot be presented: \(error.reason)", remedy: error.remedy)
    }
    let topics = certificate.details.topics
    guard topics.isEmpty || topics.contains(app.topic) else {
      throw ConfigurationFinding(
        .error, place: path, "the certificate is for \(topics.joined(separator: ", ")), not for \(app.topic)",
        remedy: "name the certificate of this app, or correct the topic")
    }
    return certificate
  }

  /// What is doubtful about it.
  func warnings(of details: CertificateDetails) -> [ConfigurationFinding] {
    var warnings: [ConfigurationFinding] = []
    let left = details.notAfter - now.seconds
    if left < Self.notice {
      warnings.append(
        ConfigurationFinding(
          .warning, place: path, "the certificate expires at \(Self.text(details.notAfter)), in \(left / 86_400) days",
          remedy: "make a new one in the Apple developer account, put it here and reload (SIGHUP)"))
    }
    if !details.services.isEmpty, !details.services.contains(service(app.environment)) {
      warnings.append(
        ConfigurationFinding(
          .warning, place: path,
          "the certificate is for \(details.services == .development ? "the sandbox" : "production") alone, "
            + "and the app's environment is \(app.environment.rawValue)",
          remedy: "devices of that environment get nothing: name a certificate for both services"))
    }
    return warnings
  }

  /// The app with the certificate for each environment that it is for.
  func bindings(of details: CertificateDetails) -> [AppBinding] {
    [Configuration.Environment.production, .sandbox].map { environment in
      let isCovered = details.services.isEmpty || details.services.contains(service(environment))
      return AppBinding(
        topic: app.topic, environment: Environment(environment), teamID: nil, keyID: nil,
        certificateSHA256: isCovered ? details.sha256 : nil)
    }
  }

  private func service(_ environment: Configuration.Environment) -> CertificateDetails.Services {
    environment == .sandbox ? .development : .production
  }

  private static func text(_ seconds: Int64) -> String { RFC3339.format(UnixMilliseconds(seconds * 1000)) }
}
