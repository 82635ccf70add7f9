import JSON
import Operations
import PushCore

/// Reads the members of a small JSON object and gathers every fault: unknown and repeated members, values of a wrong type.
struct ObjectReader {
  private(set) var faults: [NotificationFinding] = []
  private var members: [String: JSONValue] = [:]

  /// Reads a body; an empty one counts as `{}`.
  ///
  /// - Parameter names: the members that may be there.
  /// - Throws: when it is no JSON.
  init(_ body: [UInt8], names: [String]) throws(JSONError) {
    guard !body.isEmpty else { return }
    let value = try JSONValue(parsing: body)
    guard let object = value.object else {
      faults = [NotificationFinding("", "a JSON object is needed, not \(value.kindName)")]
      return
    }
    for member in object {
      guard names.contains(member.name) else {
        let nearest = NearestName.nearest(to: member.name, in: names).map { "; did you mean \($0)?" } ?? ""
        fault(member.name, "there is no such member\(nearest)")
        continue
      }
      if members.updateValue(member.value, forKey: member.name) != nil {
        fault(member.name, "the member is there twice")
      }
    }
  }

  /// Notes a fault.
  mutating func fault(_ path: String, _ detail: String) { faults.append(NotificationFinding(path, detail)) }

  /// A string; nil when it is absent, null or wrong.
  mutating func string(_ name: String) -> String? {
    guard let value = members[name], !value.isNull else { return nil }
    if value.string == nil { fault(name, "it must be a string, not \(value.kindName)") }
    return value.string
  }

  /// A string that may be absent (unchanged) or null (removed); `fault` says what is wrong with a text.
  mutating func change(_ name: String, _ faultIn: (String) -> String?) -> Change<String?> {
    guard let value = members[name] else { return .unchanged }
    if value.isNull { return .set(nil) }
    guard let text = string(name) else { return .unchanged }
    if let detail = faultIn(text) { fault(name, detail) }
    return .set(text)
  }

  /// An array of strings that may be absent (unchanged); null is empty.
  mutating func changes(_ name: String, _ faultIn: (String) -> String?) -> Change<[String]> {
    guard let value = members[name] else { return .unchanged }
    if value.isNull { return .set([]) }
    guard let elements = value.array else {
      fault(name, "it must be an array of strings, not \(value.kindName)")
      return .unchanged
    }
    var texts: [String] = []
    for (index, element) in elements.enumerated() {
      guard let text = element.string else {
        fault("\(name)[\(index)]", "it must be a string, not \(element.kindName)")
        continue
      }
      if let detail = faultIn(text) { fault("\(name)[\(index)]", detail) }
      texts.append(text)
    }
    return .set(texts)
  }

  /// Throws when there are faults.
  func check() throws(Problem) {
    guard faults.isEmpty else { throw Problem(faults) }
  }
}
