import JSON

/// A value as it was given: in the file as JSON, in a flag or the environment as text.
enum GivenValue {
  case json(JSONValue)
  case text(String)

  var string: String? {
    switch self {
    case .json(let value): value.string
    case .text(let text): text
    }
  }

  var integer: Int64? {
    switch self {
    case .json(let value): value.integer
    case .text(let text): Int64(text)
    }
  }

  var isNull: Bool {
    if case .json(let value) = self { value.isNull } else { false }
  }

  /// The value in a message: numbers and short texts themselves, of all else the kind.
  var shown: String {
    switch self {
    case .json(let value): value.number?.text ?? value.string.map { Operations.shown($0) } ?? value.kindName
    case .text(let text): Operations.shown(text)
    }
  }
}

/// One row of the table of settings.
struct Setting: Sendable {
  /// The name with dots between levels: `apns.connections`.
  let name: String
  /// One line for people.
  let help: String
  /// The environment variable that also sets it.
  let variable: String?
  /// The option that also sets it.
  let flag: String?
  /// Reads a value into the configuration.
  let apply: @Sendable (GivenValue, _ folder: String, inout Configuration) throws(SettingFault) -> Void
  /// Writes the value of the configuration as JSON.
  let write: @Sendable (Configuration, inout JSONWriter) -> Void

  /// A setting kept in a property of the configuration, whose first value is the default.
  init<Value>(
    _ name: String, _ path: any WritableKeyPath<Configuration, Value> & Sendable, _ form: SettingForm<Value>,
    variable: String? = nil, flag: String? = nil,
    _ help: String
  ) {
    self.name = name
    self.help = help
    self.variable = variable
    self.flag = flag
    apply = { (value, folder, configuration) throws(SettingFault) in
      configuration[keyPath: path] = try form.read(value, folder)
    }
    write = { form.write($0[keyPath: path], &$1) }
  }
}
