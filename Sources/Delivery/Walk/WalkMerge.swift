import PushCore

/// Merges the windows of several sources behind one id into one ascending walk: one device, one push.
enum WalkMerge {
  /// What one source returned.
  struct Part {
    /// Its devices, ascending.
    var window: DeviceWindow
    /// Up to where it is complete: the end of the range, or the last id of a full window.
    var through: DeviceID
  }

  /// The devices that are complete in every source, and up to where that is.
  static func merge(_ parts: [Part], hi: DeviceID) -> Part {
    let through = parts.map(\.through).min() ?? hi
    if parts.count == 1, let only = parts.first { return only }
    var merged = DeviceWindow()
    var heads = Array(repeating: 0, count: parts.count)
    while let id = smallest(parts, heads), id <= through {
      for source in parts.indices where heads[source] < parts[source].window.count {
        guard parts[source].window.ids[heads[source]] == id else { continue }
        if merged.ids.last != id { merged.append(heads[source], of: parts[source].window) }
        heads[source] += 1
      }
    }
    return Part(window: merged, through: through)
  }

  private static func smallest(_ parts: [Part], _ heads: [Int]) -> DeviceID? {
    var least: DeviceID?
    for source in parts.indices where heads[source] < parts[source].window.count {
      let id = parts[source].window.ids[heads[source]]
      if least.map({ id < $0 }) ?? true { least = id }
    }
    return least
  }
}
