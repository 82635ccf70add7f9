import EventLoop
import Operations

/// What other threads ask of the loop.
enum ClientMessage: Sendable {
  case batch(HTTP2RequestBatch)
  case addOrigin(HTTP2Origin, HTTP2OriginID)
  case removeOrigin(HTTP2OriginID)
  case replaceConnections(HTTP2OriginID)
  case withdraw(HTTP2OriginID?)
  case connect(HTTP2OriginID, @Sendable (HTTP2Failure?) -> Void)
  case snapshot(@Sendable ([HTTP2OriginSnapshot]) -> Void)
  case load(@Sendable (ClientLoad) -> Void)
  case close(Duration)
}

/// What a client holds, for tests that nothing is left behind.
struct ClientLoad: Sendable, Equatable {
  var descriptors: Int
  var timers: Int
}

/// A client on its loop's thread: takes messages, turns the clock for its origins, and hands over what ended, once a turn.
final class ClientEngine: TurnHandler {
  /// How often deadlines are looked at while something is open.
  private static let tickInterval: Duration = .milliseconds(250)

  let loop: EventLoop
  let configuration: HTTP2ClientConfiguration
  let sink = ResponseSink()
  let watched: WatchedFields
  let input = InputBuffer()
  private let mailbox: Mailbox<ClientMessage>
  private let onResponses: @Sendable ([HTTP2Response]) -> Void
  private var origins: [HTTP2OriginID: OriginEngine] = [:]
  private var removed: [OriginEngine] = []
  private var dirty: [ClientConnection] = []
  private var lastConnectionNumber: UInt32 = 0
  private var tickTimer: (id: TimerID, time: MonotonicTime)?
  private var isClosing = false

  init(
    loop: EventLoop, configuration: HTTP2ClientConfiguration, mailbox: Mailbox<ClientMessage>,
    onResponses: @escaping @Sendable ([HTTP2Response]) -> Void
  ) {
    self.loop = loop
    self.configuration = configuration
    self.mailbox = mailbox
    self.onResponses = onResponses
    watched = WatchedFields(configuration.watchedFields)
  }

  /// Begins to take messages; from now on the loop keeps the engine.
  func start() {
    do {
      try loop.attach(mailbox) { messages in for message in messages { self.handle(message) } }
      loop.addTurnHandler(self)
    } catch {
      // Only an exhausted kernel refuses the watch. Nothing was sent: everything comes back unsent.
      finish()
    }
  }

  func takeConnectionNumber() -> UInt32 {
    lastConnectionNumber &+= 1
    return lastConnectionNumber
  }

  /// Writes the connection's rest at the end of the turn.
  func markDirty(_ connection: ClientConnection) {
    guard !connection.isDirty else { return }
    connection.isDirty = true
    dirty.append(connection)
  }

  private func handle(_ message: ClientMessage) {
    switch message {
    case .batch(let batch):
      if let origin = origins[batch.origin] { origin.submit(batch) } else { refuse(batch) }
    case .addOrigin(let origin, let id): origins[id] = OriginEngine(origin, id: id, engine: self)
    case .removeOrigin(let id):
      guard let origin = origins.removeValue(forKey: id) else { return }
      origin.close(grace: configuration.drainTimeout)
      removed.append(origin)
    case .replaceConnections(let id): origins[id]?.replaceConnections()
    case .withdraw(let id?): origins[id]?.withdraw()
    case .withdraw(nil): for origin in origins.values { origin.withdraw() }
    case .connect(let id, let tell):
      if let origin = origins[id] { origin.connect(tell) } else { tell(Self.unknownOrigin) }
    case .snapshot(let tell): tell(origins.values.map { $0.snapshot() }.sorted { $0.id.index < $1.id.index })
    case .load(let tell): tell(ClientLoad(descriptors: loop.load.descriptors, timers: loop.load.timers))
    case .close(let grace): close(grace)
    }
  }

  func turnEnded() {
    while let connection = dirty.popLast() {
      connection.isDirty = false
      // What happens here may put others, or this one, on the list again.
      connection.pump(all: true)
    }
    if isClosing { finishIfDone() }
    deliver()
    scheduleTick()
  }

  private func deliver() {
    let responses = sink.take()
    if !responses.isEmpty { onResponses(responses) }
  }

  private func scheduleTick() {
    var next: MonotonicTime?
    for origin in origins.values {
      if let time = origin.nextTick(interval: Self.tickInterval) { next = min(next ?? time, time) }
    }
    for origin in removed {
      if let time = origin.nextTick(interval: Self.tickInterval) { next = min(next ?? time, time) }
    }
    guard let next else { return }
    if let timer = tickTimer {
      guard next < timer.time else { return }
      loop.cancel(timer.id)
    }
    tickTimer = (loop.schedule(at: next) { [unowned self] in tick() }, next)
  }

  private func tick() {
    tickTimer = nil
    for origin in origins.values { origin.tick() }
    for origin in removed { origin.tick() }
    removed.removeAll { $0.isDone }
  }
}

// MARK: - Closing

extension ClientEngine {
  private static let unknownOrigin = HTTP2Failure(
    .closing, endpoint: "", reason: "the origin is not part of the client")

  private func close(_ grace: Duration) {
    // A second close may shorten the first.
    isClosing = true
    for origin in origins.values { origin.close(grace: grace) }
    for origin in removed { origin.close(grace: grace) }
  }

  private func finishIfDone() {
    if origins.values.allSatisfy({ $0.isDone }), removed.allSatisfy({ $0.isDone }) { finish() }
  }

  private func finish() {
    for message in mailbox.close() {
      switch message {
      case .batch(let batch): refuse(batch)
      case .connect(_, let tell): tell(Self.unknownOrigin)
      case .snapshot(let tell): tell([])
      case .addOrigin, .removeOrigin, .replaceConnections, .withdraw, .load, .close: continue
      }
    }
    deliver()
    loop.stop()
  }

  private func refuse(_ batch: HTTP2RequestBatch) {
    for response in batch.allUnsent(Self.unknownOrigin) { sink.append(response) }
  }
}
