/// What is counted by a word that others choose: the closed list, each with the name of Prometheus and its meaning.
public enum WordedMetric: Int, Sendable, CaseIterable {
  /// Answers of APNs other than 200, by reason.
  case refusals

  /// The name as in Prometheus.
  public var name: String { "pushrelay_apns_refusals_total" }

  /// The label whose value is the word.
  public var label: String { "reason" }

  /// What it counts, in one sentence.
  public var help: String { "Answers of APNs other than 200, by reason; also those that are tried again." }
}

/// Counts by word. Whoever invents words cannot fill the memory: beyond a hundred all are one.
struct WordCounts: Sendable {
  private static let limit = 100
  private static let others = "other"

  private(set) var counts: [String: Int64] = [:]

  mutating func add(_ amount: Int64, _ word: String) {
    let isRoom = counts[word] != nil || counts.count < Self.limit
    counts[isRoom ? word : Self.others, default: 0] += amount
  }
}
