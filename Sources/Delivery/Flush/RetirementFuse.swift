import Operations
import PushCore

/// Stops the retirement of devices when too many of a topic's are refused as "bad": then a setting of ours is wrong, not they.
///
/// Counts the answers of the last minutes for one credential. Where few have come, something must have been accepted: that proves
/// environment and topic. A value: time comes in.
public struct RetirementFuse: Sendable {
  /// The share of refusals above which nothing is retired.
  static let unusualShare = 0.2
  /// The same where fewer answers have come than make a share meaningful.
  static let unusualShareOfFew = 0.5
  /// Answers from which on the first share counts.
  static let fewestAnswers = 50
  /// Refusals from which on an operator is told.
  static let worthTelling = 10
  private static let period = Duration.seconds(300)

  private struct Sums {
    var answers = 0
    var refusals = 0
    var accepted = 0
  }

  private var periodStart = MonotonicTime(nanoseconds: 0)
  private var previous = Sums()
  private var current = Sums()
  private var isTold = false
  /// Whether devices may be retired for such a refusal.
  public private(set) var allowsRetirement = false

  /// A fuse that has seen nothing: it retires nothing until something was accepted.
  public init() {}

  /// Notes answers of APNs: how many, how many of them accepted, and how many called the token bad or of another topic.
  /// - Returns: whether it is news for an operator that nothing is retired.
  public mutating func note(answers: Int, accepted: Int, refusals: Int, at now: MonotonicTime) -> Bool {
    let age = now.since(periodStart)
    if age >= Self.period {
      previous = age < Self.period * 2 ? current : Sums()
      current = Sums()
      periodStart = now
    }
    current.answers += answers
    current.accepted += accepted
    current.refusals += refusals
    let total = previous.answers + current.answers
    let refused = previous.refusals + current.refusals
    let limit = total >= Self.fewestAnswers ? Self.unusualShare : Self.unusualShareOfFew
    allowsRetirement =
      previous.accepted + current.accepted > 0 && Double(refused) <= limit * Double(max(total, 1))
    if allowsRetirement { isTold = false }
    guard !allowsRetirement, refused >= Self.worthTelling, !isTold else { return false }
    isTold = true
    return true
  }
}
