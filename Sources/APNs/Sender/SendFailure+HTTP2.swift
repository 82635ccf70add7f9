import HTTP2
import Operations
import PushCore

extension SendFailure {
  /// Why a request could not be sent, in the words of someone who has to repair it.
  init(_ failure: HTTP2Failure) {
    let settings = "apns.production, apns.sandbox or --host"
    let endpoint = failure.endpoint
    func unreachable(_ what: String, _ remedy: String) -> SendFailure {
      SendFailure(
        kind: .unreachable, message: "APNs at \(endpoint): \(what) (\(failure.reason))",
        remedy: remedy)
    }
    self =
      switch failure.kind {
      case .nameResolution:
        unreachable(
          "the host name has no address",
          "Check \(settings), and the name server of this machine (getent hosts NAME)")
      case .connect:
        unreachable(
          "nothing accepts connections there",
          "Check host and port in \(settings): APNs listens on 443 and 2197; a firewall may refuse too"
        )
      case .connectTimeout:
        unreachable(
          "no connection in time",
          "Check whether a firewall drops the packets; port 2197 is Apple's other way in")
      case .tlsVerification:
        unreachable(
          "its certificate is not trusted",
          "Install ca-certificates; for another APNs such as the simulator give its CA with apns.ca_file or --ca"
        )
      case .tls:
        unreachable(
          "it does not speak TLS as APNs does",
          "Check the port in \(settings): APNs listens on 443 and 2197; a proxy that opens TLS does not work"
        )
      case .alpn:
        unreachable(
          "it does not speak HTTP/2",
          "Check host and port in \(settings); a proxy that opens TLS does not work")
      case .protocolError, .connectionLost, .goaway, .refusedStream, .streamReset, .pingTimeout:
        unreachable(
          "the connection ended before the push was processed",
          "It is sent again; if it stays so, see the log")
      case .headerListTooLarge:
        unreachable(
          "it takes fewer header bytes than a push needs", "Check that host and port in \(settings) are those of APNs")
      case .requestTimeout:
        unreachable("no answer in time", "It is sent again; if it stays so, see the log")
      case .deadline:
        SendFailure(
          kind: .notSent,
          message: "no connection to APNs at \(endpoint) was free before the push's time was over",
          remedy: "It is offered again while its notification lives")
      case .invalidRequest:
        SendFailure(
          kind: .notSent, message: "the request cannot be sent: \(failure.reason)",
          remedy: "Report the notification's id")
      case .closing:
        SendFailure(
          kind: .notSent, message: "the sender is closing", remedy: "It is sent by the next worker")
      }
  }

  /// There is no key for a credential.
  static func noKey(_ credential: Credential?) -> SendFailure {
    let what = credential.map { "\($0.topic) (\($0.environment.name))" } ?? "an unknown credential"
    return SendFailure(
      kind: .credential, message: "this process has no key for \(what)",
      remedy:
        "Add the app with team_id, key_id and key_file to the configuration and reload it (SIGHUP)")
  }

  /// The provider token cannot be made or shared.
  init(_ failure: ProviderTokenFailure) {
    self.init(kind: .credential, message: failure.message, remedy: failure.remedy)
  }
}
