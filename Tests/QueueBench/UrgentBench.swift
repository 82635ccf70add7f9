import Composition
import JSON
import Operations
import PushCore

/// The time from the call that enqueues an urgent push until its request is at APNs, by the log of a simulator.
enum UrgentBench {
  static let command = Command(
    "urgent", "Enqueues urgent pushes one after another and prints the milliseconds until each is at the simulator.",
    options: [
      .store, .value("log", "FILE", "the simulator's log"), .value("interest", "NAME", "whom the pushes are for"),
      .value("count", "N", "how many"), .value("interval", "DURATION", "the time between two"),
    ]
  ) { invocation, console in
    guard let log = invocation.value("log"), let interest = invocation.value("interest"),
      let count = try invocation.integer("count", in: 1...100_000), let interval = try invocation.duration("interval")
    else { throw invocation.usageError("--log, --interest, --count and --interval are needed") }
    let context = try CommandContext(invocation, console, usesKeys: false)
    let clocks = context.clocks
    let topic = try context.configuration.onlyApp.topic
    return try await context.withStore(creates: false) { store in
      var starts: [String: UnixMilliseconds] = [:]
      var calls: [Double] = []
      for number in 0..<count {
        let id = apnsID(number)
        starts[id] = clocks.wallTime()
        let start = clocks.monotonicTime()
        _ = try await store.publish(.push(to: interest, topic: topic, lane: .urgent, apnsID: id))
        calls.append(milliseconds(clocks.monotonicTime().since(start)))
        await clocks.sleep(until: start + interval)
      }
      await clocks.sleep(until: clocks.monotonicTime() + .seconds(2))
      let arrivals = try arrivals(in: log)
      let times = starts.compactMap { id, start in arrivals[id].map { Double($0.value - start.value) } }
      console.print { object in
        object.member("enqueued", count)
        object.member("arrived", times.count)
        object.name("call_ms")
        Quantiles(calls).write(to: &object)
        object.name("wire_ms")
        Quantiles(times).write(to: &object)
      }
      return times.count == count ? .success : .rejected
    }
  }

  private static func apnsID(_ number: Int64) -> String {
    let digits = String(number)
    return "123e4567-e89b-12d3-a456-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  private static func arrivals(in log: String) throws -> [String: UnixMilliseconds] {
    var arrivals: [String: UnixMilliseconds] = [:]
    for line in try Files.read(log, limit: 1 << 30).split(separator: UInt8(ascii: "\n")) {
      let entry = try JSONValue(parsing: Array(line))
      if let id = entry["apns_id"]?.string, let time = entry["received_at"]?.string.flatMap({ try? RFC3339.parse($0) })
      {
        arrivals[id] = time
      }
    }
    return arrivals
  }
}

func milliseconds(_ duration: Duration) -> Double {
  Double(duration.components.seconds) * 1000 + Double(duration.components.attoseconds) / 1e15
}

/// Median, 99th percentile and maximum.
struct Quantiles {
  private let sorted: [Double]

  init(_ values: [Double]) { sorted = values.sorted() }

  func write(to writer: inout JSONWriter) {
    writer.object { writer in
      for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
        writer.name(name)
        let index = min(sorted.count - 1, Int(Double(sorted.count) * share))
        writer.raw((sorted.isEmpty ? "null" : "\((sorted[index] * 100).rounded() / 100)").utf8)
      }
    }
  }
}

extension Publication {
  /// A push of 256 bytes to the devices of an interest.
  static func push(to interest: String, topic: String, lane: Lane, apnsID: String? = nil) -> Publication {
    let payload = #"{"aps":{"alert":{"title":"Login approval","body":"\#(String(repeating: "x", count: 200))"}}}"#
    return Publication(
      topic: topic, target: Target(interests: [interest]), payload: Array(payload.utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate, apnsID: apnsID), lane: lane,
      deadline: .after(.seconds(300)))
  }
}
