import OpenSSL
import Operations

extension Configuration {
  /// What is wrong with the file of certificate authorities, found by loading it.
  public var authorityFindings: [ConfigurationFinding] {
    guard let file = apns.authoritiesFile else { return [] }
    do {
      _ = try TLSContext(client: TLSClientConfiguration(certificateAuthorityFile: file))
      return []
    } catch {
      return [
        ConfigurationFinding(
          .error, place: source(of: "apns.ca_file").description, setting: "apns.ca_file",
          "names '\(file)', which cannot be used: \(error.reason)", remedy: error.remedy)
      ]
    }
  }
}
