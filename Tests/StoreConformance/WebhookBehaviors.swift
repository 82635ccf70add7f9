import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let webhooks = [
    StoreBehavior(
      "A webhook tells the start, then the end with the sums of all topics, and is forgotten", lifeOfAWebhook),
    StoreBehavior("Two processes never hold the same message", messagesAreExclusive),
    StoreBehavior(
      "A message whose lease ran out is due again, and its former holder settles nothing", lostMessages),
    StoreBehavior(
      "A message that is set back comes again with one try more, and the next one begins at none", tries),
    StoreBehavior(
      "The end is told once every notification is final, canceled ones too, and looked for ever less often", ends),
    StoreBehavior(
      "A publish that is refused leaves no webhook, one without a webhook tells nothing", nothingToTell),
    StoreBehavior("The notifications of a webhook are kept until it has told their end", retentionWaits),
    StoreBehavior("No more messages than asked for are leased, those due longest first", messageLimit),
  ]
}

private let instance = "00000000-0000-4000-8000-00000000beef"

extension StoreFixture {
  fileprivate static let webhook = Webhook(
    url: SecretText("https://jane:secret@example.com/"), requestBody: Array(#"{"a":"\u0000é"}"#.utf8))

  fileprivate func publish(
    _ publishID: String, topics: [String] = [topic], webhook: Webhook? = webhook
  ) async throws -> [NotificationID] {
    try await store.publish(
      topics.map { Self.publication(Target(tokens: [Self.token(1)]), topic: $0) }, publishID: publishID,
      instance: instance, webhook: webhook)
  }

  fileprivate func claimWebhooks(from other: (any FullStore)? = nil, limit: Int = 10) async throws -> [WebhookMessage] {
    try await (other ?? store).claimWebhooks(lease: .seconds(60), limit: limit)
  }

  /// Claims the one message that is due and settles it.
  @discardableResult
  fileprivate func tell(_ settlement: WebhookSettlement = .ended) async throws -> WebhookMessage {
    let messages = try await claimWebhooks()
    guard messages.count == 1 else { throw SupportError("\(messages.count) messages are due, not one") }
    #expect(try await store.settle(messages[0], as: settlement))
    return messages[0]
  }
}

private func lifeOfAWebhook(_ fixture: StoreFixture) async throws {
  let topics = [StoreFixture.topic, "com.example.other"]
  for topic in topics { try await fixture.bindApp(topic) }
  _ = try await fixture.publish("pubid-1", topics: topics)

  let started = try await fixture.tell()
  #expect(started.publishID == "pubid-1" && started.content == .started && started.tries == 0)
  #expect(started.webhook == StoreFixture.webhook)
  #expect(try await fixture.claimWebhooks().isEmpty)
  let tasks = try await fixture.claim()
  let device = try await fixture.walk(tasks[0])
  try await fixture.flush(.news(of: tasks[0], accepted: device, ends: true))
  let other = try await fixture.walk(tasks[1])
  try await fixture.flush(.news(of: tasks[1], others: other.map { ($0, .rejected, ReasonID(3)) }, ends: true))
  #expect(try await fixture.claimWebhooks().isEmpty)
  fixture.clocks.advance(by: .seconds(1))

  let finished = try await fixture.tell()
  guard case .finished(let counts) = finished.content else { throw SupportError("\(finished.content)") }
  #expect(counts.accepted == 1 && counts.rejected == 1 && counts.failed + counts.expired + counts.canceled == 0)
  #expect(finished.webhook == StoreFixture.webhook && finished.tries == 0)
  fixture.clocks.advance(by: .seconds(86_400))
  #expect(try await fixture.claimWebhooks().isEmpty)
}

private func messagesAreExclusive(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 0..<40 { _ = try await fixture.publish("pubid-\(number)") }
  let other = try await fixture.openAnother()

  let claimed = try await withThrowingTaskGroup(of: [String].self) { group in
    for number in 0..<8 {
      group.addTask {
        try await fixture.claimWebhooks(from: number.isMultiple(of: 2) ? other : nil, limit: 5).map(\.publishID)
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }
  }
  await other.close()

  #expect(Set(claimed).count == claimed.count)
  let rest = try await fixture.claimWebhooks(limit: 40).map(\.publishID)
  #expect(Set(claimed + rest).count == 40 && claimed.count + rest.count == 40)
}

private func lostMessages(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.publish("pubid-1")
  let lost = try await fixture.claimWebhooks()[0]

  fixture.clocks.advance(by: .seconds(59))
  #expect(try await fixture.claimWebhooks().isEmpty)
  fixture.clocks.advance(by: .seconds(1))
  let again = try await fixture.claimWebhooks()[0]

  #expect(again.content == .started && again.tries == 0)
  for settlement in [WebhookSettlement.ended, .again(after: .seconds(10))] {
    #expect(try await !fixture.store.settle(lost, as: settlement))
  }
  #expect(try await fixture.store.settle(again, as: .ended))
  #expect(try await !fixture.store.settle(again, as: .ended))
}

private func tries(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.publish("pubid-1")[0]
  try await fixture.tell(.again(after: .seconds(10)))
  fixture.clocks.advance(by: .seconds(9))
  #expect(try await fixture.claimWebhooks().isEmpty)
  fixture.clocks.advance(by: .seconds(1))
  #expect(try await fixture.tell(.again(after: .seconds(30))).tries == 1)
  _ = try await fixture.store.cancel(id)
  fixture.clocks.advance(by: .seconds(30))
  let last = try await fixture.tell()
  #expect(last.tries == 2 && last.content == .started)

  let finished = try await fixture.tell(.again(after: .seconds(10)))
  #expect(finished.tries == 0 && finished.content != .started)
  fixture.clocks.advance(by: .seconds(10))
  #expect(try await fixture.tell().tries == 1)
}

private func ends(_ fixture: StoreFixture) async throws {
  let topics = [StoreFixture.topic, "com.example.other"]
  for topic in topics { try await fixture.bindApp(topic) }
  let ids = try await fixture.publish("pubid-1", topics: topics)
  try await fixture.tell()
  _ = try await fixture.store.cancel(ids[0])

  fixture.clocks.advance(by: .seconds(100))
  #expect(try await fixture.claimWebhooks().isEmpty)
  _ = try await fixture.store.cancel(ids[1])
  fixture.clocks.advance(by: .seconds(9))
  #expect(try await fixture.claimWebhooks().isEmpty)
  fixture.clocks.advance(by: .seconds(1))

  guard case .finished(let counts) = try await fixture.tell().content else { throw SupportError("not finished") }
  #expect(counts.canceled == 2 && counts.accepted == 0)
}

private func nothingToTell(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  await #expect(throws: StoreError.self) {
    _ = try await fixture.publish("pubid-1", topics: [StoreFixture.topic, "com.example.unknown"])
  }
  _ = try await fixture.publish("pubid-2", webhook: nil)
  fixture.clocks.advance(by: .seconds(3600))
  #expect(try await fixture.claimWebhooks().isEmpty)
}

private func manyUnfinished(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await withThrowingTaskGroup { group in
    for number in 0..<1050 { group.addTask { _ = try await fixture.publish("pubid-\(number)") } }
    try await group.waitForAll()
  }
  for _ in 0..<3 {
    let messages = try await fixture.claimWebhooks(limit: 500)
    try await withThrowingTaskGroup { group in
      for message in messages { group.addTask { _ = try await fixture.store.settle(message, as: .ended) } }
      try await group.waitForAll()
    }
  }
  fixture.clocks.advance(by: .seconds(1))
  let id = try await fixture.publish("pubid-last")[0]
  _ = try await fixture.store.cancel(id)

  // A call looks at a bounded number of them.
  #expect(try await fixture.claimWebhooks().isEmpty)
  #expect(try await fixture.tell().publishID == "pubid-last")
}

private func retentionWaits(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.publish("pubid-1")[0]
  try await fixture.deliver(try await fixture.claimOne())
  try await fixture.tell()
  func removeOld() async throws {
    fixture.clocks.advance(by: .seconds(10))
    while try await fixture.store.removeOld(payloadsAfter: .zero, receiptsAfter: .zero) {}
  }

  try await removeOld()
  guard case .finished(let counts) = try await fixture.tell().content else { throw SupportError("not finished") }
  #expect(counts.accepted == 1)
  #expect(try await fixture.status(id).state == .done)

  try await removeOld()
  #expect(try await fixture.store.status(id) == nil)
}

private func messageLimit(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 0..<3 {
    _ = try await fixture.publish("pubid-\(number)")
    fixture.clocks.advance(by: .seconds(1))
  }
  #expect(try await fixture.claimWebhooks(limit: 2).map(\.publishID).sorted() == ["pubid-0", "pubid-1"])
  #expect(try await fixture.claimWebhooks(limit: 2).map(\.publishID) == ["pubid-2"])
}
