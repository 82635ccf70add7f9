import JSON

@testable import Operations

extension FuzzTarget {
  /// Config files. What comes before a byte 0 is the environment: lines `NAME=value`, `PUSHRELAY_` added.
  static let configuration = FuzzTarget(name: "configuration") { bytes in
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let file = Array(parts.last ?? [])
    let text = String(decoding: file, as: UTF8.self)
    var variables: [String: String] = [:]
    for line in parts.dropLast().joined().split(separator: 0x0A) {
      let pair = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      variables["PUSHRELAY_" + String(decoding: pair[0], as: UTF8.self)] =
        pair.count == 2 ? String(decoding: pair[1], as: UTF8.self) : ""
    }
    var draft = ConfigurationDraft(variables: ProcessEnvironment(variables), usesKeys: true)
    if let document = try? JSONValue(parsing: file, syntax: .relaxed) {
      ConfigurationFileReader(path: "pushrelay.json", bytes: file).read(document, &draft)
    }
    for setting in Settings.all {
      guard let variable = setting.variable, let text = draft.variables[variable] else { continue }
      draft.apply(setting, .text(text), from: .environment(variable), folder: "")
    }

    let lineCount = file.filter { $0 == 0x0A || $0 == 0x0D }.count + 1
    for finding in draft.findings {
      try require(!finding.message.isEmpty, "a finding without a word")
      try require(finding.description.unicodeScalars.allSatisfy(isShown), "a finding shows control characters")
    }
    for case .file(_, let line) in draft.configuration.sources.values {
      try require(line >= 1 && line <= lineCount, "a setting of line \(line)")
    }
    let effective = EffectiveSettings(draft.configuration)
    for (name, key) in variables where name.hasPrefix("PUSHRELAY_KEY_") && key.utf8.count >= 24 {
      let isElsewhere =
        variables.contains { $0.key != name && $0.value.holdsBytes(of: key) } || text.holdsBytes(of: key)
      try require(isElsewhere || !effective.text.holdsBytes(of: key), "the effective settings show a key")
    }
    var writer = JSONWriter()
    effective.write(to: &writer)
    try require((try? JSONValue(parsing: writer.bytes)) != nil, "the effective settings are no JSON")
  }
}
