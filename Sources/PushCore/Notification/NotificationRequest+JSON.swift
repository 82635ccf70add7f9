import JSON
import Operations

extension NotificationRequest {
  /// The members that a notification object may have.
  public static let fieldNames = [
    "topic", "target", "recipients", "payload", "push_type", "priority", "expires_in", "expiration",
    "collapse_id",
    "send_at", "lane", "environment",
  ]
  private static let targetNames = ["interests", "users", "tokens", "everyone"]
  private static let recipientNames = ["token", "user", "interest", "values"]

  /// Reads a notification object: an HTTP body, or a line of NDJSON.
  ///
  /// Values of a wrong type and unknown members become ``readingFaults``, so that all faults are reported together.
  /// - Throws: only when the document is no JSON.
  public init(json document: [UInt8]) throws(JSONError) {
    self.init(try JSONValue(parsing: document), in: document)
  }

  /// Reads a notification object that is a value of `document`.
  public init(_ value: JSONValue, in document: [UInt8]) {
    self.init()
    var reader = Reader(document: document)
    reader.read(value, into: &self)
    readingFaults = reader.faults
  }

  /// Reads members and gathers faults.
  private struct Reader {
    let document: [UInt8]
    var faults: [NotificationFinding] = []

    mutating func read(_ value: JSONValue, into request: inout NotificationRequest) {
      guard let members = value.object else {
        return fault("", "a JSON object is needed, not \(value.kindName)")
      }
      var seen: Set<String> = []
      for member in members {
        guard seen.insert(member.name).inserted else {
          fault(member.name, "the member is there twice")
          continue
        }
        if !member.value.isNull { read(member.name, member.value, into: &request) }
      }
      if let target = value["target"], !target.isNull, let recipients = value["recipients"], !recipients.isNull {
        fault("recipients", "give either target or recipients, not both")
      }
    }

    private mutating func read(
      _ name: String, _ value: JSONValue, into request: inout NotificationRequest
    ) {
      switch name {
      case "topic": request.topic = string(name, value)
      case "target": target(value, into: &request)
      case "payload": request.payload = Array(document[value.range])
      case "push_type": request.pushType = string(name, value)
      case "priority": request.priority = integer(name, value)
      case "expires_in": request.expiresIn = duration(name, value)
      case "expiration":
        request.expiration = integer(name, value, hint: "integer UNIX seconds are needed, or 0")
      case "collapse_id": request.collapseID = string(name, value)
      case "send_at": request.sendAt = time(name, value)
      case "lane": request.lane = string(name, value)
      case "environment": request.environment = string(name, value)
      case "recipients": recipients(value, into: &request)
      default: unknown(name, among: NotificationRequest.fieldNames)
      }
    }

    private mutating func target(_ value: JSONValue, into request: inout NotificationRequest) {
      guard let members = value.object else {
        return fault(
          "target",
          "it must be an object with interests, users, tokens or everyone, not \(value.kindName)")
      }
      for member in members where !member.value.isNull {
        let path = "target.\(member.name)"
        switch member.name {
        case "interests": request.interests = strings(path, member.value)
        case "users": request.users = strings(path, member.value)
        case "tokens": request.tokens = strings(path, member.value)
        case "everyone":
          guard let flag = member.value.bool else {
            fault(path, "it must be true or false, not \(member.value.kindName)")
            continue
          }
          request.everyone = flag
        default: unknown(member.name, under: "target.", among: NotificationRequest.targetNames)
        }
      }
    }

    private mutating func recipients(_ value: JSONValue, into request: inout NotificationRequest) {
      guard let elements = value.array else {
        return fault("recipients", "it must be an array of objects, not \(value.kindName)")
      }
      request.recipients = elements.enumerated().compactMap { recipient($0.element, index: $0.offset) }
    }

    private mutating func recipient(_ value: JSONValue, index: Int) -> Recipient? {
      let path = "recipients[\(index)]"
      guard let members = value.object else {
        fault(path, "it must be an object with token, user or interest, and values, not \(value.kindName)")
        return nil
      }
      var names: [Recipient.Name?] = []
      var given: [String: String] = [:]
      var seen: Set<String> = []
      for member in members {
        let place = "\(path).\(member.name)"
        guard seen.insert(member.name).inserted else {
          fault(place, "the member is there twice")
          continue
        }
        switch member.name {
        case "token": names.append(string(place, member.value).map(Recipient.Name.token))
        case "user": names.append(string(place, member.value).map(Recipient.Name.user))
        case "interest": names.append(string(place, member.value).map(Recipient.Name.interest))
        case "values": given = values(place, member.value)
        default: unknown(member.name, under: "\(path).", among: NotificationRequest.recipientNames)
        }
      }
      guard names.count == 1 else {
        fault(path, "give exactly one of token, user and interest, not \(names.isEmpty ? "none" : "\(names.count)")")
        return nil
      }
      return names[0].map { Recipient($0, values: given, index: index) }
    }

    private mutating func values(_ path: String, _ value: JSONValue) -> [String: String] {
      guard let members = value.object else {
        fault(path, "it must be an object of strings, not \(value.kindName)")
        return [:]
      }
      var values: [String: String] = [:]
      for member in members {
        let place = "\(path).\(member.name)"
        guard let text = member.value.string else {
          fault(place, "it must be a string, not \(member.value.kindName): write it as the device is to show it")
          continue
        }
        if values.updateValue(text, forKey: member.name) != nil { fault(place, "the member is there twice") }
      }
      return values
    }

    private mutating func string(_ path: String, _ value: JSONValue) -> String? {
      if value.string == nil { fault(path, "it must be a string, not \(value.kindName)") }
      return value.string
    }

    private mutating func strings(_ path: String, _ value: JSONValue) -> [String] {
      guard let elements = value.array else {
        fault(path, "it must be an array of strings, not \(value.kindName)")
        return []
      }
      return elements.enumerated().compactMap { string("\(path)[\($0.offset)]", $0.element) }
    }

    private mutating func integer(
      _ path: String, _ value: JSONValue, hint: String = "an integer is needed"
    ) -> Int64? {
      if value.integer == nil {
        fault(
          path, value.number == nil ? "\(hint), not \(value.kindName)" : "\(hint), not a fraction")
      }
      return value.integer
    }

    private mutating func duration(_ path: String, _ value: JSONValue) -> Duration? {
      guard let text = string(path, value) else { return nil }
      do {
        return try DurationText.parse(text)
      } catch {
        fault(path, error.description)
        return nil
      }
    }

    private mutating func time(_ path: String, _ value: JSONValue) -> UnixMilliseconds? {
      guard let text = string(path, value) else { return nil }
      do {
        return try RFC3339.parse(text)
      } catch {
        fault(path, error.description)
        return nil
      }
    }

    private mutating func unknown(_ name: String, under prefix: String = "", among names: [String]) {
      let nearest = NearestName.nearest(to: name, in: names).map { "; did you mean \($0)?" } ?? ""
      fault(prefix + name, "there is no such member\(nearest)")
    }

    private mutating func fault(_ path: String, _ detail: String) {
      faults.append(NotificationFinding(path, detail))
    }
  }
}
