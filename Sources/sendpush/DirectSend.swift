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
  /// How long after the end of the time the sender may take to say what it had not sent by then.
  private static let settling = Duration.seconds(1)

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
    // Whom the registry finds is not found in an empty one.
    if needsRegistry { return try await context.openStore(creates: false) }
    return await context.hasStore ? try await context.openStore(creates: true) : nil
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
      sender.withdraw()
      await context.clocks.sleep(until: deadline + Self.settling)
      feed.finish()
    }
    while true {
      while send.openBatches < Self.batchesInFlight, let devices = try await source.next() {
        try send.submit(devices)
      }
      if send.openBatches == 0 { break }
      guard let answers = await incoming.next() else {
        try send.giveUp()
        break
      }
      for answer in answers { try send.take(answer) }
    }
    timer.cancel()
    await sender.close(grace: .zero)
    if send.count == 0 { context.console.diagnose("no device is registered for this target") }
    return send.exitCode
  }
}

/// The batches that are with the sender, and what came of them.
struct OpenSend {
  private let send: DirectSend
  private let credentials: Credentials
  private let sender: APNsSender
  private let content: PushContent
  private var batches: [UInt64: (credential: CredentialID, devices: DeviceWindow, open: Set<Int>)] = [:]
  private var nextBatch: UInt64 = 0
  /// Devices whose push APNs did not process, and which got another try for that.
  private var refusedOnce: Set<DeviceID> = []
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

  mutating func submit(_ group: (credential: CredentialID, devices: DeviceWindow)) throws {
    count += group.devices.count
    let clocks = send.context.clocks
    let life = Duration.milliseconds(content.expiresAt.value - clocks.wallTime().value)
    guard life > .zero else {
      for index in 0..<group.devices.count { try expire((group.credential, group.devices, []), index) }
      return
    }
    sender.send(batch(group, notAfter: min(send.deadline, clocks.monotonicTime() + life)))
  }

  /// A batch that is open from now on.
  private mutating func batch(
    _ group: (credential: CredentialID, devices: DeviceWindow), notAfter: MonotonicTime
  ) -> PushBatch {
    nextBatch += 1
    batches[nextBatch] = (group.credential, group.devices, Set(0..<group.devices.count))
    return PushBatch(
      id: nextBatch, credential: group.credential, lane: send.publication.lane, content: content,
      devices: group.devices,
      notAfter: notAfter)
  }

  /// Another try for a push that APNs has certainly not processed.
  private mutating func sendAgain(
    _ batch: (credential: CredentialID, devices: DeviceWindow, open: Set<Int>), _ index: Int, at time: MonotonicTime
  ) {
    var devices = DeviceWindow()
    devices.append(index, of: batch.devices)
    let again = self.batch((batch.credential, devices), notAfter: send.deadline)
    Task { [sender, clocks = send.context.clocks] in
      await clocks.sleep(until: time)
      sender.send(again)
    }
  }

  mutating func take(_ answer: PushAnswer) throws {
    guard var batch = batches[answer.batch], batch.open.remove(Int(answer.index)) != nil else { return }
    batches[answer.batch] = batch.open.isEmpty ? nil : batch
    if case .unsent(let failure, let retryAt) = answer.verdict, failure.kind == .refused, retryAt < send.deadline,
      refusedOnce.insert(batch.devices.ids[Int(answer.index)]).inserted
    {
      return sendAgain(batch, Int(answer.index), at: retryAt)
    }
    var line = try line(batch, Int(answer.index))
    line.record.status = answer.status == 0 ? nil : Int(answer.status)
    line.record.latencyMilliseconds = answer.latencyMilliseconds < 0 ? nil : Int(answer.latencyMilliseconds)
    switch answer.verdict {
    case .accepted: finish(&line, .accepted, nil, .success)
    case .rejected(let reason), .gone(let reason, _), .unfit(let reason): finish(&line, .rejected, reason, .rejected)
    case .held(_, let reason): finish(&line, .rejected, reason, .configuration)
    case .retry(let reason, _): finish(&line, .failed, reason, .temporaryFailure)
    case .unsent where content.expiresAt <= send.context.clocks.wallTime():
      try expire(batch, Int(answer.index))
    case .unsent(let failure, _):
      line.record.attempts = 0
      say(failure)
      line.record.reason = failure.kind == .credential ? "NoProviderToken" : "NotSent"
      let canSign = credentials[batch.credential].map(sender.canSign) ?? false
      finish(
        &line, .failed, nil,
        !canSign ? .configuration : failure.kind == .unreachable ? .unavailable : .temporaryFailure)
    }
  }

  /// The notification's deadline has passed before the push was sent.
  private mutating func expire(
    _ batch: (credential: CredentialID, devices: DeviceWindow, open: Set<Int>), _ index: Int
  ) throws {
    var line = try line(batch, index)
    line.record.attempts = 0
    finish(&line, .expired, nil, .rejected)
  }

  /// The time is over: what has no answer may have arrived.
  mutating func giveUp() throws {
    for batch in batches.values {
      for index in batch.open.sorted() {
        var line = try line((batch.credential, batch.devices, []), index)
        finish(&line, .failed, .known(.timeout), .temporaryFailure)
      }
    }
    batches = [:]
  }

  private func line(
    _ batch: (credential: CredentialID, devices: DeviceWindow, open: Set<Int>), _ index: Int
  ) throws -> ReceiptLine {
    let record = try ReceiptRecord(
      notificationID: content.notificationID,
      apnsID: content.headers.apnsID
        ?? APNsID.make(notification: content.notificationID, device: batch.devices.ids[index]),
      topic: content.topic, environment: credentials.environment(of: batch.credential),
      token: DeviceToken(stored: String(decoding: batch.devices.token(index), as: UTF8.self)), outcome: .pending,
      at: send.context.clocks.wallTime(), attempts: 1)
    return ReceiptLine(record: record)
  }

  private mutating func finish(
    _ line: inout ReceiptLine, _ outcome: Outcome, _ reason: PushReason?, _ code: ExitCode
  ) {
    line.record.outcome = outcome
    if let reason {
      line.record.reason = sender.text(of: reason)
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
