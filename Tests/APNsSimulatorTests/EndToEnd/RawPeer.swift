import Support

/// A client whose frames a test writes byte by byte, through `openssl s_client`.
struct RawPeer {
  private let program: RunningProgram

  init(_ simulator: SimulatorProcess) throws {
    try self.init(port: simulator.ports[0], authorityFile: simulator.authorityFile)
  }

  init(port: Int, authorityFile: String, _ options: [String] = []) throws {
    program = try BuiltProgram(path: "/usr/bin/openssl").start(
      [
        "s_client", "-quiet", "-connect", "127.0.0.1:\(port)", "-alpn", "h2", "-CAfile", authorityFile,
        "-verify_return_error",
      ] + options)
  }

  func send(_ bytes: [UInt8]) { program.write(bytes) }

  func close() { program.closeInput() }

  /// The frames that have come, once they fulfill a condition.
  func frames(where condition: @escaping ([RawFrame]) -> Bool) async throws -> [RawFrame] {
    try await eventually("the frames come") { condition(RawFrame.all(in: program.outputBytes)) }
    return RawFrame.all(in: program.outputBytes)
  }

  /// All frames, once the server has closed the connection.
  func framesToEnd() async throws -> [RawFrame] {
    _ = try await program.result()
    return RawFrame.all(in: program.outputBytes)
  }

  /// Sends PING; whether it has been answered, and with it everything sent before has been read.
  func pingIsAnswered() async throws -> Bool {
    send(RawFrames.frame(type: 6, flags: 0, stream: 0, [UInt8](repeating: 7, count: 8)))
    return RawFrame.all(in: program.outputBytes).contains { $0.type == 6 && $0.flags == 1 }
  }
}

/// One HTTP/2 frame.
struct RawFrame {
  var type: UInt8
  var flags: UInt8
  var stream: Int
  var payload: [UInt8]

  /// The whole frames at the beginning of some bytes.
  static func all(in bytes: [UInt8]) -> [RawFrame] {
    var frames: [RawFrame] = []
    var rest = bytes[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard rest.count >= 9 + count else { break }
      let stream = Int(head[5] & 0x7F) << 24 | Int(head[6]) << 16 | Int(head[7]) << 8 | Int(head[8])
      frames.append(
        RawFrame(type: head[3], flags: head[4], stream: stream, payload: Array(rest.dropFirst(9).prefix(count))))
      rest = rest.dropFirst(9 + count)
    }
    return frames
  }
}

/// Frames that a client sends, as bytes.
enum RawFrames {
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  static let settings = frame(type: 4, flags: 0, stream: 0, [])
  static let settingsAcknowledged = frame(type: 4, flags: 1, stream: 0, [])

  static func frame(type: UInt8, flags: UInt8, stream: Int, _ payload: [UInt8]) -> [UInt8] {
    let count = payload.count
    let head = [count >> 16, count >> 8, count, Int(type), Int(flags), stream >> 24, stream >> 16, stream >> 8, stream]
    return head.map { UInt8(truncatingIfNeeded: $0) } + payload
  }

  /// HEADERS of a POST, without END_STREAM.
  static func request(stream: Int, _ fields: [String: String] = [:], endsStream: Bool = false) -> [UInt8] {
    let all =
      [(":method", "POST"), (":scheme", "https"), (":path", "/3/device/0a0b"), (":authority", "localhost")]
      + fields.map { ($0.key, $0.value) }
    var block: [UInt8] = []
    for (name, value) in all { block += [0] + string(name) + string(value) }
    return frame(type: 1, flags: endsStream ? 5 : 4, stream: stream, block)
  }

  /// DATA that ends its stream.
  static func data(stream: Int, _ text: String) -> [UInt8] {
    frame(type: 0, flags: 1, stream: stream, Array(text.utf8))
  }

  /// The parameters of a SETTINGS frame.
  static func settings(in payload: [UInt8]) -> [Int: Int] {
    var settings: [Int: Int] = [:]
    for start in stride(from: 0, to: payload.count, by: 6) {
      let bytes = payload[start..<start + 6].map { Int($0) }
      settings[bytes[0] << 8 | bytes[1]] = bytes[2] << 24 | bytes[3] << 16 | bytes[4] << 8 | bytes[5]
    }
    return settings
  }

  /// A string literal of HPACK without Huffman coding (RFC 7541 section 5.2).
  static func string(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
    var length: [UInt8] = [127]
    var rest = bytes.count - 127
    while rest >= 128 {
      length.append(UInt8(rest % 128 + 128))
      rest /= 128
    }
    return length + [UInt8(rest)] + bytes
  }
}

/// `openssl s_client` for a look at the handshake.
struct OpenSSLClient {
  private let port: Int
  private let authorityFile: String

  init(_ simulator: SimulatorProcess) {
    port = simulator.ports[0]
    authorityFile = simulator.authorityFile
  }

  init(port: Int, authorityFile: String) {
    self.port = port
    self.authorityFile = authorityFile
  }

  func connect(_ options: [String]) async throws -> ProgramResult {
    try await BuiltProgram(path: "/usr/bin/openssl").run(
      ["s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", authorityFile] + options)
  }
}
