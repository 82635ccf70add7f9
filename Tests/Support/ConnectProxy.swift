import EventLoop
import Operations

/// An HTTP proxy on a free port that opens tunnels by CONNECT, or does one of the things that proxies do instead.
///
/// Names mean nothing to it: every tunnel leads to one port of this machine, so that a server here can be reached under any
/// name.
public final class ConnectProxy: Sendable {
  /// What it does with a request.
  public enum Manners: Sendable {
    /// Opens a tunnel to a port; asks for this `Proxy-Authorization` first, if any.
    case tunnel(UInt16, authorization: String? = nil)
    /// Opens a tunnel after an answer in these pieces, each sent by itself.
    case tunnelAfter([String], UInt16)
    /// Says this, and keeps the connection.
    case answer(String)
    /// Closes the connection.
    case close
    /// Never says a word.
    case silence
  }

  /// Where it listens, on 127.0.0.1.
  public let port: UInt16
  private let thread: LoopThread
  private let heads: Lock<[String]>

  /// The heads of the requests so far.
  public var requests: [String] { heads.withLock { $0 } }

  /// Starts a proxy.
  public init(_ manners: Manners) async throws {
    let thread = try LoopThread(name: "connect-proxy") { _ in }
    let heads = Lock<[String]>([])
    self.thread = thread
    self.heads = heads
    port = try await withCheckedThrowingContinuation { continuation in
      thread.execute { loop in
        continuation.resume(
          with: Result {
            let socket = try Socket.listen(host: "127.0.0.1", port: 0)
            let listener = Listener(loop: loop, socket: socket, manners: manners, heads: heads)
            _ = try loop.register(socket.descriptor, handler: listener)
            return socket.localAddress?.port ?? 0
          })
      }
    }
  }

  deinit { thread.stop() }

  private final class Listener: EventHandler {
    let loop: EventLoop
    let socket: Socket
    let manners: Manners
    let heads: Lock<[String]>

    init(loop: EventLoop, socket: Socket, manners: Manners, heads: Lock<[String]>) {
      self.loop = loop
      self.socket = socket
      self.manners = manners
      self.heads = heads
    }

    func ready(_ readiness: Readiness) {
      while let accepted = try? socket.accept() {
        let client = End(loop, accepted)
        client.onBytes = { [manners, heads] client in Self.serve(client, manners, heads) }
        client.begin()
      }
    }

    private static func serve(_ client: End, _ manners: Manners, _ heads: Lock<[String]>) {
      let text = String(decoding: client.received, as: UTF8.self)
      guard text.hasSuffix("\r\n\r\n") else { return }
      client.received = []
      heads.withLock { $0.append(text) }
      switch manners {
      case .tunnel(let port, let authorization):
        guard authorization.map({ text.contains("\r\nProxy-Authorization: \($0)\r\n") }) ?? true else {
          return client.send(
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n")
        }
        client.send("HTTP/1.1 200 Connection established\r\n\r\n")
        tunnel(client, port)
      case .tunnelAfter(let pieces, let port):
        tunnel(client, port)
        client.send(pieces[...])
      case .answer(let answer): client.send(answer)
      case .close: client.close()
      case .silence: return
      }
    }

    private static func tunnel(_ client: End, _ port: UInt16) {
      guard case .success(let addresses) = NameResolution.lookUp(host: "127.0.0.1", port: port),
        let address = addresses.first, let socket = try? Socket.connect(to: address)
      else { return client.close() }
      let server = End(client.loop, socket)
      client.other = server
      server.other = client
      client.onBytes = { $0.forward() }
      server.onBytes = { $0.forward() }
      server.begin()
    }
  }

  /// One end of a tunnel.
  private final class End: EventHandler {
    let loop: EventLoop
    let socket: Socket
    var received: [UInt8] = []
    var onBytes: (End) -> Void = { _ in }
    var other: End?
    private var output: [UInt8] = []
    private var registration: RegistrationID?

    init(_ loop: EventLoop, _ socket: Socket) {
      self.loop = loop
      self.socket = socket
    }

    func begin() { registration = try? loop.register(socket.descriptor, handler: self) }

    func ready(_ readiness: Readiness) {
      flush()
      while registration != nil {
        let (io, bytes) = socket.receive(atMost: 65_536)
        switch io {
        case .bytes:
          received += bytes
          onBytes(self)
        case .wouldBlock: return
        case .closed, .failed: close()
        }
      }
    }

    func forward() {
      other?.send(received)
      received = []
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
      output += bytes
      flush()
    }

    /// Sends pieces a moment apart, so that each arrives by itself.
    func send(_ pieces: ArraySlice<String>) {
      guard let piece = pieces.first else { return }
      send(piece)
      loop.schedule(after: .milliseconds(1)) { [self] in send(pieces.dropFirst()) }
    }

    private func flush() {
      while registration != nil, !output.isEmpty {
        guard case .bytes(let count) = socket.write(output[...]) else { return }
        output.removeFirst(count)
      }
    }

    func close() {
      guard let registration else { return }
      loop.remove(registration, descriptor: socket.descriptor)
      self.registration = nil
      socket.close()
      other?.close()
      other = nil
    }
  }
}
