/// Finds what somebody meant who misspelled a name.
public enum NearestName {
  /// The candidate with the fewest edits from `name`; of equals, one that begins like it, then the first. `nil` without candidates.
  public static func nearest(to name: String, in candidates: some Sequence<String>) -> String? {
    let wanted = Array(name.utf8)
    var best: (name: String, edits: Int, isPrefix: Bool)?
    for candidate in candidates {
      let edits = distance(wanted, Array(candidate.utf8))
      let isPrefix = candidate.hasPrefix(name)
      if let best, edits > best.edits || (edits == best.edits && (best.isPrefix || !isPrefix)) { continue }
      best = (candidate, edits, isPrefix)
    }
    return best?.name
  }

  /// Edits between two names: insertions, deletions, replacements and swaps of neighbors (optimal string alignment).
  static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    // Three rows suffice: a swap looks back two.
    var beforePrevious = [Int](repeating: 0, count: right.count + 1)
    var previous = Array(0...right.count)
    for (row, byte) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var edits = min(previous[column] + (byte == other ? 0 : 1), previous[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, byte == right[column - 1], left[row - 1] == other {
          edits = min(edits, beforePrevious[column - 1] + 1)
        }
        current.append(edits)
      }
      (beforePrevious, previous) = (previous, current)
    }
    return previous[right.count]
  }
}
