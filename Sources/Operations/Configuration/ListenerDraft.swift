import JSON

/// The fields of a listener in the file.
private enum ListenerField: String, CaseIterable {
  case address, tls, serve
}

extension ConfigurationFileReader {
  /// Surfaces that later versions serve.
  private static let laterSurfaces = ["console", "channels", "graphql", "apns"]

  /// Reads the array of listeners.
  func readListeners(_ value: JSONValue, _ draft: inout ConfigurationDraft) {
    readObjects(Settings.listeners, value, &draft) { name, element, draft in
      guard let listener = listener(name, element, &draft) else { return }
      let isTaken = draft.configuration.listeners.contains {
        $0.address == listener.address && listener.address.port != 0
      }
      if isTaken {
        draft.add(
          .error, from: source(element), "\(name).address",
          SettingFault("is \(listener.address), which another listener has", remedy: "name all surfaces in one"))
      } else {
        draft.configuration.listeners.append(listener)
      }
    }
  }

  /// The listener of an object; nil when something is wrong with it, which is reported.
  private func listener(
    _ name: String, _ object: JSONValue, _ draft: inout ConfigurationDraft
  ) -> Configuration.Listener? {
    var address: HostPort?
    var tls: Configuration.Listener.TLS?
    var surfaces: Set<Configuration.Surface>?
    let faultsBefore = draft.findings.count
    var given: Set<ListenerField> = []
    for member in unique(object.object ?? [], name, &draft) {
      let path = "\(name).\(member.name)"
      let source = source(member.nameRange.lowerBound)
      guard let field = ListenerField(rawValue: member.name) else {
        draft.add(.error, from: source, path, unknown(member.name, among: ListenerField.allCases.map(\.rawValue)))
        continue
      }
      given.insert(field)
      do throws(SettingFault) {
        switch field {
        case .address: address = try Self.address(member.value)
        case .tls: tls = try self.tls(path, member.value, &draft)
        case .serve: surfaces = try Self.surfaces(member.value)
        }
      } catch {
        draft.add(.error, from: source, path, error)
      }
    }
    for field in [ListenerField.address, .serve] where !given.contains(field) {
      draft.add(
        .error, from: source(object), "\(name).\(field.rawValue)",
        SettingFault("is missing", remedy: #"write { "address": "127.0.0.1:8080", "serve": ["backend"] }"#))
    }
    guard draft.findings.count == faultsBefore, let address, let surfaces else { return nil }
    return Configuration.Listener(address: address, tls: tls, surfaces: surfaces)
  }

  private static func address(_ value: JSONValue) throws(SettingFault) -> HostPort {
    guard let text = value.string else { throw SettingFault("must be HOST:PORT, not \(value.kindName)") }
    do {
      return try HostPort.parse(text, allowsAnyPort: true)
    } catch {
      throw SettingFault(error.message, remedy: "write it like 127.0.0.1:8080 or [::1]:8080")
    }
  }

  private func tls(
    _ path: String, _ value: JSONValue, _ draft: inout ConfigurationDraft
  ) throws(SettingFault) -> Configuration.Listener.TLS? {
    if value.isNull { return nil }
    let remedy = #"write { "cert": "FILE", "key": "FILE" }"#
    guard let members = value.object else {
      throw SettingFault("must be an object, not \(value.kindName)", remedy: remedy)
    }
    var files: [String: String] = [:]
    for member in unique(members, path, &draft) {
      guard ["cert", "key"].contains(member.name) else {
        draft.add(
          .error, from: source(member.value), "\(path).\(member.name)", unknown(member.name, among: ["cert", "key"]))
        continue
      }
      guard let text = member.value.string, !text.isEmpty else {
        throw SettingFault("has a \(member.name) that is no path", remedy: remedy)
      }
      let file = Files.resolve(text, in: folder)
      try checkReadable(file, seenFrom: folder)
      files[member.name] = file
    }
    guard let certificate = files["cert"], let key = files["key"] else {
      throw SettingFault("needs cert and key", remedy: remedy)
    }
    return Configuration.Listener.TLS(certificateFile: certificate, keyFile: key)
  }

  private static func surfaces(_ value: JSONValue) throws(SettingFault) -> Set<Configuration.Surface> {
    let names = Configuration.Surface.allCases.map(\.rawValue)
    guard let elements = value.array, !elements.isEmpty else {
      throw SettingFault("must be an array of \(names.joined(separator: ", "))")
    }
    var surfaces: Set<Configuration.Surface> = []
    for element in elements {
      guard let name = element.string else {
        throw SettingFault("must be an array of \(names.joined(separator: ", ")), without \(element.kindName)")
      }
      if laterSurfaces.contains(name) {
        throw .notInThisVersion("the surface '\(name)'", remedy: "serve \(names.joined(separator: " or "))")
      }
      guard let surface = Configuration.Surface(rawValue: name) else {
        throw SettingFault(
          "has the unknown surface \(shown(name))",
          remedy: NearestName.nearest(to: name, in: names).map { "the nearest is '\($0)'" } ?? "")
      }
      surfaces.insert(surface)
    }
    return surfaces
  }
}
