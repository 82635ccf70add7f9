import Operations
import PushCore

/// Sends the webhooks of a store. Any number of processes may do so on one store.
///
/// At least once: a message is sent again when its process died between sending and settling, or the store failed then.
public final class WebhookService: Service {
  /// The most messages on their way at once; each has a thread.
  private static let capacity = 32
  /// How often the store is asked for messages. While more are due than can be sent, it is asked whenever one is done.
  private static let pollInterval = Duration.seconds(1)
  /// Longer than a request may take, name servers that do not answer included.
  private static let lease = Duration.seconds(60)

  private enum Event {
    case tick
    case done
    case stopped
  }

  private let store: any WebhookStore
  private let courier: Courier
  private let policy: WebhookPolicy
  private let clocks: any Clocks
  private let tell: @Sendable (WebhookEvent) -> Void
  private let storeFails = Lock(false)
  private let events = AsyncStream.makeStream(of: Event.self)

  /// A service on a store and a courier.
  ///
  /// - Parameter events: called from any task; returns at once.
  public init(
    store: any WebhookStore, policy: WebhookPolicy, options: Courier.Options = Courier.Options(),
    clocks: any Clocks, events: @escaping @Sendable (WebhookEvent) -> Void
  ) {
    self.store = store
    self.policy = policy
    courier = Courier(policy: policy, options: options)
    self.clocks = clocks
    tell = events
  }

  /// Sends what is due until ``stop()``; then what is on its way may arrive. When canceled it leaves that to the next lease.
  public func run() async {
    await withTaskGroup { group in
      group.addTask { await self.tick() }
      await work()
      group.cancelAll()
    }
  }

  /// Takes nothing new.
  public func stop() { events.continuation.yield(.stopped) }

  private func tick() async {
    while !Task.isCancelled {
      await clocks.sleep(until: clocks.monotonicTime() + Self.pollInterval)
      events.continuation.yield(.tick)
    }
  }

  private func work() async {
    await withDiscardingTaskGroup { group in
      var open = 0
      var isMoreDue = false
      var isStopping = false
      for await event in events.stream {
        switch event {
        case .tick: isMoreDue = true
        case .done: open -= 1
        case .stopped: isStopping = true
        }
        if isStopping, open == 0 { return }
        guard !isStopping, isMoreDue, open < Self.capacity else { continue }
        let messages = await claim(Self.capacity - open)
        isMoreDue = messages.count == Self.capacity - open
        open += messages.count
        for message in messages {
          group.addTask {
            await self.deliver(message)
            self.events.continuation.yield(.done)
          }
        }
      }
    }
  }

  private func claim(_ limit: Int) async -> [WebhookMessage] {
    await attempt { () throws(StoreError) in try await self.store.claimWebhooks(lease: Self.lease, limit: limit) } ?? []
  }

  private func deliver(_ message: WebhookMessage) async {
    guard let result = await courier.post(message.body, to: message.webhook.url) else { return }
    let (settlement, event) = judge(message, result)
    // A lease that was lost belongs to another process, which settles it.
    _ = await attempt { () throws(StoreError) in try await self.store.settle(message, as: settlement) }
    tell(event)
  }

  private func judge(
    _ message: WebhookMessage, _ result: Result<Int, PostFailure>
  ) -> (WebhookSettlement, WebhookEvent) {
    // One that the policy forbids by now has no host to show: its fault names what is wrong.
    let host = (try? WebhookURL(message.webhook.url.reveal(), policy: policy))?.host ?? ""
    let reason: String
    switch result {
    case .success(200..<300): return (.ended, .delivered(publishID: message.publishID, host: host))
    case .success(let status): reason = "it answered \(status)"
    case .failure(let failure): reason = failure.description
    }
    guard let delay = WebhookRetries.delay(afterTries: message.tries + 1) else {
      return (.ended, .givenUp(publishID: message.publishID, host: host, reason: reason))
    }
    return (.again(after: delay), .failed(publishID: message.publishID, host: host, reason: reason))
  }

  private func attempt<Value>(_ body: () async throws(StoreError) -> Value) async -> Value? {
    do throws(StoreError) {
      let value = try await body()
      storeFails.withLock { $0 = false }
      return value
    } catch {
      let isNews = storeFails.withLock { fails in
        defer { fails = true }
        return !fails
      }
      if isNews { tell(.storeFailed(error)) }
      return nil
    }
  }
}
