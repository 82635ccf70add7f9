@testable import HTTP2

extension FuzzTarget {
  /// What a server sends, from its first SETTINGS on. The first byte says into which pieces it is cut and what the client
  /// does meanwhile.
  static let clientSession = FuzzTarget(name: "http2-client") { bytes in
    let mode = bytes.first ?? 0
    let sink = ResponseSink()
    let input = InputBuffer()
    let limits = ClientSessionLimits(maximumStreams: 4, maximumBodyBytes: 64, firstStreamID: 1)
    let watched = WatchedFields([
      HTTP2WatchedField("apns-id", always: true), HTTP2WatchedField("retry-after", always: false),
    ])
    guard
      let session = ClientSession(
        number: 1, endpoint: "peer", watched: watched, sink: sink, output: OutputBuffer(), limits: limits)
    else { throw Violation("no session") }
    var queue = RequestQueue()
    queue.append(try requests())

    for (index, piece) in pieces(bytes.dropFirst(), mode).enumerated() {
      session.now = UInt64(index) * 1_000_000
      open(&queue, on: session, sink)
      guard session.produce() else { break }
      if mode & 0x40 != 0, index % 4 == 3 { session.cancelExpired() }
      if mode & 0x80 != 0, index == 5 { session.terminate() }
      input.bytes.update(from: piece, count: piece.count)
      if session.receive(input, count: piece.count) != nil { break }
      if session.isOver { break }
    }

    let failure = HTTP2Failure(.connectionLost, endpoint: "peer", reason: "the end")
    session.abandon(failure)
    for request in session.refused + queue.popAll() {
      request.report(.unsent(failure), now: session.now, into: sink)
      request.end()
    }
    try checkEnds(sink.take())
  }

  private static let requestCount = 6

  private static func requests() throws -> HTTP2RequestBatch {
    let template = try HTTP2RequestTemplate(
      authority: "api.example", pathPrefix: "/3/device/", fields: [HTTP2Field("apns-topic", "com.example")],
      perRequestField: "apns-id", body: Array("{}".utf8))
    var batch = HTTP2RequestBatch(
      id: 7, origin: HTTP2OriginID(index: 1), template: template, responseTimeout: .milliseconds(20))
    for number in 0..<requestCount { batch.append(pathSuffix: [UInt8(0x61 + number)], value: [0x31]) }
    return batch
  }

  private static func open(_ queue: inout RequestQueue, on session: ClientSession, _ sink: ResponseSink) {
    for request in session.refused {
      if request.attempts < 3 {
        queue.putBack(request)
      } else {
        request.report(.unsent(session.failure(.connectionLost, "refused")), now: session.now, into: sink)
        request.end()
      }
    }
    session.refused = []
    while session.goAway == nil, session.openStreams < session.streamLimit, let request = queue.popFirst() {
      switch session.open(request) {
      case .opened: continue
      case .exhausted: return queue.putBack(request)
      case .invalid(let failure):
        request.report(.unsent(failure), now: session.now, into: sink)
        request.end()
      }
    }
  }

  private static func checkEnds(_ responses: [HTTP2Response]) throws {
    try require(
      responses.map(\.entry).sorted() == (0..<UInt32(requestCount)).map { $0 }, "a request ended never, or twice")
    for case .answered(let status, let body, let fields) in responses.map(\.outcome) {
      try require(status >= 200 && status <= 999, "an answer with status \(status)")
      try require(body.count <= 64, "more of a body is kept than allowed")
      try require(fields.allSatisfy { ["apns-id", "retry-after"].contains($0.name) }, "another field is kept")
    }
  }

  /// What a client sends, from its preface on; each whole request is answered, reset or passed over in turn.
  static let serverSession = FuzzTarget(name: "http2-server") { bytes in
    let mode = bytes.first ?? 0
    let configuration = ServerConfiguration(
      settings: [.maxConcurrentStreams(3)], headerListLimitBytes: 512, bodyLimitBytes: 32)
    let input = ServerInput()
    let output = ServerOutput()
    guard
      let session = NGHTTP2ServerSession(
        connection: 1, listener: 0, configuration: configuration, greeting: ServerGreeting())
    else {
      throw Violation("no session")
    }
    var seen: Set<Int32> = []
    for (index, piece) in pieces(bytes.dropFirst(), mode).enumerated() {
      let room = input.bytes(piece.count)
      _ = UnsafeMutableBufferPointer(mutating: room).update(fromContentsOf: piece)
      let isUsable = session.receive(input, byteCount: piece.count)
      try require(session.takeMostOpenStreams() <= 3, "more streams are open than allowed")
      for request in session.complete {
        try require(request.stream & 1 == 1 && seen.insert(request.stream).inserted, "a stream makes two requests")
        try checkRequest(request)
        request.reply.status = request.headerListByteCount > session.headerListLimit ? 431 : 200
        request.reply.addField("apns-id", "A")
        request.reply.body = request.body
        if mode & 0x40 != 0, request.stream % 5 == 0 { request.reply.outcome = .reset(errorCode: 2) }
        if mode & 0x80 != 0, request.stream % 7 == 0 { request.reply.outcome = .silence }
        session.submitOutcome(of: request)
      }
      session.complete = []
      session.violations = []
      if mode & 0x80 != 0, index == 6 {
        session.submitGoAway(lastStream: nil, errorCode: 0, debugData: piece, drains: true)
      }
      guard isUsable, session.fill(output), output.hasRoom, !session.isOver else { return }
    }
  }

  private static func checkRequest(_ request: ServerRequest) throws {
    try require(request.body.count <= 32 && request.body.count <= request.bodyByteCount, "too much of a body is kept")
    var isWellFormed = true
    request.forEachField { name, _ in
      if name.isEmpty { isWellFormed = false }
    }
    try require(isWellFormed, "a field without a name")
  }

  private static func pieces(_ bytes: ArraySlice<UInt8>, _ mode: UInt8) -> [[UInt8]] {
    let size = mode & 0x3F == 0 ? 8192 : Int(mode & 0x3F) * 3
    return stride(from: bytes.startIndex, to: bytes.endIndex, by: size).map {
      Array(bytes[$0..<min($0 + size, bytes.endIndex)])
    }
  }
}
