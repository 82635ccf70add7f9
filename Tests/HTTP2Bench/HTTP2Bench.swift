import CLinux
import Glibc
import HTTP2
import OpenSSL
import Operations

/// Sends requests with distinct paths to one origin and prints the client's CPU per request and its rate.
///
///     http2-bench HOST PORT CA-FILE [REQUESTS [BATCHES-IN-FLIGHT [CONNECTIONS]]]
///
/// Compare with `h2load -c 1 -m 1000 -t 1 -d BODY -H …` against the same server, runs interleaved.
@main
struct HTTP2Bench {
  private static let batchSize = 1000

  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 4, let port = UInt16(arguments[2]) else {
      print("usage: http2-bench HOST PORT CA-FILE [REQUESTS [BATCHES-IN-FLIGHT [CONNECTIONS]]]")
      exit(64)
    }
    let requests = arguments.count > 4 ? Int(arguments[4]) ?? 200_000 : 200_000
    let inFlight = arguments.count > 5 ? Int(arguments[5]) ?? 2 : 2
    let connections = arguments.count > 6 ? Int(arguments[6]) ?? 1 : 1
    let run = try Run(host: arguments[1], port: port, authorities: arguments[3], connections: connections)
    if let failure = await run.client.connect(run.origin) {
      print(failure)
      exit(69)
    }
    let begin = usage()
    let start = SystemClocks().monotonicTime()
    run.send(requests, inFlight: inFlight)
    let counts = await run.finished()
    let wall = Double(SystemClocks().monotonicTime().since(start).wholeNanoseconds) / 1e9
    let end = usage()
    let user = (end.user - begin.user) * 1e6 / Double(requests)
    let system = (end.system - begin.system) * 1e6 / Double(requests)
    print(
      "cpu \(rounded(user + system)) us/request (user \(rounded(user)), system \(rounded(system)));",
      "\(Int(Double(requests) / wall)) requests/s; \(counts)")
    await run.client.close(grace: .seconds(5))
  }

  private static func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }

  private static func usage() -> (user: Double, system: Double) {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return (seconds(usage.ru_utime), seconds(usage.ru_stime))
  }
}

/// One measured run: keeps batches in flight until all have been sent.
private final class Run: Sendable {
  struct Counts: CustomStringConvertible {
    var ok = 0
    var otherStatus = 0
    var unsent = 0
    var unanswered = 0
    var lastFailure: HTTP2Failure?

    var ended: Int { ok + otherStatus + unsent + unanswered }
    var description: String {
      "200: \(ok), other status: \(otherStatus), unsent: \(unsent), unanswered: \(unanswered)"
        + (lastFailure.map { ", last failure: \($0)" } ?? "")
    }
  }

  struct State {
    var counts = Counts()
    var wanted = 0
    var submitted = 0
    var waiter: CheckedContinuation<Counts, Never>?
  }

  let client: HTTP2Client
  let origin: HTTP2OriginID
  let template: HTTP2RequestTemplate
  private let state: Lock<State>
  private let completions: Completions

  /// What the client calls; it exists before the run does.
  final class Completions: Sendable {
    let run = Lock<Run?>(nil)
  }

  init(host: String, port: UInt16, authorities: String, connections: Int) throws {
    let completions = Completions()
    self.completions = completions
    state = Lock(State())
    var configuration = HTTP2ClientConfiguration()
    configuration.watchedFields = [
      HTTP2WatchedField("apns-unique-id", always: true), HTTP2WatchedField("retry-after", always: false),
    ]
    client = try HTTP2Client(configuration: configuration) { responses in
      completions.run.withLock { $0 }?.receive(responses)
    }
    let tls = try TLSContext(client: TLSClientConfiguration(certificateAuthorityFile: authorities))
    origin = client.addOrigin(HTTP2Origin(host: host, port: port, tls: tls, maximumConnections: connections))
    template = try HTTP2RequestTemplate(
      authority: "\(host):\(port)", pathPrefix: "/3/device/",
      fields: [
        HTTP2Field(
          "authorization", "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiIs", count: 10), indexing: .automatic),
        HTTP2Field("apns-topic", "com.example.app"), HTTP2Field("apns-push-type", "alert"),
        HTTP2Field("apns-priority", "10"), HTTP2Field("apns-expiration", "1767225600"),
      ], perRequestField: "apns-id", body: Array(String(repeating: "x", count: 250).utf8))
    completions.run.withLock { $0 = self }
  }

  func send(_ count: Int, inFlight: Int) {
    state.withLock { $0.wanted = count }
    for _ in 0..<inFlight { submitNext() }
  }

  func finished() async -> Counts {
    await withCheckedContinuation { continuation in
      let done = state.withLock { state -> Counts? in
        if state.counts.ended == state.wanted { return state.counts }
        state.waiter = continuation
        return nil
      }
      if let done { continuation.resume(returning: done) }
    }
  }

  private func submitNext() {
    let (first, count) = state.withLock { state in
      let first = state.submitted
      let count = min(1000, state.wanted - first)
      state.submitted += count
      return (first, count)
    }
    guard count > 0 else { return }
    var batch = HTTP2RequestBatch(id: UInt64(first), origin: origin, template: template)
    batch.reserve(requests: count, bytesPerRequest: 100)
    var token = [UInt8](repeating: 0x30, count: 64)
    var id = Array("00000000-0000-4000-8000-000000000000".utf8)
    for number in first..<first + count {
      var value = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
      for index in 0..<64 {
        token[index] = Self.digits[Int(value & 15)]
        value = value >> 4 | value << 60
        if index & 15 == 15 { value = value &* 0xbf58_476d_1ce4_e5b9 }
      }
      for index in 0..<8 { id[index] = token[index] }
      for index in 24..<36 { id[index] = token[index] }
      batch.append(pathSuffix: token.span, value: id.span)
    }
    client.submit(batch)
  }

  private static let digits = Array("0123456789abcdef".utf8)

  private func receive(_ responses: [HTTP2Response]) {
    var counts = Counts()
    for response in responses {
      switch response.outcome {
      case .answered(let status, _, _): if status == 200 { counts.ok += 1 } else { counts.otherStatus += 1 }
      case .unsent(let failure):
        counts.unsent += 1
        counts.lastFailure = failure
      case .unanswered(let failure):
        counts.unanswered += 1
        counts.lastFailure = failure
      }
    }
    let (batches, waiter, total) = state.withLock { state in
      let before = state.counts.ended / 1000
      state.counts.ok += counts.ok
      state.counts.otherStatus += counts.otherStatus
      state.counts.unsent += counts.unsent
      state.counts.unanswered += counts.unanswered
      state.counts.lastFailure = counts.lastFailure ?? state.counts.lastFailure
      let done = state.counts.ended == state.wanted
      defer { if done { state.waiter = nil } }
      return (state.counts.ended / 1000 - before, done ? state.waiter : nil, state.counts)
    }
    for _ in 0..<batches { submitNext() }
    waiter?.resume(returning: total)
  }
}
