import HTTP2
import OpenSSL
import Operations
import PushCore

extension APNsSender {
  /// From so many devices on, a template's headers are worth a place in HPACK's table.
  private static let sharedCount = 32
  /// How long a credential without a key is left alone.
  private static let noKeyWait: Duration = .seconds(30)

  /// Sends a batch; see ``PushCore/PushSender``. Returns at once.
  public func send(_ batch: PushBatch) {
    let (credential, signer, isClosed) = state.withLock { state in
      let credential = state.credentials[batch.credential]
      return (credential, credential.flatMap(state.signers.signer), state.isClosed)
    }
    guard !isClosed else {
      return answer(
        batch,
        SendFailure(
          kind: .notSent, message: "the sender is closed", remedy: "It is sent by the next worker"),
        after: .zero)
    }
    guard let credential, let signer else {
      return answer(batch, .noKey(credential), after: Self.noKeyWait)
    }
    switch signer {
    case .certificate(let certificate): submit(batch, credential.environment, .certificate(certificate))
    case .key(let key):
      if let token = tokens.current(key) {
        submit(batch, credential.environment, .token(key, token))
      } else {
        wait(batch, credential.environment, for: key)
      }
    }
  }

  /// The connections for a signer, made at first use.
  func origin(of signer: Signer, _ environment: PushCore.Environment, isUrgent: Bool) throws(SendFailure)
    -> HTTP2OriginID
  {
    let originKey = OriginKey(environment: environment, signer: signer.identity, isUrgent: isUrgent)
    if let origin = state.withLock({ $0.origins[originKey] }) { return origin }
    let (context, name) = try tls(for: signer)
    return state.withLock { state in
      if let origin = state.origins[originKey] { return origin }
      let host = configuration.host(for: environment)
      var described =
        HTTP2Origin(
          host: host.host, port: host.port, tls: context, proxy: configuration.proxy(for: environment),
          maximumConnections: isUrgent ? 1 : configuration.connections,
          label: "\(environment.name) \(name)\(isUrgent ? " urgent" : "")")
      // A login approval lives for minutes: it must not wait for a minute once APNs is back.
      if isUrgent { described.maximumBackoff = .seconds(5) }
      let origin = client.addOrigin(described)
      state.origins[originKey] = origin
      return origin
    }
  }

  /// The TLS of a signer's connections, and its name in logs.
  private func tls(for signer: Signer) throws(SendFailure) -> (TLSContext, name: String) {
    switch signer {
    case .key(let key): return (tls, key.keyID)
    case .certificate(let certificate):
      let details = certificate.details
      do {
        let client = TLSClientConfiguration(certificateAuthorityFile: configuration.authoritiesFile)
        return (try TLSContext(client: client, certificate: certificate), details.userID ?? details.subject)
      } catch {
        throw SendFailure(
          kind: .credential, message: "the certificate \(details.subject) cannot be used: \(error.reason)",
          remedy: error.remedy)
      }
    }
  }

  /// Gives a batch, or the devices of it at `indexes`, to the HTTP/2 client.
  func submit(
    _ batch: PushBatch, _ environment: PushCore.Environment, _ authorization: Authorization,
    indexes: [Int32]? = nil
  ) {
    let origin: HTTP2OriginID
    do throws(SendFailure) {
      origin = try self.origin(of: authorization.signer, environment, isUrgent: batch.lane == .urgent)
    } catch {
      return answer(batch, error, after: Self.noKeyWait, indexes: indexes)
    }
    let template: HTTP2RequestTemplate
    do {
      template = try self.template(batch, environment, authorization.token)
    } catch {
      // Only a stored row that this version would not have taken has such a header.
      return answer(batch, indexes) { .rejected(.unknown("RequestNotSendable")) }
    }
    let maker: APNsID.Maker
    do throws(CryptoError) {
      maker = try APNsID.Maker(notification: batch.content.notificationID)
    } catch {
      let failure = SendFailure(kind: .notSent, message: "no apns-id can be made", remedy: error.description)
      return answer(batch, failure, after: Self.noKeyWait, indexes: indexes)
    }
    let sent = SentBatch(push: batch, authorization: authorization, origin: origin, indexes: indexes)
    let now = clocks.monotonicTime()
    let (number, comesBack) = state.withLock { state in
      (state.sent.add(sent), state.comesBack(batch.credential, at: now))
    }
    if comesBack { client.replaceConnections(of: origin) }
    client.submit(requests(sent, number: number, maker, template))
  }

  private func template(
    _ batch: PushBatch, _ environment: PushCore.Environment, _ token: ProviderToken?
  ) throws(HTTP2TemplateError) -> HTTP2RequestTemplate {
    let notification = batch.content.notificationID
    if let known = state.withLock({ $0.templates.template(notification, batch.credential, token) }) {
      return known
    }
    let host = configuration.host(for: environment)
    let isShared = batch.devices.count >= Self.sharedCount
    let template = try HTTP2RequestTemplate.push(
      batch.content, providerToken: token,
      authority: host.port == 443 ? host.host : host.description,
      isShared: isShared)
    if batch.devices.count > 1 {
      state.withLock { $0.templates.insert(template, notification, batch.credential, token) }
    }
    return template
  }

  /// One request a device: its token in the path, its apns-id in the field.
  private func requests(
    _ sent: SentBatch, number: UInt64, _ maker: borrowing APNsID.Maker, _ template: HTTP2RequestTemplate
  ) -> HTTP2RequestBatch {
    let batch = sent.push
    var requests = HTTP2RequestBatch(
      id: number, origin: sent.origin, template: template, notAfter: batch.notAfter,
      responseTimeout: configuration.requestTimeout)
    let devices = batch.devices
    let isPersonal = batch.content.personal != nil
    requests.reserve(
      requests: sent.count,
      bytesPerRequest: devices.tokenBytes.count / max(1, devices.count) + APNsID.length
        + (isPersonal ? batch.content.payload.count : 0))
    let chosen = batch.content.headers.apnsID.map { Array($0.utf8) }
    let tokens = devices.tokenBytes.span
    for entry in 0..<sent.count {
      let index = Int(sent.index(of: UInt32(entry)))
      let start = index == 0 ? 0 : Int(devices.tokenEnds[index - 1])
      let token = tokens.extracting(start..<Int(devices.tokenEnds[index]))
      let body = isPersonal ? batch.personalPayload(index) : nil
      if let chosen {
        requests.append(pathSuffix: token, value: chosen.span, body: body)
      } else {
        let id = maker.make(devices.ids[index])
        requests.append(pathSuffix: token, value: id.span, body: body)
      }
    }
    return requests
  }

  // MARK: Waiting for a provider token

  private func wait(_ batch: PushBatch, _ environment: PushCore.Environment, for key: ProviderKey) {
    guard state.withLock({ $0.wait(batch, for: key) }) else { return }
    errands.start { await self.renew(key) }
  }

  private func renew(_ key: ProviderKey) async {
    let result: Result<ProviderToken, ProviderTokenFailure>
    do {
      result = .success(try await tokens.token(for: key))
    } catch {
      result = .failure(error)
    }
    let batches = state.withLock { $0.takeWaiting(for: key) }
    for batch in batches {
      switch result {
      case .success(let token): submit(batch, environment(of: batch), .token(key, token))
      case .failure(let failure): answer(batch, SendFailure(failure), after: failure.retryAfter)
      }
    }
  }

  /// The environment of a batch whose credential was known when it was taken.
  func environment(of batch: PushBatch) -> PushCore.Environment {
    state.withLock { $0.credentials[batch.credential]?.environment ?? .production }
  }

  // MARK: Answers without a request

  /// Answers every device of a batch, or those at `indexes`, as not sent.
  func answer(
    _ batch: PushBatch, _ failure: SendFailure, after wait: Duration, indexes: [Int32]? = nil
  ) {
    let retryAt = clocks.monotonicTime() + wait
    answer(batch, indexes) { .unsent(failure, retryAt: retryAt) }
  }

  private func answer(_ batch: PushBatch, _ indexes: [Int32]?, _ verdict: () -> Verdict) {
    let verdict = verdict()
    let all = indexes ?? Array(0..<Int32(batch.devices.count))
    deliver(
      all.map {
        PushAnswer(
          batch: batch.id, index: $0, status: 0, verdict: verdict, latencyMilliseconds: -1,
          apnsUniqueID: nil)
      })
  }
}
