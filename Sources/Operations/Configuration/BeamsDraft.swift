import JSON

/// The fields of a Beams instance in the file.
private enum BeamsField: String, CaseIterable {
  case id = "instance_id"
  case secretKey = "secret_key"
  case topics, environment
}

extension ConfigurationFileReader {
  /// Reads the array of Beams instances.
  func readBeams(_ value: JSONValue, _ draft: inout ConfigurationDraft) {
    readObjects(Settings.beams, value, &draft) { name, element, draft in
      guard let instance = instance(name, element, &draft) else { return }
      if draft.configuration.beams.contains(where: { $0.id == instance.id }) {
        draft.add(
          .error, from: source(element), "\(name).instance_id",
          SettingFault("is \(instance.id), which another instance has", remedy: "name all its topics in one"))
      } else {
        draft.configuration.beams.append(instance)
      }
    }
  }

  /// The instance of an object; nil when something is wrong with it, which is reported.
  private func instance(
    _ name: String, _ object: JSONValue, _ draft: inout ConfigurationDraft
  ) -> Configuration.BeamsInstance? {
    var id: String?
    var secretKey: SecretText?
    var topics: [String]?
    var environment = Configuration.Environment.production
    let faultsBefore = draft.findings.count
    var given: Set<BeamsField> = []
    for member in unique(object.object ?? [], name, &draft) {
      let path = "\(name).\(member.name)"
      let source = source(member.nameRange.lowerBound)
      guard let field = BeamsField(rawValue: member.name) else {
        draft.add(.error, from: source, path, unknown(member.name, among: BeamsField.allCases.map(\.rawValue)))
        continue
      }
      given.insert(field)
      do throws(SettingFault) {
        switch field {
        case .id: id = try Self.instanceID(member.value)
        case .secretKey: secretKey = try Self.secretKey(member.value)
        case .topics: topics = try Self.topics(member.value)
        case .environment: environment = try SettingForm<Configuration.Environment>.choice.read(.json(member.value), "")
        }
      } catch {
        draft.add(.error, from: source, path, error)
      }
    }
    for field in [BeamsField.id, .secretKey, .topics] where !given.contains(field) {
      draft.add(
        .error, from: source(object), "\(name).\(field.rawValue)",
        SettingFault(
          "is missing",
          remedy: #"write { "instance_id": "UUID", "secret_key": "…", "topics": ["com.example.app"] }"#))
    }
    guard draft.findings.count == faultsBefore, let id, let secretKey, let topics else { return nil }
    return Configuration.BeamsInstance(id: id, secretKey: secretKey, topics: topics, environment: environment)
  }

  private static func instanceID(_ value: JSONValue) throws(SettingFault) -> String {
    guard let text = value.string, UUIDText.isUUID(text) else {
      throw SettingFault("must be a UUID", remedy: "take the instance id from the app, or make one with uuidgen")
    }
    return text.lowercased()
  }

  private static func secretKey(_ value: JSONValue) throws(SettingFault) -> SecretText {
    // Nothing of the value is repeated.
    guard let text = value.string, text.utf8.count >= 16, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw SettingFault(
        "must be a string of at least 16 visible characters", remedy: "make one with openssl rand -hex 32")
    }
    return SecretText(text)
  }

  private static func topics(_ value: JSONValue) throws(SettingFault) -> [String] {
    guard let elements = value.array, !elements.isEmpty else {
      throw SettingFault("must be an array of bundle ids", remedy: "name the apps of the instance")
    }
    var topics: [String] = []
    for element in elements {
      guard let topic = element.string else {
        throw SettingFault("must be an array of bundle ids, without \(element.kindName)")
      }
      if let fault = TopicText.fault(in: topic) { throw SettingFault("has a wrong topic: \(fault)") }
      if !topics.contains(topic) { topics.append(topic) }
    }
    return topics
  }
}

extension Configuration.BeamsInstance {
  /// The fields with the words of the file, as JSON; the key masked.
  var shownFields: [(String, String)] {
    func json(_ write: (inout JSONWriter) -> Void) -> String {
      var writer = JSONWriter()
      write(&writer)
      return writer.text
    }
    return [
      (BeamsField.id, json { $0.string(id) }), (.secretKey, json { $0.string(secretKey.description) }),
      (.topics, json { $0.array { for topic in topics { $0.string(topic) } } }),
      (.environment, json { $0.string(environment.rawValue) }),
    ].map { ($0.rawValue, $1) }
  }
}
