import Operations

/// Opens one TCP connection to a host: looks the name up, then tries its addresses, the next one a quarter of a second
/// after the last or as soon as that failed, and keeps the first that answers (RFC 8305 in short).
///
/// Confined to the loop's thread. It reports exactly once, unless it is canceled first.
public final class Connector {
  /// The time after which the next address is tried beside the former (RFC 8305 section 5).
  private static let stagger: Duration = .milliseconds(250)

  private let loop: EventLoop
  private let host: String
  private let port: UInt16
  private var report: ((Result<Socket, SocketError>) -> Void)?
  private var mailbox: Mailbox<Result<[SocketAddress], SocketError>>?
  private var mailboxRegistration: RegistrationID?
  private var waiting: ArraySlice<SocketAddress> = []
  private var attempts: [ConnectionAttempt] = []
  private var lastFailure: SocketError?
  private var deadlineTimer: TimerID?
  private var staggerTimer: TimerID?

  /// Begins at once; `report` is called on the loop, never from within this initializer.
  ///
  /// - Parameters:
  ///   - deadline: when to give up, with ``SocketError/Operation/connectInTime``, unless a real failure is known.
  ///   - resolve: looks the name up; called once.
  public init(
    loop: EventLoop, host: String, port: UInt16, deadline: MonotonicTime,
    resolve: NameResolution.Resolver = NameResolution.resolve,
    report: @escaping (Result<Socket, SocketError>) -> Void
  ) {
    self.loop = loop
    self.host = host
    self.port = port
    self.report = report
    deadlineTimer = loop.schedule(at: deadline) { [weak self] in self?.runOutOfTime() }
    do {
      let mailbox = try Mailbox<Result<[SocketAddress], SocketError>>()
      mailboxRegistration = try loop.attach(mailbox) { [weak self] results in
        if let result = results.first { self?.resolved(result) }
      }
      self.mailbox = mailbox
      resolve(host, port) { mailbox.send($0) }
    } catch {
      // Reported in a later turn, as promised.
      staggerTimer = loop.schedule(after: .zero) { [weak self] in self?.finish(.failure(error)) }
    }
  }

  /// Gives up silently and closes what is open. Does nothing after the report.
  public func cancel() {
    report = nil
    release()
  }

  private func resolved(_ result: Result<[SocketAddress], SocketError>) {
    switch result {
    case .failure(let error): finish(.failure(error))
    case .success(let addresses):
      waiting = addresses[...]
      tryNext()
    }
  }

  private func tryNext() {
    if let timer = staggerTimer { loop.cancel(timer) }
    staggerTimer = nil
    guard report != nil else { return }
    guard let address = waiting.popFirst() else {
      if attempts.isEmpty, let lastFailure { finish(.failure(lastFailure)) }
      return
    }
    do {
      let attempt = ConnectionAttempt(socket: try Socket.connect(to: address), owner: self)
      attempt.registration = try loop.register(attempt.socket.descriptor, handler: attempt)
      attempts.append(attempt)
      if !waiting.isEmpty { staggerTimer = loop.schedule(after: Self.stagger) { [weak self] in self?.tryNext() } }
    } catch {
      lastFailure = named(error)
      tryNext()
    }
  }

  fileprivate func ended(_ attempt: ConnectionAttempt) {
    attempts.removeAll { $0 === attempt }
    if let registration = attempt.registration { loop.remove(registration, descriptor: attempt.socket.descriptor) }
    if let error = attempt.socket.takeError(.connect) {
      lastFailure = named(error)
      tryNext()
    } else {
      finish(.success(attempt.socket))
    }
  }

  private func runOutOfTime() {
    deadlineTimer = nil
    let doing = waiting.isEmpty && attempts.isEmpty ? "the name look-up did not end" : "no answer"
    let silent = SocketError(
      .connectInTime, "\(host):\(port)", code: 0, reason: doing,
      remedy: "check the address and whether a firewall drops the port")
    finish(.failure(attempts.isEmpty ? lastFailure ?? silent : silent))
  }

  private func named(_ error: SocketError) -> SocketError {
    let subject = error.subject.hasPrefix(host) ? error.subject : "\(host):\(port) (\(error.subject))"
    return SocketError(error.operation, subject, code: error.code, reason: error.reason, remedy: error.remedy)
  }

  private func finish(_ result: Result<Socket, SocketError>) {
    guard let report else { return }
    self.report = nil
    release()
    report(result)
  }

  private func release() {
    for timer in [deadlineTimer, staggerTimer] { if let timer { loop.cancel(timer) } }
    for attempt in attempts {
      if let registration = attempt.registration { loop.remove(registration, descriptor: attempt.socket.descriptor) }
      attempt.socket.close()
    }
    attempts.removeAll()
    if let mailbox, let mailboxRegistration { loop.detach(mailbox, mailboxRegistration) }
    mailbox = nil
  }
}

private final class ConnectionAttempt: EventHandler {
  let socket: Socket
  var registration: RegistrationID?
  private unowned let owner: Connector

  init(socket: Socket, owner: Connector) {
    self.socket = socket
    self.owner = owner
  }

  func ready(_ readiness: Readiness) {
    if !readiness.isDisjoint(with: [.writable, .hangUp]) { owner.ended(self) }
  }
}
