import CLinux
import Composition
import Operations
import PushCore

/// Notifications to one device each, from many producers at once.
enum SingleBench {
  static let command = Command(
    "single", "Enqueues one-device notifications from many producers and prints how fast they were taken and sent.",
    options: [
      .store, .value("interests", "PREFIX", "producer N pushes to the interest PREFIX-N"),
      .value("producers", "N", "how many at once"), .value("count", "N", "how many notifications"),
    ]
  ) { invocation, console in
    guard let prefix = invocation.value("interests"),
      let producers = try invocation.integer("producers", in: 1...10_000),
      let count = try invocation.integer("count", in: 1...100_000_000)
    else { throw invocation.usageError("--interests, --producers and --count are needed") }
    let context = try CommandContext(invocation, console, usesKeys: false)
    let clocks = context.clocks
    let topic = try context.configuration.onlyApp.topic
    return try await context.withStore(creates: false) { store in
      let start = clocks.monotonicTime()
      let last = try await withThrowingTaskGroup(of: NotificationID?.self) { group in
        for producer in 0..<producers {
          group.addTask {
            var last: NotificationID?
            for _ in 0..<count / producers {
              let push = Publication.push(to: "\(prefix)-\(producer)", topic: topic, lane: .urgent)
              if case .stored(let id, _) = try await store.publish(push) { last = id }
            }
            return last
          }
        }
        return try await group.reduce(into: [NotificationID]()) { ids, id in if let id { ids.append(id) } }
      }
      let taken = milliseconds(clocks.monotonicTime().since(start))
      for id in last {
        while try await store.status(id)?.doneAt == nil {
          await clocks.sleep(until: clocks.monotonicTime() + .milliseconds(10))
        }
      }
      let done = milliseconds(clocks.monotonicTime().since(start))
      var usage = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      let cpu =
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
      console.print { object in
        object.member("notifications", count / producers * producers)
        for (name, value) in [("taken_ms", taken), ("done_ms", done), ("producer_cpu_seconds", cpu)] {
          object.name(name)
          object.raw("\(value)".utf8)
        }
      }
      return .success
    }
  }
}
