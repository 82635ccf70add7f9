import PushCore
import Testing

@Suite("The values of recipients in the store")
struct SubstitutionsTests {
  private static let payload = Array(#"{"aps":{"alert":"{{a}}-{{b}}"}}"#.utf8)

  private func value(_ text: String) -> RecipientValues.Entry { [Array(text.utf8), Array("b\(text)".utf8)] }

  /// Two interests, users and tokens each, whose ids and bytes have another order than the sender's.
  private func sample() -> (target: PackedTarget, substitutions: Substitutions) {
    let target = Target(interests: ["news", "chess"], users: ["zoe", "ada"], tokens: [1, 2].map { token($0) })
    var values = RecipientValues(names: ["a", "b"])
    values.interests = [value("news"), value("chess")]
    values.users = [value("zoe"), value("ada")]
    values.tokens = [value("one"), value("two")]
    let interests = [InterestID(9), InterestID(3)]
    let devices = [DeviceID(700), DeviceID(50)]
    return (
      PackedTarget(
        interests: interests, users: target.users, devices: devices, everyone: false, reachesUnverifiedUsers: false),
      Substitutions(values, of: target, interests: interests, devices: devices)
    )
  }

  private func token(_ number: Int) -> DeviceToken { DeviceToken(stored: "\(number)0") }

  @Test("the entries have the target's order, and come back as they went in")
  func roundTrip() throws {
    let (target, substitutions) = sample()
    #expect(substitutions.names == ["a", "b"])
    #expect(substitutions.entries == ["chess", "news", "ada", "zoe", "two", "one"].map(value))
    #expect(substitutions.interestPlaces == [1, 0])
    #expect(Substitutions(encoded: substitutions.encoded, of: target) == substitutions)
  }

  @Test("the stored form is the documented one")
  func bytes() {
    let target = Target(interests: ["i"], users: ["u"])
    var values = RecipientValues(names: ["n"])
    values.interests = [[[0x41]]]
    values.users = [[[]]]
    let substitutions = Substitutions(values, of: target, interests: [InterestID(7)], devices: [])
    #expect(substitutions.encoded == [1, 1, 1, 0x6E, 0, 1, 0x41, 0])
  }

  @Test("bytes that are cut, too long, of another version or of another target are not read")
  func damaged() {
    let (target, substitutions) = sample()
    let bytes = substitutions.encoded
    for end in bytes.indices { #expect(Substitutions(encoded: Array(bytes[..<end]), of: target) == nil) }
    #expect(Substitutions(encoded: bytes + [0], of: target) == nil)
    #expect(Substitutions(encoded: [2] + bytes.dropFirst(), of: target) == nil)
    var other = target
    other.users.append("zzz")
    #expect(Substitutions(encoded: bytes, of: other) == nil)
    other = target
    other.interests = []
    #expect(Substitutions(encoded: bytes, of: other) == nil)
  }

  @Test("a target with values beside it cannot be read by a version that knows none")
  func mark() {
    var target = sample().target
    let plain = target.encoded
    target.hasValues = true
    #expect(plain[1] == 0 && target.encoded[1] == 4 && target.encoded.dropFirst(2) == plain.dropFirst(2))
    #expect(PackedTarget(encoded: target.encoded) == target)
  }

  @Test("a device takes its own values, else its user's, else those of the interest that was listed first")
  func order() {
    let (target, substitutions) = sample()
    let order = RecipientOrder(target, substitutions)
    func taken(_ device: Int64, _ user: String?, _ interest: Int?) -> String? {
      order.entry(of: DeviceID(device), user: user, interest: interest).map {
        String(decoding: substitutions.entries[$0][0], as: UTF8.self)
      }
    }
    #expect(order.interests == [InterestID(9), InterestID(3)])
    #expect(taken(700, "ada", 0) == "one" && taken(50, nil, nil) == "two")
    #expect(taken(51, "ada", 0) == "ada" && taken(1, "zoe", 1) == "zoe")
    #expect(taken(51, "eve", 0) == "news" && taken(51, nil, 1) == "chess")
    #expect(taken(51, "eve", nil) == nil && taken(800, nil, nil) == nil)
  }

  @Test("each entry gives its own payload; a payload with other names does not fit")
  func payloads() throws {
    let (_, substitutions) = sample()
    let personal = try #require(PersonalPayload(Self.payload, substitutions))
    #expect(personal.bytes(ofEntry: 2) == Array(#"{"aps":{"alert":"ada-bada"}}"#.utf8))
    #expect(PersonalPayload(Array(#"{"aps":{"alert":"{{b}}-{{a}}"}}"#.utf8), substitutions) == nil)
    #expect(PersonalPayload(Array("{".utf8), substitutions) == nil)
  }
}
