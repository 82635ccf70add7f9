import HTTP2
import Operations
import PushCore

extension SendFailure {
  /// Why a request could not be sent, in the words of someone who has to repair it.
  init(_ failure: HTTP2Failure) {
    let settings = "apns.production, apns.sandbox or --host"
    let proxySettings = "apns.proxy, --proxy or HTTPS_PROXY"
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
          "no connection can be made there",
          "Check host and port in \(settings): APNs listens on 443 and 2197; a firewall may refuse too"
        )
      case .connectTimeout:
        unreachable(
          "no connection in time",
          "Check whether a firewall drops the packets; port 2197 is Apple's other way in")
      case .tlsVerification:
        unreachable(
          "its certificate is not trusted",
          (failure.remedy.isEmpty
            ? "Install ca-certificates" : failure.remedy.prefix(1).uppercased() + failure.remedy.dropFirst())
            + "; the CA of another APNs such as the simulator is given with apns.ca_file or --ca")
      case .certificateRefused:
        unreachable(
          "it refuses the certificate of the app",
          "Check whether it was revoked or is for the other environment; make a new one in the Apple developer account")
      case .tls:
        unreachable(
          "it does not speak TLS as APNs does",
          "Check the port in \(settings): APNs listens on 443 and 2197; a proxy that opens TLS does not work"
        )
      case .alpn:
        unreachable(
          "it does not speak HTTP/2",
          "Check host and port in \(settings); a proxy that opens TLS does not work")
      case .proxyUnreachable:
        unreachable(
          "the proxy on the way cannot be reached",
          "Check host and port of \(proxySettings), or name APNs in NO_PROXY to go without it")
      case .proxyTimeout:
        unreachable(
          "the proxy on the way does not answer",
          "Check that \(proxySettings) names an HTTP proxy, and that the proxy can reach \(endpoint)")
      case .proxyAuthentication:
        unreachable(
          "the proxy on the way wants other credentials",
          "Check name and password in \(proxySettings): http://USER:PASSWORD@HOST:PORT, with %XX for special characters"
        )
      case .proxyRefused(let status):
        unreachable("the proxy on the way refuses the tunnel", Self.remedy(refusal: status, endpoint))
      case .proxyAnswer:
        unreachable(
          "what should be a proxy does not answer as one",
          "Check host and port of \(proxySettings): it must be an HTTP proxy that allows CONNECT")
      case .protocolError, .connectionLost, .goaway, .streamReset, .pingTimeout:
        SendFailure(
          kind: .refused,
          message: "APNs at \(endpoint): the connection ended before the push was processed (\(failure.reason))",
          remedy: "Nothing was delivered; it may be sent again")
      case .refusedStream:
        SendFailure(
          kind: .refused, message: "APNs at \(endpoint): it did not process the push (\(failure.reason))",
          remedy: "Nothing was delivered; it may be sent again a little later")
      case .noStreams:
        unreachable(
          "it takes no requests",
          "APNs is overloaded or holds something against this sender; it is asked again on a new connection")
      case .headerListTooLarge:
        unreachable(
          "it takes fewer header bytes than a push needs", "Check that host and port in \(settings) are those of APNs")
      case .requestTimeout:
        unreachable("no answer in time", "It may be sent again")
      case .deadline:
        SendFailure(
          kind: .notSent,
          message: "no connection to APNs at \(endpoint) was free before the push's time was over",
          remedy: "It is offered again while its notification lives")
      case .invalidRequest:
        SendFailure(
          kind: .notSent, message: "the request cannot be sent: \(failure.reason)",
          remedy: "Report the notification's id")
      case .withdrawn:
        SendFailure(
          kind: .notSent, message: "the push was withdrawn before it was sent",
          remedy: "Mend the credential; what is in the queue is then offered again")
      case .closing:
        SendFailure(
          kind: .notSent, message: "the sender is closing", remedy: "It is sent by the next worker")
      }
  }

  private static func remedy(refusal status: UInt16, _ endpoint: String) -> String {
    status >= 500
      ? "The proxy itself cannot reach \(endpoint), or is ill: ask who runs it"
      : "Ask who runs the proxy to allow CONNECT to \(endpoint); some allow 443 and not 2197"
  }

  /// There is no key for a credential.
  static func noKey(_ credential: Credential?) -> SendFailure {
    let what = credential.map { "\($0.topic) (\($0.environment.name))" } ?? "an unknown credential"
    return SendFailure(
      kind: .credential, message: "this process has no key for \(what)",
      remedy:
        "Add the app with team_id, key_id and key_file, or with a certificate for this topic and environment, to the configuration and reload it (SIGHUP)"
    )
  }

  /// The provider token cannot be made or shared.
  init(_ failure: ProviderTokenFailure) {
    self.init(kind: .credential, message: failure.message, remedy: failure.remedy)
  }
}
