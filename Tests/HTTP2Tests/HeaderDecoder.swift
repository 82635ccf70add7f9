import Testing

@testable import HTTP2

/// A decoder of header blocks (RFC 7541) that is as strict as a peer: it keeps its own table and refuses what the RFC does.
/// Without Huffman coding, which our encoder does not use.
struct HeaderDecoder {
  struct Field: Equatable, CustomStringConvertible {
    enum Form { case indexed, incremental, without, never }
    let name: String
    let value: String
    let form: Form
    var description: String { "\(name): \(value) (\(form))" }
  }

  enum Failure: Error { case truncated, badIndex, huffman, tooLargeUpdate, lateUpdate, missingUpdate }

  /// Newest first.
  private var entries: [(name: String, value: String)] = []
  private var capacity = 4096
  /// What this peer has announced, and the smallest announced since the last block.
  private var announced = 4096
  private var mustUpdateTo: Int?

  var size: Int { entries.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 } }

  /// This peer's SETTINGS_HEADER_TABLE_SIZE, as acknowledged.
  mutating func announce(_ size: Int) {
    if size < capacity { mustUpdateTo = min(mustUpdateTo ?? size, size) }
    announced = size
  }

  mutating func decode(_ block: [UInt8]) throws -> [Field] {
    var input = block[...]
    var fields: [Field] = []
    var smallestUpdate = Int.max
    while let first = input.first {
      if first & 0xe0 == 0x20 {
        guard fields.isEmpty else { throw Failure.lateUpdate }
        capacity = try Self.integer(&input, 5)
        guard capacity <= announced else { throw Failure.tooLargeUpdate }
        smallestUpdate = min(smallestUpdate, capacity)
        evict(0)
        continue
      }
      if let bound = mustUpdateTo {
        guard smallestUpdate <= bound else { throw Failure.missingUpdate }
        mustUpdateTo = nil
      }
      fields.append(try field(&input, first))
    }
    return fields
  }

  private mutating func field(_ input: inout ArraySlice<UInt8>, _ first: UInt8) throws -> Field {
    if first & 0x80 != 0 {
      let (name, value) = try entry(Self.integer(&input, 7))
      return Field(name: name, value: value, form: .indexed)
    }
    let form: Field.Form = first & 0x40 != 0 ? .incremental : first & 0x10 != 0 ? .never : .without
    let index = try Self.integer(&input, form == .incremental ? 6 : 4)
    let name = index == 0 ? try Self.string(&input) : try entry(index).name
    let value = try Self.string(&input)
    if form == .incremental {
      evict(name.utf8.count + value.utf8.count + 32)
      entries.insert((name, value), at: 0)
      if size > capacity { entries.removeAll() }
    }
    return Field(name: name, value: value, form: form)
  }

  private mutating func evict(_ room: Int) { while size + room > capacity, !entries.isEmpty { entries.removeLast() } }

  private func entry(_ index: Int) throws -> (name: String, value: String) {
    // The part of appendix A that requests use, copied from the RFC.
    let fixed: [Int: (String, String)] = [
      1: (":authority", ""), 2: (":method", "GET"), 3: (":method", "POST"), 4: (":path", "/"), 6: (":scheme", "http"),
      7: (":scheme", "https"), 23: ("authorization", ""), 31: ("content-type", ""), 58: ("user-agent", ""),
    ]
    if index <= 61 {
      guard let entry = fixed[index] else { throw Failure.badIndex }
      return entry
    }
    guard index - 62 < entries.count else { throw Failure.badIndex }
    return entries[index - 62]
  }

  private static func integer(_ input: inout ArraySlice<UInt8>, _ bits: Int) throws -> Int {
    guard let first = input.popFirst() else { throw Failure.truncated }
    let limit = (1 << bits) - 1
    var value = Int(first) & limit
    guard value == limit else { return value }
    var shift = 0
    while true {
      guard let next = input.popFirst(), shift < 28 else { throw Failure.truncated }
      value += Int(next & 0x7f) << shift
      shift += 7
      if next & 0x80 == 0 { return value }
    }
  }

  private static func string(_ input: inout ArraySlice<UInt8>) throws -> String {
    guard let first = input.first, first & 0x80 == 0 else { throw Failure.huffman }
    let length = try integer(&input, 7)
    guard input.count >= length else { throw Failure.truncated }
    defer { input = input.dropFirst(length) }
    return String(decoding: input.prefix(length), as: UTF8.self)
  }
}
