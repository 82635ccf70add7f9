import Operations
import PushCore

/// Stops the retirement of devices when too many of a topic's are refused as "bad": then a setting of ours is wrong, not they.
///
/// Counts the answers of the last five minutes for one credential. A value: time comes in.
public struct RetirementFuse: Sendable {
  /// The share of refusals above which nothing is retired.
  static let unusualShare = 0.2
  /// Answers below which nothing is concluded.
  static let fewestAnswers = 50
  private static let period = Duration.seconds(300)

  private var periodStart = MonotonicTime(nanoseconds: 0)
  private var answers = (previous: 0, current: 0)
  private var refusals = (previous: 0, current: 0)
  private var isBlown = false

  /// An intact fuse.
  public init() {}

  /// Notes answers of APNs, and how many of them called the token bad or of another topic.
  /// - Returns: whether the fuse has blown just now.
  public mutating func note(answers newAnswers: Int, refusals newRefusals: Int, at now: MonotonicTime) -> Bool {
    let age = now.since(periodStart)
    if age >= Self.period {
      answers = (age < Self.period * 2 ? answers.current : 0, 0)
      refusals = (age < Self.period * 2 ? refusals.current : 0, 0)
      periodStart = now
    }
    answers.current += newAnswers
    refusals.current += newRefusals
    let wasBlown = isBlown
    let total = answers.previous + answers.current
    let share = Double(refusals.previous + refusals.current) / Double(max(total, 1))
    isBlown = total >= Self.fewestAnswers && share > Self.unusualShare
    return isBlown && !wasBlown
  }

  /// Whether devices may be retired for such a refusal.
  public var allowsRetirement: Bool { !isBlown }
}
