import JSON

/// The settings as they are in force, with their sources and without secrets: for `check` and for the log at start.
public struct EffectiveSettings: Sendable {
  /// One setting.
  public struct Row: Sendable, Equatable {
    /// The name, such as `apns.connections` or `apps[0].topic`.
    public let name: String
    /// The value as JSON.
    public let json: String
    /// Where it came from.
    public let source: String
  }

  /// All settings, in the table's order, then the apps, the listeners and the Beams instances.
  public let rows: [Row]

  /// The settings of a configuration.
  public init(_ configuration: Configuration) {
    var rows = Settings.all.map { setting in
      var writer = JSONWriter()
      setting.write(configuration, &writer)
      return Row(name: setting.name, json: writer.text, source: configuration.source(of: setting.name).description)
    }
    for (index, app) in configuration.apps.enumerated() {
      for (field, text) in app.shownFields {
        let name = "\(Settings.apps)[\(index)].\(field)"
        var writer = JSONWriter()
        writer.string(text)
        rows.append(Row(name: name, json: writer.text, source: configuration.source(of: name).description))
      }
    }
    for (index, listener) in configuration.listeners.enumerated() {
      let source = configuration.source(of: Settings.listeners).description
      for (field, json) in listener.shownFields {
        rows.append(Row(name: "\(Settings.listeners)[\(index)].\(field)", json: json, source: source))
      }
    }
    for (index, instance) in configuration.beams.enumerated() {
      let source = configuration.source(of: Settings.beams).description
      for (field, json) in instance.shownFields {
        rows.append(Row(name: "\(Settings.beams)[\(index)].\(field)", json: json, source: source))
      }
    }
    self.rows = rows
  }

  /// The settings as a table for people.
  public var text: String {
    let nameWidth = rows.map(\.name.count).max() ?? 0
    let valueWidth = min(rows.map(\.json.count).max() ?? 0, 40)
    return rows.map { row in
      let name = row.name + String(repeating: " ", count: nameWidth - row.name.count)
      let value = row.json + String(repeating: " ", count: max(valueWidth - row.json.count, 0))
      return "\(name)  \(value)  (\(row.source))"
    }.joined(separator: "\n")
  }

  /// The settings with their defaults and meanings, as a Markdown table for README.
  public static var reference: String {
    let rows = Settings.all.map { setting in
      var writer = JSONWriter()
      setting.write(Configuration(), &writer)
      return "| `\(setting.name)` | `\(writer.text)` | \(setting.help) |"
    }
    return (["| setting | default | meaning |", "|---|---|---|"] + rows).joined(separator: "\n")
  }

  /// Writes one object: each name with `value` and `source`.
  public func write(to writer: inout JSONWriter) {
    writer.object { writer in
      for row in rows {
        writer.name(row.name)
        writer.object { writer in
          writer.name("value")
          writer.raw(row.json.utf8)
          writer.member("source", row.source)
        }
      }
    }
  }
}

extension Configuration.Listener {
  /// The fields with the words of the file, as JSON.
  fileprivate var shownFields: [(String, String)] {
    func json(_ write: (inout JSONWriter) -> Void) -> String {
      var writer = JSONWriter()
      write(&writer)
      return writer.text
    }
    var fields = [("address", json { $0.string(address.description) })]
    if let tls {
      fields.append(("tls.cert", json { $0.string(tls.certificateFile) }))
      fields.append(("tls.key", json { $0.string(tls.keyFile) }))
    }
    let names = Configuration.Surface.allCases.filter(surfaces.contains).map(\.rawValue)
    fields.append(("serve", json { $0.array { for name in names { $0.string(name) } } }))
    return fields
  }
}

extension Configuration.App {
  /// The fields with the words of the file; a key in the environment is named by its variable.
  fileprivate var shownFields: [(String, String)] {
    var fields = [(AppField.topic, topic), (.environment, environment.rawValue)].map { ($0.rawValue, $1) }
    switch credential {
    case .key(let teamID, let keyID, let location):
      fields += [(AppField.teamID.rawValue, teamID), (AppField.keyID.rawValue, keyID)]
      switch location {
      case .file(let path): fields.append((AppField.keyFile.rawValue, path))
      case .text(let secret, let variable): fields.append(("key", "\(secret) (\(variable))"))
      case nil: break
      }
    case .certificate(let path, _, let variable):
      fields.append((AppField.certificateFile.rawValue, path))
      if let variable { fields.append((AppField.certificatePasswordVariable.rawValue, variable)) }
    }
    return fields
  }
}
