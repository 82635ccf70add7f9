import CNghttp2

@testable import HTTP2

extension FuzzTarget {
  /// Header blocks of any templates under any table sizes, read by nghttp2's decoder.
  static let headerBlock = FuzzTarget(name: "header-block") { bytes in
    var input = FuzzInput(bytes)
    var encoder = RequestHeaderEncoder()
    let decoder = try HeaderBlockDecoder()
    var templates: [HTTP2RequestTemplate] = []
    var steps = 0
    while !input.isEmpty, steps < 64 {
      steps += 1
      let byte = input.byte()
      switch byte & 3 {
      case 0: if let template = template(&input, count: Int(byte >> 2) % 8) { templates.append(template) }
      case 1:
        let size = UInt32(input.byte()) << (byte >> 3 & 7)
        encoder.limitTable(to: size)
        try decoder.limitTable(to: Int(size))
      default:
        guard !templates.isEmpty else { continue }
        let template = templates[Int(byte >> 2) % templates.count]
        let path = Array("/3/device/".utf8) + input.chunk(Int(input.byte() % 8))
        try check(template, path, &encoder, decoder)
      }
    }
  }

  private static func check(
    _ template: HTTP2RequestTemplate, _ path: [UInt8], _ encoder: inout RequestHeaderEncoder,
    _ decoder: HeaderBlockDecoder
  ) throws {
    encoder.prepare(template)
    var block = encoder.head + [RequestHeaderEncoder.pathName]
    block += RequestHeaderEncoder.lengthPrefix(path.count) + path + encoder.tail
    var expected = template.pseudoFields.map { (Array($0.name.utf8), Array($0.value.utf8)) }
    expected.append((Array(":path".utf8), path))
    expected += template.otherFields.map { (Array($0.name.utf8), Array($0.value.utf8)) }
    if let name = template.perRequestField {
      block += RequestHeaderEncoder.lengthPrefix(path.count) + path
      expected.append((Array(name.utf8), path))
    }
    let fields = try decoder.decode(block)
    try require(fields.elementsEqual(expected) { $0 == $1 }, "a header block is read otherwise")
  }

  private static func template(_ input: inout FuzzInput, count: Int) -> HTTP2RequestTemplate? {
    let names = ["authorization", "apns-topic", "content-type", "x", "accept-encoding", "apns-priority"]
    let fields = (0..<count).map { _ in
      let name = names[Int(input.byte()) % names.count]
      let length = input.byte()
      let value = String(decoding: input.chunk(Int(length & 15)), as: UTF8.self)
      return HTTP2Field(
        name, String(repeating: value, count: 1 << Int(length >> 5)), indexing: length & 16 == 0 ? .automatic : .never)
    }
    let perRequest = input.byte() & 1 == 0 ? "apns-id" : nil
    return try? HTTP2RequestTemplate(
      authority: "api.example:443", pathPrefix: "/3/device/", fields: fields, perRequestField: perRequest, body: [])
  }
}

/// nghttp2's HPACK decoder.
private final class HeaderBlockDecoder {
  private let inflater: OpaquePointer

  init() throws {
    var made: OpaquePointer?
    guard nghttp2_hd_inflate_new(&made) == 0, let made else { throw Violation("nghttp2 has no memory") }
    inflater = made
  }

  deinit { nghttp2_hd_inflate_del(inflater) }

  func limitTable(to size: Int) throws {
    try require(nghttp2_hd_inflate_change_table_size(inflater, size) == 0, "nghttp2 takes no table of \(size)")
  }

  func decode(_ block: [UInt8]) throws -> [([UInt8], [UInt8])] {
    var fields: [([UInt8], [UInt8])] = []
    var offset = 0
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let rest = Array(block[offset...])
      let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, rest, rest.count, 1)
      try require(count >= 0, "nghttp2 refuses a header block (\(count))")
      offset += count
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
        fields.append(
          (
            Array(UnsafeBufferPointer(start: field.name, count: field.namelen)),
            Array(UnsafeBufferPointer(start: field.value, count: field.valuelen))
          ))
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
      }
      try require(count > 0 || flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0, "nghttp2 does not end a block")
    }
  }
}
