import Dispatch
import EventLoop
import OpenSSL
import Operations

/// A server that speaks frames as a test tells it, knows nothing of nghttp2 and breaks any rule on demand.
final class RawPeer: Sendable {
  /// What happens on a connection.
  enum Event {
    /// TLS is established and the client's preface has come.
    case connected
    /// A request is complete.
    case request(stream: UInt32)
    /// Any other frame.
    case frame(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])
    /// The client closed.
    case closed
  }

  typealias Script = @Sendable (Event, PeerConnection) -> Void

  /// What a peer does with connections.
  enum Manners {
    /// TLS and frames.
    case frames
    /// Accepts, and never says a word.
    case silent
    /// Answers anything with an HTTP/1.1 error in clear.
    case plainHTTP
    /// Closes what it accepted.
    case closing
    /// TLS and frames, but says nothing for so long first.
    case slow(Duration)
    /// Another one for each connection, by its number.
    case by(@Sendable (Int) -> Manners)
  }

  let port: UInt16
  private let thread: LoopThread
  private let counts: Lock<Int>

  /// Connections accepted so far.
  var connections: Int { counts.withLock { $0 } }

  init(tls: TLSContext? = nil, manners: Manners = .frames, script: @escaping Script = { _, _ in }) throws {
    let tls = try tls ?? Fixture.server()
    let counts = Lock(0)
    self.counts = counts
    let address = Lock<Result<UInt16, any Error>?>(nil)
    let listening = DispatchSemaphore(value: 0)
    thread = try LoopThread(name: "raw-peer") { loop in
      let port = Result {
        let socket = try Socket.listen(host: "127.0.0.1", port: 0)
        let listener = PeerListener(
          loop: loop, socket: socket, tls: tls, manners: manners, counts: counts, script: script)
        _ = try loop.register(socket.descriptor, handler: listener)
        return socket.localAddress?.port ?? 0
      }
      address.withLock { $0 = port }
      listening.signal()
    }
    listening.wait()
    port = try address.withLock { $0 }?.get() ?? 0
  }

  /// Runs `body` on the peer's thread.
  func run(_ body: @escaping @Sendable () -> Void) { thread.execute { _ in body() } }

  func stop() {
    thread.stop()
    thread.join()
  }
}

private final class PeerListener: EventHandler {
  let loop: EventLoop
  let socket: Socket
  let tls: TLSContext
  let manners: RawPeer.Manners
  let counts: Lock<Int>
  let script: RawPeer.Script

  init(
    loop: EventLoop, socket: Socket, tls: TLSContext, manners: RawPeer.Manners, counts: Lock<Int>,
    script: @escaping RawPeer.Script
  ) {
    self.loop = loop
    self.socket = socket
    self.tls = tls
    self.manners = manners
    self.counts = counts
    self.script = script
  }

  func ready(_ readiness: Readiness) {
    while let accepted = try? socket.accept() {
      let number = counts.withLock { count in
        count += 1
        return count
      }
      serve(accepted, number, manners)
    }
  }

  private func serve(_ accepted: Socket, _ number: Int, _ manners: RawPeer.Manners) {
    switch manners {
    case .frames:
      guard let stream = try? TLSStream(server: tls, socket: accepted, peer: "client") else { return }
      PeerConnection(number: number, loop: loop, stream: stream, script: script).begin()
    case .silent:
      _ = try? loop.register(accepted.descriptor, handler: ClearConnection(socket: accepted, answers: false))
    case .plainHTTP:
      _ = try? loop.register(accepted.descriptor, handler: ClearConnection(socket: accepted, answers: true))
    case .closing: accepted.close()
    case .slow(let delay): loop.schedule(after: delay) { self.serve(accepted, number, .frames) }
    case .by(let choose): serve(accepted, number, choose(number))
    }
  }
}

private final class ClearConnection: EventHandler {
  let socket: Socket
  let answers: Bool

  init(socket: Socket, answers: Bool) {
    self.socket = socket
    self.answers = answers
  }

  func ready(_ readiness: Readiness) {
    guard answers, readiness.contains(.readable) else { return }
    let text = Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
    text.withUnsafeBytes { _ = socket.write($0) }
  }
}

/// One client of a ``RawPeer``; confined to the peer's thread.
final class PeerConnection: EventHandler {
  let number: Int
  private let loop: EventLoop
  private let stream: TLSStream
  private let script: RawPeer.Script
  private var registration: RegistrationID?
  private var established = false
  private var prefaceSeen = false
  private var settingsSent = false
  private var isPaused = false
  private var settingsOwed = false
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private(set) var isClosed = false
  /// Streams whose requests have begun and have neither been answered nor reset.
  private(set) var open: Set<UInt32> = []
  /// The most streams ever open at a time.
  private(set) var mostOpen = 0
  /// Requests that are complete.
  private(set) var requests = 0

  init(number: Int, loop: EventLoop, stream: TLSStream, script: @escaping RawPeer.Script) {
    self.number = number
    self.loop = loop
    self.stream = stream
    self.script = script
  }

  func begin() {
    registration = try? loop.register(stream.socket.descriptor, handler: self)
    ready([.readable, .writable])
  }

  func ready(_ readiness: Readiness) {
    guard !isClosed else { return }
    if !established {
      switch stream.handshake() {
      case .bytes: established = true
      case .wantRead, .wantWrite: return
      case .closed, .failed: return close()
      }
    }
    flush()
    read()
  }

  /// Reads nothing more from the socket until ``resume()``.
  func pause() { isPaused = true }

  /// Reads again.
  func resume() {
    isPaused = false
    read()
  }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while !isClosed, !isPaused {
      switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
      case .bytes(let count):
        input += buffer[..<count]
        parse()
      case .wantRead, .wantWrite: return
      case .closed, .failed:
        script(.closed, self)
        close()
      }
    }
  }

  private func parse() {
    if !prefaceSeen {
      guard input.count >= 24 else { return }
      prefaceSeen = true
      input.removeFirst(24)
      script(.connected, self)
    }
    var start = 0
    while !isClosed, input.count - start >= 9 {
      let length = Int(input[start]) << 16 | Int(input[start + 1]) << 8 | Int(input[start + 2])
      guard input.count - start >= 9 + length else { break }
      let type = input[start + 3]
      let flags = input[start + 4]
      let stream = input[(start + 5)..<(start + 9)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
      let payload = Array(input[(start + 9)..<(start + 9 + length)])
      start += 9 + length
      frame(type, flags, stream, payload)
    }
    input.removeFirst(start)
  }

  private func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
    if type == 1 {
      open.insert(stream)
      mostOpen = max(mostOpen, open.count)
    }
    if type == 3 { open.remove(stream) }
    if type <= 1, flags & 1 != 0 {
      requests += 1
      script(.request(stream: stream), self)
    } else {
      if type == 4, flags & 1 == 0 { acknowledge() }
      script(.frame(type: type, flags: flags, stream: stream, payload: payload), self)
    }
  }

  private func flush() {
    while !isClosed, established, !output.isEmpty {
      guard case .bytes(let count) = output.withUnsafeBytes({ stream.write($0) }) else { return }
      output.removeFirst(count)
    }
  }

  /// Closes with FIN.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    if let registration { loop.remove(registration, descriptor: stream.socket.descriptor) }
    stream.close()
  }

  /// Closes with FIN and without TLS's farewell.
  func cut() {
    guard !isClosed else { return }
    isClosed = true
    if let registration { loop.remove(registration, descriptor: stream.socket.descriptor) }
    stream.socket.close()
  }

  /// Runs `body` on the peer's thread after a delay.
  func after(_ delay: Duration, _ body: @escaping () -> Void) { loop.schedule(after: delay, body) }

  /// Closes with RST.
  func abort() {
    stream.socket.setAbortiveClose()
    close()
  }
}

// MARK: - Frames

extension PeerConnection {
  func send(type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) {
    let length = UInt32(payload.count)
    output += [UInt8(length >> 16 & 0xff), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, flags]
    output += Self.bytes(stream) + payload
    flush()
  }

  /// Bytes that need not be frames.
  func raw(_ bytes: [UInt8]) {
    output += bytes
    flush()
  }

  /// WINDOW_UPDATE; stream 0 is the connection.
  func windowUpdate(_ stream: UInt32, _ increment: UInt32) { send(type: 8, stream: stream, Self.bytes(increment)) }

  /// SETTINGS; 3 is MAX_CONCURRENT_STREAMS, 6 MAX_HEADER_LIST_SIZE.
  func settings(_ values: [UInt16: UInt32] = [:]) {
    send(
      type: 4, stream: 0,
      values.flatMap { [UInt8($0.key >> 8), UInt8($0.key & 0xff)] + Self.bytes($0.value) })
    settingsSent = true
    if settingsOwed { acknowledge() }
  }

  /// Acknowledges the client's SETTINGS, but never before our own, which must be the first frame.
  private func acknowledge() {
    settingsOwed = !settingsSent
    if settingsSent { send(type: 4, flags: 1, stream: 0) }
  }

  /// A whole answer.
  func answer(_ stream: UInt32, _ status: String = "200", fields: [(String, String)] = [], body: String = "") {
    open.remove(stream)
    // Literals without indexing and Huffman: :status by its static index 8, other names in full.
    var block: [UInt8] = [0x08, 3] + Array(status.utf8)
    for (name, value) in fields {
      block += [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }
    send(type: 1, flags: body.isEmpty ? 5 : 4, stream: stream, block)
    if !body.isEmpty { send(type: 0, flags: 1, stream: stream, Array(body.utf8)) }
  }

  func reset(_ stream: UInt32, _ code: UInt32) {
    open.remove(stream)
    send(type: 3, stream: stream, Self.bytes(code))
  }

  func goAway(last: UInt32, code: UInt32 = 0, text: String = "") {
    send(type: 7, stream: 0, Self.bytes(last) + Self.bytes(code) + Array(text.utf8))
  }

  private static func bytes(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 0xff), UInt8(value >> 8 & 0xff), UInt8(value & 0xff)]
  }
}
