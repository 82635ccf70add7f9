/// The response fields to keep, in a form that compares bytes.
@safe final class WatchedFields {
  struct Field {
    let text: String
    let bytes: [UInt8]
    let always: Bool
  }

  private let fields: [Field]

  init(_ watched: [HTTP2WatchedField]) {
    fields = watched.map { Field(text: $0.name, bytes: Array($0.name.utf8), always: $0.always) }
  }

  /// The index of a watched field, or -1. Lengths differ for nearly all others, so most names cost one comparison each.
  func index(_ name: UnsafePointer<UInt8>, _ length: Int, status: UInt16) -> Int {
    for index in fields.indices where fields[index].bytes.count == length {
      guard fields[index].always || status != 200 else { continue }
      var same = true
      for offset in 0..<length where unsafe name[offset] != fields[index].bytes[offset] {
        same = false
        break
      }
      if same { return index }
    }
    return -1
  }

  func name(_ index: Int) -> String { fields[index].text }
}
