import Testing

@testable import HTTP2

@Suite struct RequestHeaderEncoderTests {
  private func template(_ fields: [HTTP2Field], perRequest: String? = "apns-id") throws -> HTTP2RequestTemplate {
    try HTTP2RequestTemplate(
      authority: "api.example:443", pathPrefix: "/3/device/", fields: fields, perRequestField: perRequest, body: [])
  }

  /// The block of a request as the session composes it.
  private func block(
    _ encoder: inout RequestHeaderEncoder, _ template: HTTP2RequestTemplate, path: String = "/3/device/a",
    value: String = "v"
  ) -> [UInt8] {
    encoder.prepare(template)
    var block = encoder.head + [RequestHeaderEncoder.pathName]
    block += RequestHeaderEncoder.lengthPrefix(path.utf8.count) + Array(path.utf8) + encoder.tail
    if template.perRequestField != nil {
      block += RequestHeaderEncoder.lengthPrefix(value.utf8.count) + Array(value.utf8)
    }
    return block
  }

  private func expected(_ template: HTTP2RequestTemplate, path: String = "/3/device/a", value: String = "v") -> [String]
  {
    template.pseudoFields.map { "\($0.name)=\($0.value)" } + [":path=\(path)"]
      + template.otherFields.map { "\($0.name)=\($0.value)" }
      + (template.perRequestField.map { ["\($0)=\(value)"] } ?? [])
  }

  @Test("Shared fields are literals once and one byte each afterwards")
  func repeated() throws {
    let template = try template([
      HTTP2Field("authorization", "bearer x"), HTTP2Field("apns-topic", "com.example"),
      HTTP2Field("apns-priority", "10"),
    ])
    var encoder = RequestHeaderEncoder()
    var decoder = HeaderDecoder()

    let first = try decoder.decode(block(&encoder, template))
    let secondBlock = block(&encoder, template, path: "/3/device/b", value: "w")
    let second = try decoder.decode(secondBlock)

    #expect(first.map { "\($0.name)=\($0.value)" } == expected(template))
    #expect(second.map { "\($0.name)=\($0.value)" } == expected(template, path: "/3/device/b", value: "w"))
    #expect(
      first.map(\.form) == [
        .indexed, .indexed, .incremental, .without, .incremental, .incremental, .incremental, .never,
      ])
    #expect(second.map(\.form) == [.indexed, .indexed, .indexed, .without, .indexed, .indexed, .indexed, .never])
    #expect(secondBlock.count == 3 + 2 + 11 + 3 + 9 + 2)
  }

  @Test("A field marked never is a never-indexed literal each time")
  func never() throws {
    let template = try template([HTTP2Field("authorization", "bearer secret", indexing: .never)])
    var encoder = RequestHeaderEncoder()
    var decoder = HeaderDecoder()
    for _ in 0..<3 {
      let fields = try decoder.decode(block(&encoder, template))
      #expect(fields[4] == HeaderDecoder.Field(name: "authorization", value: "bearer secret", form: .never))
    }
  }

  @Test("A template without a per-request field ends with its shared fields")
  func withoutValue() throws {
    let template = try template([HTTP2Field("a", "1")], perRequest: nil)
    var encoder = RequestHeaderEncoder()
    var decoder = HeaderDecoder()
    #expect(try decoder.decode(block(&encoder, template)).map { "\($0.name)=\($0.value)" } == expected(template))
  }

  @Test("Long strings keep their length", arguments: [126, 127, 128, 254, 255, 256, 4000, 10_000])
  func longStrings(length: Int) throws {
    let long = String(repeating: "x", count: length)
    let template = try template([HTTP2Field("a", long), HTTP2Field("b", long, indexing: .never)])
    var encoder = RequestHeaderEncoder()
    var decoder = HeaderDecoder()
    for _ in 0..<2 {
      let fields = try decoder.decode(block(&encoder, template, path: "/" + long, value: long))
      #expect(fields.map { "\($0.name)=\($0.value)" } == expected(template, path: "/" + long, value: long))
    }
  }

  @Test("A template larger than the peer's table settles into a block that adds nothing")
  func largeTemplate() throws {
    let fields = (0..<100).map { HTTP2Field("field-\($0)", String(repeating: "v", count: 40)) }
    let template = try template(fields)
    var encoder = RequestHeaderEncoder()
    var decoder = HeaderDecoder()

    _ = try decoder.decode(block(&encoder, template))
    let later = try (0..<3).map { _ in try decoder.decode(block(&encoder, template)) }

    #expect(later.allSatisfy { $0.map { "\($0.name)=\($0.value)" } == expected(template) })
    #expect(later.last?.contains { $0.form == .incremental } == false)
    #expect(later.last?.contains { $0.form == .indexed && $0.name == "field-40" } == true)
  }

  @Test("Encoder and peer agree over any sequence of templates and table sizes", arguments: 0..<20)
  func anySequence(seed: UInt64) throws {
    var random = Generator(state: seed &* 0x9e37_79b9 &+ 1)
    var templates: [HTTP2RequestTemplate] = []
    for _ in 0..<12 {
      let fields = (0..<Int.random(in: 0...12, using: &random)).map { number in
        HTTP2Field(
          ["authorization", "content-type", "apns-topic", "x-\(number)"].randomElement(using: &random) ?? "x",
          String(repeating: "v", count: [1, 10, 60, 200, 900].randomElement(using: &random) ?? 1)
            + "\(Int.random(in: 0...3, using: &random))",
          indexing: Int.random(in: 0...4, using: &random) == 0 ? .never : .automatic)
      }
      templates.append(try template(fields))
    }
    var encoder = RequestHeaderEncoder()
    var decoder = HeaderDecoder()
    for step in 0..<400 {
      if Int.random(in: 0...9, using: &random) == 0 {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let size = [0, 31, 64, 300, 1000, 4096, 65_536].randomElement(using: &random) ?? 0
          encoder.limitTable(to: UInt32(size))
          decoder.announce(size)
        }
      }
      let template = try #require(templates.randomElement(using: &random))
      for repetition in 0..<Int.random(in: 1...3, using: &random) {
        let path = "/3/device/\(step).\(repetition)"
        let fields = try decoder.decode(block(&encoder, template, path: path))
        try #require(fields.map { "\($0.name)=\($0.value)" } == expected(template, path: path))
      }
    }
  }

  private struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }
}
