import APNs
import Composition
import Operations
import PushCore

/// Sends one notification to its devices without the queue: one attempt each, in batches, answers printed as they come.
struct DirectSend {
  let context: CommandContext
  let app: Configuration.App
  let publication: Publication
  let deadline: MonotonicTime
  let printer: ReceiptPrinter

  /// Batches with the sender at a time.
  private static let batchesInFlight = 2

  func run() async throws -> ExitCode {
    let store = try await sharedStore()
    do {
      let code = try await run(store)
      await store?.close()
      return code
    } catch {
      await store?.close()
      throw error
    }
  }

  /// The store, when it is configured or there: the provider token is shared through it, and the registry is in it.
  private func sharedStore() async throws -> (any Store)? {
    let needsRegistry =
      publication.target.everyone || !publication.target.interests.isEmpty || !publication.target.users.isEmpty
    if context.hasStore || needsRegistry { return try await context.openStore() }
    return nil
  }

  private func run(_ store: (any Store)?) async throws -> ExitCode {
    let sender = try context.sender(
      for: [app], tokens: try store ?? context.providerTokenFile(),
      within: deadline.since(context.clocks.monotonicTime()))
    let credentials = Credentials(app: app, topic: publication.topic)
    sender.learn(credentials.all)
    let (answers, feed) = AsyncStream<[PushAnswer]>.makeStream()
    sender.onAnswers { feed.yield($0) }
    var send = OpenSend(self, credentials: credentials, sender: sender)
    var source = DeviceSource(publication: publication, store: store, credentials: credentials)
    var incoming = answers.makeAsyncIterator()
    let timer = Task {
      // Ends the wait for answers; canceled as soon as all have come.
      await context.clocks.sleep(until: deadline)
      feed.finish()
    }
    while true {
      while send.openBatches < Self.batchesInFlight, let devices = try await source.next() { send.submit(devices) }
      if send.openBatches == 0 { break }
      guard let answers = await incoming.next() else {
        send.giveUp()
        break
      }
      for answer in answers { send.take(answer) }
    }
    timer.cancel()
    await sender.close(grace: .zero)
    if send.count == 0 { context.console.diagnose("no device is registered for this target") }
    return send.exitCode
  }
}

/// The credentials of an app as a command without a store sees them: one per environment.
struct Credentials {
  let all: [Credential]

  init(app: Configuration.App, topic: String) {
    all = Environment.allCases.map { environment in
      Credential(
        id: CredentialID(Int64(environment.rawValue) + 1), appID: AppID(1), topic: topic, environment: environment,
        teamID: app.teamID, keyID: app.keyID, heldSince: nil, heldReason: nil)
    }
  }

  func id(_ environment: Environment) -> CredentialID { CredentialID(Int64(environment.rawValue) + 1) }

  func environment(of id: CredentialID) -> Environment? { all.first { $0.id == id }?.environment }
}

/// The devices of a target: those named by their tokens, then those that the registry finds; each once.
struct DeviceSource {
  private let publication: Publication
  private let store: (any Store)?
  private let credentials: Credentials
  private var pending: [(environment: Environment, token: DeviceToken)]
  private var queries: [DeviceQuery]
  private var after = DeviceID(0)
  private var seen: Set<String>
  private var sequence: Int64 = 0

  init(publication: Publication, store: (any Store)?, credentials: Credentials) {
    self.publication = publication
    self.store = store
    self.credentials = credentials
    let environment = publication.environment ?? publication.defaultEnvironment
    pending = publication.target.tokens.map { (environment, $0) }
    seen = Set(publication.target.tokens.map { "\(environment.rawValue)\($0.text)" })
    var base = DeviceQuery()
    base.topic = publication.topic
    base.retired = false
    let target = publication.target
    queries = target.interests.map { interest in
      var query = base
      query.interest = interest
      return query
    }
    queries += target.users.map { user in
      var query = base
      query.user = user
      return query
    }
    if target.everyone { queries = [base] }
  }

  /// The next devices, of one environment; nil at the end.
  mutating func next() async throws -> (credential: CredentialID, devices: DeviceWindow)? {
    while pending.isEmpty, let query = queries.first, let store {
      let page = try await store.devices(query, after: after, limit: PushBatch.maximumCount)
      for device in page where isMeant(device) { pending.append((device.environment, device.token)) }
      if let last = page.last, page.count == PushBatch.maximumCount {
        after = last.id
      } else {
        queries.removeFirst()
        after = DeviceID(0)
      }
    }
    guard let environment = pending.first?.environment else { return nil }
    var devices = DeviceWindow()
    var rest: [(environment: Environment, token: DeviceToken)] = []
    for device in pending {
      if device.environment == environment, devices.count < PushBatch.maximumCount {
        sequence += 1
        devices.append(
          id: DeviceID(token: device.token, sequence: sequence), credential: credentials.id(environment),
          registeredAt: UnixMilliseconds(0), token: device.token.text.utf8)
      } else {
        rest.append(device)
      }
    }
    pending = rest
    return (credentials.id(environment), devices)
  }

  private mutating func isMeant(_ device: Device) -> Bool {
    if let environment = publication.environment, environment != device.environment { return false }
    return seen.insert("\(device.environment.rawValue)\(device.token.text)").inserted
  }
}

/// The batches that are with the sender, and what came of them.
struct OpenSend {
  private let send: DirectSend
  private let credentials: Credentials
  private let sender: APNsSender
  private let content: PushContent
  private var batches: [UInt64: (credential: CredentialID, devices: DeviceWindow, open: Set<Int>)] = [:]
  private var codes: Set<ExitCode> = []
  private var saidFailures: Set<String> = []
  private(set) var count = 0

  init(_ send: DirectSend, credentials: Credentials, sender: APNsSender) {
    self.send = send
    self.credentials = credentials
    self.sender = sender
    let now = send.context.clocks.wallTime()
    // A random id: it names this call in collapse ids and apns-ids, and nothing in a store.
    content = PushContent(
      notificationID: NotificationID(Int64.random(in: 1..<1 << 52)), topic: send.publication.topic,
      headers: send.publication.headers, expiresAt: send.publication.deadline.time(from: now),
      payload: send.publication.payload)
  }

  var openBatches: Int { batches.count }

  var exitCode: ExitCode { count == 0 ? .rejected : .combining(codes) }

  mutating func submit(_ group: (credential: CredentialID, devices: DeviceWindow)) {
    let id = UInt64(count) + 1
    count += group.devices.count
    batches[id] = (group.credential, group.devices, Set(0..<group.devices.count))
    sender.send(
      PushBatch(
        id: id, credential: group.credential, lane: send.publication.lane, content: content, devices: group.devices,
        notAfter: send.deadline))
  }

  mutating func take(_ answer: PushAnswer) {
    guard var batch = batches[answer.batch], batch.open.remove(Int(answer.index)) != nil else { return }
    batches[answer.batch] = batch.open.isEmpty ? nil : batch
    var line = line(batch, Int(answer.index))
    line.status = answer.status == 0 ? nil : Int(answer.status)
    line.latencyMilliseconds = answer.latencyMilliseconds < 0 ? nil : Int(answer.latencyMilliseconds)
    switch answer.verdict {
    case .accepted: finish(&line, .accepted, nil, .success)
    case .rejected(let reason), .gone(let reason, _), .unfit(let reason): finish(&line, .rejected, reason, .rejected)
    case .held(_, let reason): finish(&line, .rejected, reason, .configuration)
    case .retry(let reason, _): finish(&line, .failed, reason, .temporaryFailure)
    case .unsent(let failure, _):
      line.attempts = 0
      say(failure)
      line.reason = failure.kind == .credential ? "NoProviderToken" : "NotSent"
      finish(&line, .failed, nil, failure.kind == .unreachable ? .unavailable : .temporaryFailure)
    }
  }

  /// The time is over: what has no answer may have arrived.
  mutating func giveUp() {
    for batch in batches.values {
      for index in batch.open.sorted() {
        var line = line((batch.credential, batch.devices, []), index)
        finish(&line, .failed, .known(.timeout), .temporaryFailure)
      }
    }
    batches = [:]
  }

  private func line(
    _ batch: (credential: CredentialID, devices: DeviceWindow, open: Set<Int>), _ index: Int
  ) -> ReceiptLine {
    ReceiptLine(
      notificationID: nil,
      apnsID: content.headers.apnsID
        ?? APNsID.make(notification: content.notificationID, device: batch.devices.ids[index]),
      topic: content.topic, environment: credentials.environment(of: batch.credential),
      token: DeviceToken(stored: String(decoding: batch.devices.token(index), as: UTF8.self)), outcome: .pending,
      status: nil, reason: nil, at: send.context.clocks.wallTime(), attempts: 1, latencyMilliseconds: nil, remedy: nil)
  }

  private mutating func finish(
    _ line: inout ReceiptLine, _ outcome: Outcome, _ reason: PushReason?, _ code: ExitCode
  ) {
    line.outcome = outcome
    if let reason {
      line.reason = sender.text(of: reason)
      if case .known(let id) = reason { line.remedy = ReasonTable.remedy(of: id) }
    }
    codes.insert(code)
    send.printer.print(line)
  }

  /// Says a failure once, however many devices it concerns.
  private mutating func say(_ failure: SendFailure) {
    if saidFailures.insert(failure.message).inserted { send.context.console.diagnose("\(failure)") }
  }
}
