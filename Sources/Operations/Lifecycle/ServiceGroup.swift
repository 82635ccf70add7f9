/// Long work of a program.
public protocol Service: Sendable {
  /// Works until ``stop()`` is called and what was begun is finished, or until the task is canceled: then it returns soon and
  /// leaves nothing undone that would be lost.
  func run() async throws
  /// Asks for the end: take nothing new, finish what is open. Returns at once; may be called more than once, before
  /// ``run()`` too.
  func stop()
}

/// A service that ended though nobody asked it to.
public struct ServiceError: Error, CustomStringConvertible {
  /// The service's name.
  public let service: String
  /// Why it ended; `nil` when it just returned.
  public let underlying: (any Error)?

  /// The service and its error.
  public var description: String {
    underlying.map { "the \(service) failed: \($0)" } ?? "the \(service) ended unexpectedly"
  }
}

extension ServiceError: ExitCodeProviding {
  /// The code of the error beneath; 75 when it has none.
  public var exitCode: ExitCode { (underlying as? any ExitCodeProviding)?.exitCode ?? .temporaryFailure }
}

/// Runs services together and ends them in order: the last one first, the next when that one is done.
///
/// List first what others stand on: store, transport, worker, listeners. After the grace period all that still run are
/// canceled together.
public struct ServiceGroup: Sendable {
  private struct Member {
    let name: String
    let service: any Service
  }

  private enum Event {
    case ended(Int, (any Error)?)
    case stopAsked
    case graceOver
  }

  private var members: [Member] = []
  private let grace: Duration
  private let clocks: any Clocks
  private let logger: Logger

  /// An empty group; `grace` is for all services together, from the first request to stop.
  public init(grace: Duration, clocks: any Clocks, logger: Logger) {
    self.grace = grace
    self.clocks = clocks
    self.logger = logger
  }

  /// Adds a service that may use all those added before.
  public mutating func add(_ name: String, _ service: any Service) {
    members.append(Member(name: name, service: service))
  }

  /// Runs all services until they have ended: after a stop event, or because one of them ended by itself.
  ///
  /// - Parameters:
  ///   - events: ``Signals/events()``, or a test's own.
  ///   - reload: what a reload event does.
  /// - Throws: ``ServiceError`` for the first service that ended without being asked.
  public func run(
    events: AsyncStream<Signals.Event>, reload: @escaping @Sendable () async -> Void = {}
  ) async throws {
    try await withThrowingTaskGroup(of: Event.self) { group in
      for (index, member) in members.enumerated() {
        group.addTask { await Self.run(member.service, index) }
      }
      group.addTask {
        for await event in events {
          switch event {
          case .stop: return .stopAsked
          case .reload: await reload()
          }
        }
        return .stopAsked
      }
      var order = StopOrder(count: members.count)
      var failure: ServiceError?
      while !order.isDone, let event = try await group.next() {
        let wasStopping = order.isStopping
        switch event {
        case .ended(let index, let error):
          if !wasStopping || error != nil, !(error is CancellationError), failure == nil {
            failure = ServiceError(service: members[index].name, underlying: error)
          }
          logger.info("service ended", ["service.name": .string(members[index].name)])
          stop(order.ended(index))
        case .stopAsked: stop(order.stop())
        case .graceOver:
          logger.warning("grace period over, canceling", ["service.count": .count(order.runningCount)])
          group.cancelAll()
        }
        if order.isStopping, !wasStopping {
          let deadline = clocks.monotonicTime() + grace
          group.addTask {
            await clocks.sleep(until: deadline)
            return .graceOver
          }
        }
      }
      group.cancelAll()
      if let failure { throw failure }
    }
  }

  private static func run(_ service: any Service, _ index: Int) async -> Event {
    do {
      try await service.run()
      return .ended(index, nil)
    } catch {
      return .ended(index, error)
    }
  }

  private func stop(_ index: Int?) {
    guard let index else { return }
    logger.info("stopping service", ["service.name": .string(members[index].name)])
    members[index].service.stop()
  }
}

/// Which service is asked to stop next.
struct StopOrder {
  private var running: [Bool]
  private(set) var isStopping = false

  init(count: Int) { running = Array(repeating: true, count: count) }

  var isDone: Bool { !running.contains(true) }
  var runningCount: Int { running.count { $0 } }

  /// A stop was asked for: the last running service is to stop; `nil` when stopping has begun already.
  mutating func stop() -> Int? {
    if isStopping { return nil }
    isStopping = true
    return running.lastIndex(of: true)
  }

  /// A service has ended. The next to stop is the last one running, unless it was asked before and still runs.
  mutating func ended(_ index: Int) -> Int? {
    let asked = running.lastIndex(of: true)
    running[index] = false
    if !isStopping { return stop() }
    return asked == index ? running.lastIndex(of: true) : nil
  }
}
