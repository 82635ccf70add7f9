/// HPACK (RFC 7541) for the requests of one connection, built for many requests that share all fields but two: the shared
/// ones cost a byte each once they are in the peer's table, and the bytes of a template are made once, not per request.
///
/// A header block is: a pending table size update, ``head`` (pseudo fields), the literal `:path`, ``tail`` (the other shared
/// fields and the name of the per-request field), and that field's value. Strings are sent without Huffman coding: it would
/// save 20 bytes of 400 and cost a fifth of the client's processor time.
///
/// A value: it knows no connection, and its table is what the peer's decoder has after the blocks in the order they were
/// made. A block that was made must be sent.
struct RequestHeaderEncoder {
  /// The table size before the peer's SETTINGS, and the most we use (RFC 7541 section 4.2).
  private static let defaultCapacity = 4096
  /// The octets that RFC 7541 section 4.1 counts for an entry beside its strings.
  private static let entryOverhead = 32

  private struct Entry {
    let name: [UInt8]
    let value: [UInt8]
    var size: Int { name.count + value.count + RequestHeaderEncoder.entryOverhead }
  }

  /// The dynamic table, oldest entry first.
  private var entries: [Entry] = []
  private var size = 0
  private var capacity = defaultCapacity
  /// The smallest capacity that the peer has not been told of; nil when there is nothing to tell.
  private var untoldMinimum: Int?
  private var template: HTTP2RequestTemplate?
  /// The blocks below add nothing to the table: they serve for further requests of the template.
  private var isStable = false
  /// What goes before the path.
  private(set) var head: [UInt8] = []
  /// What goes between path and per-request value.
  private(set) var tail: [UInt8] = []

  /// Takes over the peer's SETTINGS_HEADER_TABLE_SIZE.
  mutating func limitTable(to octets: UInt32) {
    let capacity = min(Int(octets), Self.defaultCapacity)
    guard capacity != self.capacity else { return }
    self.capacity = capacity
    untoldMinimum = min(untoldMinimum ?? capacity, capacity)
    evict(room: 0)
    isStable = false
  }

  /// Makes ``head`` and ``tail`` for the next request, which must be sent with them.
  mutating func prepare(_ template: HTTP2RequestTemplate) {
    if isStable, self.template === template { return }
    self.template = template
    isStable = true
    head.removeAll(keepingCapacity: true)
    tail.removeAll(keepingCapacity: true)
    appendSizeUpdates()
    // A template larger than the table would push its own first fields out again: the last ones go without indexing.
    var room = capacity
    for field in template.pseudoFields { Self.append(encode(field, &room), to: &head) }
    for field in template.otherFields { Self.append(encode(field, &room), to: &tail) }
    if let name = template.perRequestField { Self.append(Self.literal(0x10, prefixBits: 4, name), to: &tail) }
  }

  /// The octets before the text of a literal of `length` octets (RFC 7541 section 5.2, without Huffman coding).
  static func lengthPrefix(_ length: Int) -> [UInt8] { integer(length, firstByte: 0, prefixBits: 7) }

  /// The start of the literal `:path`, never put into the table.
  static let pathName: UInt8 = StaticTable.path

  private static func append(_ bytes: [UInt8], to block: inout [UInt8]) { block += bytes }
}

// MARK: - Fields

extension RequestHeaderEncoder {
  private mutating func encode(_ field: HTTP2Field, _ room: inout Int) -> [UInt8] {
    if field.indexing == .never {
      return Self.literal(0x10, prefixBits: 4, field.name) + Self.string(Array(field.value.utf8))
    }
    if let index = StaticTable.index(field.name, field.value) {
      return Self.integer(Int(index), firstByte: 0x80, prefixBits: 7)
    }
    let entry = Entry(name: Array(field.name.utf8), value: Array(field.value.utf8))
    guard entry.size <= room else {
      return Self.literal(0, prefixBits: 4, field.name) + Self.string(entry.value)
    }
    room -= entry.size
    if let place = entries.lastIndex(where: { $0.value == entry.value && $0.name == entry.name }) {
      return Self.integer(StaticTable.count + entries.count - place, firstByte: 0x80, prefixBits: 7)
    }
    // The next request finds the field in the table, at another index.
    isStable = false
    evict(room: entry.size)
    entries.append(entry)
    size += entry.size
    return Self.literal(0x40, prefixBits: 6, field.name) + Self.string(entry.value)
  }

  private mutating func evict(room: Int) {
    while size + room > capacity, !entries.isEmpty { size -= entries.removeFirst().size }
  }

  private mutating func appendSizeUpdates() {
    guard let minimum = untoldMinimum else { return }
    untoldMinimum = nil
    isStable = false
    // RFC 7541 section 4.2: the smallest size in between, then the final one.
    head += Self.integer(minimum, firstByte: 0x20, prefixBits: 5)
    if minimum != capacity { head += Self.integer(capacity, firstByte: 0x20, prefixBits: 5) }
  }

  /// A literal field's beginning with its name, by index if the static table has it.
  private static func literal(_ pattern: UInt8, prefixBits: UInt8, _ name: String) -> [UInt8] {
    if let index = StaticTable.index(name) { return integer(Int(index), firstByte: pattern, prefixBits: prefixBits) }
    return [pattern] + string(Array(name.utf8))
  }

  private static func string(_ bytes: [UInt8]) -> [UInt8] { lengthPrefix(bytes.count) + bytes }

  /// RFC 7541 section 5.1.
  private static func integer(_ value: Int, firstByte: UInt8, prefixBits: UInt8) -> [UInt8] {
    let limit = (1 << Int(prefixBits)) - 1
    guard value >= limit else { return [firstByte | UInt8(value)] }
    var bytes = [firstByte | UInt8(limit)]
    var rest = value - limit
    while rest >= 128 {
      bytes.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
    return bytes
  }
}
