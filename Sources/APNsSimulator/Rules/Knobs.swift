import Operations

/// What nobody has documented about APNs, or two have in two ways, and which way the simulator goes.
public struct Knobs: Sendable, Equatable {
  /// What the 20 minutes between two provider tokens are counted for.
  public enum TokenUpdates: String, Sendable, CaseIterable {
    /// Each key, over all connections.
    case key
    /// Each key on each connection.
    case connection
  }

  /// Whether a signature may be DER too, besides 64 raw bytes.
  public var acceptsDER = false
  /// What the 20 minutes between two provider tokens are counted for.
  public var tokenUpdates = TokenUpdates.key
  /// How far ahead `iat` may be.
  public var futureIssueTolerance = Duration.seconds(60)
  /// Whether an apns-id that the simulator makes is in lower case; those of APNs were seen in upper case.
  public var makesLowerCaseIDs = false
  /// Whether a payload that is no JSON object is refused; otherwise it is a warning.
  public var rejectsMalformedJSON = false

  /// Every knob as it usually is.
  public init() {}

  /// Turns a knob, by `NAME=VALUE`.
  public mutating func set(_ text: String) throws(KnobError) {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard let name = parts.first, let knob = Knob.all.first(where: { $0.name == name }) else {
      let nearest = NearestName.nearest(to: parts.first ?? "", in: Knob.all.map(\.name))
      throw KnobError(
        message: "there is no '\(parts.first ?? "")'" + (nearest.map { "; the nearest is '\($0)'" } ?? ""))
    }
    guard parts.count == 2, knob.turn(parts[1], &self) else {
      throw KnobError(
        message:
          "\(name) must be \(knob.values.replacing("|", with: " or ")), not '\(parts.count == 2 ? parts[1] : "")'")
    }
  }

  /// The names with their values, the usual one first.
  public static var help: String { Knob.all.map { "\($0.name)=\($0.values)" }.joined(separator: ", ") }
}

/// Why a knob cannot be turned: the name is unknown, or the value is not one of its own.
public struct KnobError: Error, Equatable, CustomStringConvertible {
  let message: String

  /// What is wrong and what is right.
  public var description: String { message }
}

/// A row of the table of knobs.
struct Knob: Sendable {
  let name: String
  /// Its values as help shows them, the usual one first.
  let values: String
  /// Sets it to the value of a text; false when that is none.
  let turn: @Sendable (String, inout Knobs) -> Bool

  /// Every knob there is.
  static let all = [
    Knob("der", off: "reject", on: "accept", \.acceptsDER),
    Knob(name: "token_updates", values: "key|connection") { text, knobs in
      guard let value = Knobs.TokenUpdates(rawValue: text) else { return false }
      knobs.tokenUpdates = value
      return true
    },
    Knob(name: "future_iat", values: "60s|DURATION") { text, knobs in
      // The form is said by the caller.
      guard let value = try? DurationText.parse(text) else { return false }
      knobs.futureIssueTolerance = value
      return true
    },
    Knob("message_id", off: "upper", on: "lower", \.makesLowerCaseIDs),
    Knob("malformed_json", off: "accept", on: "reject", \.rejectsMalformedJSON),
  ]

  private init(name: String, values: String, turn: @escaping @Sendable (String, inout Knobs) -> Bool) {
    self.name = name
    self.values = values
    self.turn = turn
  }

  private init(_ name: String, off: String, on: String, _ path: WritableKeyPath<Knobs, Bool> & Sendable) {
    self.init(name: name, values: "\(off)|\(on)") { text, knobs in
      guard text == off || text == on else { return false }
      knobs[keyPath: path] = text == on
      return true
    }
  }
}
