import PushCore

/// The reasons that APNs gives, by number and by word; and the words and advice for every reason that a receipt can
/// hold.
public enum ReasonTable {
  private static let ids: [String: ReasonID] = Dictionary(
    uniqueKeysWithValues: rows.enumerated().map {
      ($0.element.text, ReasonID(Int32($0.offset) + 1))
    })

  /// The number of a word on the wire; nil when the table has none.
  public static func id(of text: String) -> ReasonID? { ids[text] }

  /// The reason of a word on the wire.
  static func reason(_ text: String) -> PushReason { id(of: text).map { .known($0) } ?? .unknown(text) }

  /// The word for a reason; nil when there is none or nobody knows it.
  ///
  /// - Parameter stored: the store's text, for numbers that only it knows.
  public static func text(of reason: ReasonID, stored: String?) -> String? {
    row(reason)?.text ?? reason.ownText ?? stored
  }

  /// What is wrong and what to do, one sentence for an engineer; nil when there is nothing to say.
  public static func remedy(of reason: ReasonID) -> String? {
    if let row = row(reason) { return row.remedy }
    return switch reason {
    case .noLongerTargeted:
      "The device had left the notification's interests and users when its turn came."
    case .deviceRetired:
      "The device was retired after an earlier push; the app brings it back when it registers again."
    case .held: "The app or its key is paused; see `pushrelay app status`."
    case .connectionLost:
      "The connection or the stream broke before the answer: the push may have arrived."
    case .timeout:
      "APNs did not answer in time: the push may have arrived."
    default: nil
    }
  }

  /// The row of a number; nil when it is none of APNs' reasons.
  static func row(_ reason: ReasonID) -> Reason? {
    let index = Int(reason.rawValue) - 1
    return rows.indices.contains(index) ? rows[index] : nil
  }
}
