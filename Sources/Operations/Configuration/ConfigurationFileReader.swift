import JSON

/// Walks the document of a config file along the table of settings.
struct ConfigurationFileReader {
  private let path: String
  /// What relative paths are seen from.
  let folder: String
  private let lineStarts: [Int]

  init(path: String, bytes: [UInt8]) {
    self.path = path
    folder = Files.folder(of: path)
    lineStarts = [0] + Self.lineStarts(bytes)
  }

  func read(_ document: JSONValue, _ draft: inout ConfigurationDraft) {
    guard let members = document.object else {
      draft.add(
        .error, from: source(document), "", SettingFault("the file must hold an object, not \(document.kindName)"))
      return
    }
    read(members, section: "", &draft)
  }

  private func read(_ members: [JSONMember], section: String, _ draft: inout ConfigurationDraft) {
    for member in unique(members, section, &draft) {
      let name = section.isEmpty ? member.name : "\(section).\(member.name)"
      let source = source(member.nameRange.lowerBound)
      if let setting = Settings.named(name) {
        draft.apply(setting, .json(member.value), from: source, folder: folder)
      } else if name == Settings.apps {
        readApps(member.value, &draft)
      } else if name == Settings.listeners {
        readListeners(member.value, &draft)
      } else if name == Settings.beams {
        readBeams(member.value, &draft)
      } else if Settings.isSection(name) {
        guard let members = member.value.object else {
          draft.add(.error, from: source, name, SettingFault("must be an object, not \(member.value.kindName)"))
          continue
        }
        read(members, section: name, &draft)
      } else {
        draft.add(.error, from: source, name, unknown(member.name, among: Settings.names(in: section)))
      }
    }
  }

  private func readApps(_ value: JSONValue, _ draft: inout ConfigurationDraft) {
    readObjects(Settings.apps, value, &draft) { name, element, draft in
      readApp(AppDraft(name: name, source: source(element)), element.object ?? [], &draft)
    }
  }

  /// Reads an array of objects, each with its name in messages.
  func readObjects(
    _ setting: String, _ value: JSONValue, _ draft: inout ConfigurationDraft,
    _ read: (_ name: String, _ element: JSONValue, inout ConfigurationDraft) -> Void
  ) {
    guard let elements = value.array else {
      draft.add(.error, from: source(value), setting, SettingFault("must be an array, not \(value.kindName)"))
      return
    }
    draft.configuration.sources[setting] = source(value)
    for (index, element) in elements.enumerated() {
      let name = "\(setting)[\(index)]"
      if element.object != nil {
        read(name, element, &draft)
      } else {
        draft.add(.error, from: source(element), name, SettingFault("must be an object, not \(element.kindName)"))
      }
    }
  }

  private func readApp(_ app: AppDraft, _ members: [JSONMember], _ draft: inout ConfigurationDraft) {
    var app = app
    for member in unique(members, app.name, &draft) {
      let name = "\(app.name).\(member.name)"
      let source = source(member.nameRange.lowerBound)
      guard let field = AppField(rawValue: member.name) else {
        let names = AppField.allCases.map(\.rawValue)
        draft.add(.error, from: source, name, unknown(member.name, among: names))
        app.markFaulty(NearestName.nearest(to: member.name, in: names).flatMap(AppField.init))
        continue
      }
      guard let text = member.value.string else {
        draft.add(.error, from: source, name, SettingFault("must be a string, not \(member.value.kindName)"))
        app.markFaulty(field)
        continue
      }
      app.fields[field] = AppDraft.Field(text: text, source: source, folder: folder)
    }
    guard let made = app.app(draft.variables, usesKeys: draft.usesKeys, &draft.findings) else { return }
    if let twin = draft.configuration.apps.firstIndex(where: { $0.topic == made.topic }) {
      draft.add(
        .error, from: app.fields[.topic]?.source, "\(app.name).topic",
        SettingFault(
          "is \(made.topic), which apps[\(twin)] has already",
          remedy: "one app for each topic; devices of either environment belong to it"))
      return
    }
    let place = "\(Settings.apps)[\(draft.configuration.apps.count)]"
    for (field, given) in app.fields { draft.configuration.sources["\(place).\(field.rawValue)"] = given.source }
    if case .text(_, let variable) = made.key { draft.configuration.sources["\(place).key"] = .environment(variable) }
    draft.configuration.apps.append(made)
  }

  /// The members without repeated ones, which are reported.
  func unique(_ members: [JSONMember], _ section: String, _ draft: inout ConfigurationDraft) -> [JSONMember] {
    var lines: [String: Int] = [:]
    return members.filter { member in
      let line = line(of: member.nameRange.lowerBound)
      guard let first = lines.updateValue(line, forKey: member.name) else { return true }
      draft.add(
        .error, from: .file(path: path, line: line), section.isEmpty ? member.name : "\(section).\(member.name)",
        SettingFault("is given twice, first on line \(first)", remedy: "remove one of the two"))
      return false
    }
  }

  func unknown(_ name: String, among names: [String]) -> SettingFault {
    SettingFault(
      "is unknown", remedy: NearestName.nearest(to: name, in: names).map { "the nearest known name is '\($0)'" } ?? "")
  }

  /// Where a value stands.
  func source(_ value: JSONValue) -> Configuration.Source { source(value.range.lowerBound) }

  /// Where a byte stands.
  func source(_ offset: Int) -> Configuration.Source { .file(path: path, line: line(of: offset)) }

  /// The line of a byte, from 1.
  private func line(of offset: Int) -> Int {
    var low = 0
    var high = lineStarts.count
    while low + 1 < high {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    return low + 1
  }

  /// Offsets after each line end: CR LF, CR or LF.
  private static func lineStarts(_ bytes: [UInt8]) -> [Int] {
    bytes.indices.compactMap { index in
      switch bytes[index] {
      case UInt8(ascii: "\n"): index + 1
      case UInt8(ascii: "\r"): index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "\n") ? nil : index + 1
      default: nil
      }
    }
  }
}
