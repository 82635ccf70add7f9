/// HPACK's static table (RFC 7541 appendix A), as far as requests use it.
enum StaticTable {
  /// The entries that stand for a whole field, by their index.
  private static let fields: [(name: String, value: String, index: UInt8)] = [
    (":method", "GET", 2), (":method", "POST", 3), (":path", "/", 4), (":path", "/index.html", 5),
    (":scheme", "http", 6),
    (":scheme", "https", 7), ("accept-encoding", "gzip, deflate", 16),
  ]

  /// The first entry of each name, by its index.
  private static let names: [(name: String, index: UInt8)] = [
    (":authority", 1), (":method", 2), (":path", 4), (":scheme", 6), ("accept-charset", 15), ("accept-encoding", 16),
    ("accept-language", 17), ("accept-ranges", 18), ("accept", 19), ("age", 21), ("allow", 22), ("authorization", 23),
    ("cache-control", 24), ("content-disposition", 25), ("content-encoding", 26), ("content-language", 27),
    ("content-length", 28), ("content-location", 29), ("content-range", 30), ("content-type", 31), ("cookie", 32),
    ("date", 33), ("etag", 34), ("expect", 35), ("expires", 36), ("from", 37), ("host", 38), ("if-match", 39),
    ("if-modified-since", 40), ("if-none-match", 41), ("if-range", 42), ("if-unmodified-since", 43),
    ("last-modified", 44), ("link", 45), ("location", 46), ("max-forwards", 47), ("proxy-authenticate", 48),
    ("proxy-authorization", 49), ("range", 50), ("referer", 51), ("refresh", 52), ("retry-after", 53), ("server", 54),
    ("set-cookie", 55), ("strict-transport-security", 56), ("transfer-encoding", 57), ("user-agent", 58), ("vary", 59),
    ("via", 60), ("www-authenticate", 61),
  ]

  /// The number of entries; the dynamic table's indices follow.
  static let count = 61
  /// The index of the name `:path`.
  static let path: UInt8 = 4

  /// The index of a whole field, or nil.
  static func index(_ name: String, _ value: String) -> UInt8? {
    fields.first { $0.name == name && $0.value == value }?.index
  }

  /// The index of a name, or nil.
  static func index(_ name: String) -> UInt8? { names.first { $0.name == name }?.index }
}
