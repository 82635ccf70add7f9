import JSON

/// How values of one type are read and shown.
struct SettingForm<Value: Sendable>: Sendable {
  /// Reads a value; the text is the folder that relative paths are seen from.
  let read: @Sendable (GivenValue, _ folder: String) throws(SettingFault) -> Value
  /// Writes the value as JSON.
  let write: @Sendable (Value, inout JSONWriter) -> Void
}

extension SettingForm {
  /// Anything with a text form.
  static func text(
    _ write: @escaping @Sendable (Value) -> String?,
    _ read: @escaping @Sendable (String, _ folder: String) throws(SettingFault) -> Value
  ) -> SettingForm {
    SettingForm(
      read: { (value, folder) throws(SettingFault) in
        guard let text = value.string else { throw SettingFault("must be a string, not \(value.shown)") }
        return try read(text, folder)
      }, write: { $1.string(write($0)) })
  }
}

extension SettingForm where Value == Duration {
  /// A duration within a range.
  static func duration(_ range: ClosedRange<Duration>) -> SettingForm {
    text({ DurationText.format($0) }) { (text, _) throws(SettingFault) in
      let duration: Duration
      do {
        duration = try DurationText.parse(text)
      } catch {
        throw SettingFault("is wrong: \(error)")
      }
      guard range.contains(duration) else {
        throw SettingFault(
          "must be from \(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound)), not \(text)"
        )
      }
      return duration
    }
  }
}

extension SettingForm where Value == Int {
  /// A whole number within a range.
  static func integer(_ range: ClosedRange<Int>) -> SettingForm {
    SettingForm(
      read: { (value, _) throws(SettingFault) in
        guard let number = value.integer.flatMap({ Int(exactly: $0) }), range.contains(number) else {
          throw SettingFault(
            "must be a whole number from \(range.lowerBound) to \(range.upperBound), not \(value.shown)")
        }
        return number
      }, write: { $1.integer($0) })
  }
}

extension SettingForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of a few words.
  static var choice: SettingForm {
    text({ $0.rawValue }) { (text, _) throws(SettingFault) in
      if let value = Value(rawValue: text) { return value }
      let words = Value.allCases.map(\.rawValue)
      throw SettingFault(
        "must be one of \(words.joined(separator: ", ")), not \(shown(text))",
        remedy: NearestName.nearest(to: text, in: words).map { "the nearest is '\($0)'" } ?? "")
    }
  }
}

extension SettingForm where Value == HostPort {
  /// A host with its port, 443 when not said.
  static let host = text({ $0.description }) { (text, _) throws(SettingFault) in
    try HostPort.parse(text, defaultPort: 443)
  }
}

extension SettingForm where Value == StoreLocation {
  /// A store's URL.
  static let store = text({ $0.description }) { (text, folder) throws(SettingFault) in
    try StoreLocation.parse(text, folder: folder)
  }
}

extension SettingForm where Value == String? {
  /// A readable file, or `null` for none.
  static let optionalFile = SettingForm(
    read: { (value, folder) throws(SettingFault) in
      if value.isNull { return nil }
      guard let text = value.string, !text.isEmpty else {
        throw SettingFault("must be a path or null, not \(value.shown)")
      }
      let path = Files.resolve(text, in: folder)
      try checkReadable(path, seenFrom: folder)
      return path
    }, write: { $1.string($0) })
}

extension SettingForm where Value == ProxyLocation? {
  /// A proxy's URL, or `null` for none; an option's empty text is none too.
  static let optionalProxy = SettingForm(
    read: { (value, _) throws(SettingFault) in
      if value.isNull { return nil }
      if case .text("") = value { return nil }
      // Nothing of the value is repeated: it may hold a password.
      guard let text = value.string else { throw SettingFault("must be http://HOST:PORT or null") }
      return try ProxyLocation.parse(text)
    }, write: { $1.string($0?.description) })
}

extension SettingForm {
  /// An array of texts.
  ///
  /// - Parameters:
  ///   - kind: what its elements are, in the plural.
  ///   - read: an element of its text; nil when it is none.
  ///   - fault: the words for a text that is none.
  static func array<Element: Sendable>(
    of kind: String, _ write: @escaping @Sendable (Element) -> String,
    _ read: @escaping @Sendable (String) -> Element?, fault: @escaping @Sendable (GivenValue) -> SettingFault
  ) -> SettingForm where Value == [Element] {
    SettingForm(
      read: { (value, _) throws(SettingFault) in
        guard case .json(let json) = value, let elements = json.array else {
          throw SettingFault("must be an array of \(kind), not \(value.shown)")
        }
        var made: [Element] = []
        for element in elements {
          guard let one = element.string.flatMap(read) else { throw fault(.json(element)) }
          made.append(one)
        }
        return made
      },
      write: { elements, writer in writer.array { for element in elements { $0.string(write(element)) } } })
  }
}

extension SettingForm where Value == [IPAddressRange] {
  /// An array of addresses and ranges of addresses.
  static let addressRanges = array(of: "addresses", \.description, IPAddressRange.init) {
    SettingFault(
      "has \($0.shown), which is no address",
      remedy: "write addresses or ranges, such as 10.0.0.1 or 10.0.0.0/8; names are not looked up")
  }
}

extension SettingForm where Value == [InterestPattern] {
  /// An array of names of interests, each with a `*` for its end if wanted.
  static let interestPatterns = array(of: "names of interests", \.description, InterestPattern.init) {
    SettingFault(
      "has \($0.shown), which names no interest",
      remedy: "write a name, or its beginning with * behind it, such as auth-*")
  }
}

extension SettingForm {
  /// An array of a few words.
  static func choices<Element: RawRepresentable & CaseIterable & Sendable>() -> SettingForm
  where Value == [Element], Element.RawValue == String {
    let words = Element.allCases.map(\.rawValue)
    return array(of: words.joined(separator: ", "), \.rawValue, Element.init) {
      SettingFault(
        "has \($0.shown); known are \(words.joined(separator: ", "))",
        remedy: $0.string.flatMap { NearestName.nearest(to: $0, in: words) }.map { "the nearest is '\($0)'" } ?? "")
    }
  }
}

extension SettingForm where Value == Bool {
  /// Yes or no.
  static let bool = SettingForm(
    read: { (value, _) throws(SettingFault) in
      guard case .json(let json) = value, let flag = json.bool else {
        throw SettingFault("must be true or false, not \(value.shown)")
      }
      return flag
    }, write: { $1.bool($0) })
}

extension SettingForm where Value == String? {
  /// A bundle id, or `null` for none.
  static let optionalTopic = SettingForm(
    read: { (value, _) throws(SettingFault) in
      if value.isNull { return nil }
      guard let text = value.string else { throw SettingFault("must be a bundle id or null, not \(value.shown)") }
      if let fault = TopicText.fault(in: text) { throw SettingFault("is wrong: \(fault)") }
      return text
    }, write: { $1.string($0) })
}

/// Checks that a file can be read, without reading it.
///
/// - Parameter folder: what a relative path is seen from; empty for the working directory.
func checkReadable(_ path: String, seenFrom folder: String) throws(SettingFault) {
  let status: FileStatus
  do {
    status = try Files.status(of: path)
  } catch {
    throw SettingFault(
      error.isNotFound
        ? "names '\(path)', which does not exist" : "names '\(path)', which cannot be read: \(error.reason)",
      remedy: "check the path; a relative one is seen from "
        + (folder.isEmpty ? "the working directory" : "the config file's folder"),
      exitCode: error.isNotAllowed ? .notAllowed : .configuration)
  }
  if status.isDirectory {
    throw SettingFault(
      "names '\(path)', which is a folder", remedy: "name the file in it", exitCode: .configuration)
  }
  if !status.isRegular {
    throw SettingFault(
      "names '\(path)', which is no regular file but a pipe, socket or device", remedy: "name a file",
      exitCode: .configuration)
  }
  if !status.isReadable {
    throw SettingFault(
      "names '\(path)', which this user may not read", remedy: "give the file to the user that runs this",
      exitCode: .notAllowed)
  }
}
