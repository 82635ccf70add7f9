/// The state of a task, as the column `state` holds it. The statements name the numbers, because an index serves a query only when its
/// condition stands in the text.
enum TaskState: Int64 {
  /// Waits for its time and a worker.
  case ready = 0
  /// A worker has it.
  case leased = 1
  /// Claimed five times without progress: an operator decides.
  case parked = 2
  /// Waits for its credential.
  case held = 3
}
