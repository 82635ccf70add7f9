import EventLoop

/// Takes connections of the control interface. Confined to the loop, which keeps it.
final class ControlListener: EventHandler {
  private let loop: EventLoop
  private let socket: Socket
  private let actions: ControlActions

  init(loop: EventLoop, socket: Socket, actions: ControlActions) {
    self.loop = loop
    self.socket = socket
    self.actions = actions
  }

  func start() throws(SocketError) { _ = try loop.register(socket.descriptor, handler: self) }

  func ready(_ readiness: Readiness) {
    while true {
      do {
        guard let accepted = try socket.accept() else { return }
        try ControlConnection(loop: loop, socket: accepted, actions: actions).start()
      } catch {
        // Descriptors are out; the edge is gone, so waiting connections are asked for again a little later.
        loop.schedule(after: .milliseconds(100)) { [weak self] in self?.ready(.readable) }
        return
      }
    }
  }
}

/// One connection of the control interface: one request, one answer. Confined to the loop, which keeps it until it closes.
private final class ControlConnection: EventHandler {
  private static let timeout = Duration.seconds(10)

  private let loop: EventLoop
  private let socket: Socket
  private let actions: ControlActions
  private var registration: RegistrationID?
  private var input: [UInt8] = []
  private var output: ArraySlice<UInt8>?

  init(loop: EventLoop, socket: Socket, actions: ControlActions) {
    self.loop = loop
    self.socket = socket
    self.actions = actions
  }

  func start() throws(SocketError) {
    registration = try loop.register(socket.descriptor, handler: self)
    loop.schedule(after: Self.timeout) { [weak self] in self?.close() }
  }

  func ready(_ readiness: Readiness) {
    if output == nil { read() }
    if output != nil { write() }
  }

  private func read() {
    while output == nil {
      var count = 0
      var isOver = false
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: 16384) { buffer, initialized in
        switch unsafe socket.read(into: UnsafeMutableRawBufferPointer(buffer)) {
        case .bytes(let more): count = more
        case .wouldBlock: break
        case .closed, .failed: isOver = true
        }
        initialized = count
      }
      if isOver { return close() }
      guard count > 0 else { return }
      input += piece
      switch ControlRequest.parse(input) {
      case .incomplete: continue
      case .complete(let request): output = actions.answer(request).bytes(to: input)[...]
      case .refused(let status, let message): output = ControlActions.refusal(status, message).bytes(to: input)[...]
      }
    }
  }

  private func write() {
    while let rest = output, !rest.isEmpty {
      switch unsafe rest.withUnsafeBytes({ unsafe socket.write($0) }) {
      case .bytes(let count): output = rest.dropFirst(count)
      case .wouldBlock: return
      case .closed, .failed: return close()
      }
    }
    close()
  }

  private func close() {
    guard let registration else { return }
    loop.remove(registration, descriptor: socket.descriptor)
    self.registration = nil
    socket.close()
  }
}
