/// The values of a notification's recipients, as the store keeps them beside payload and target: version byte 1, the number of names and
/// the names; then an entry for each interest, user and device of the target, in its order. An interest's entry begins with its place
/// among the interests as their sender listed them. Texts are length and bytes.
public struct Substitutions: Sendable, Equatable {
  /// The names of the payload's placeholders.
  public let names: [String]
  /// The entries, in the target's order: interests, users, devices.
  public let entries: [RecipientValues.Entry]
  /// Of each interest of the target, its place among the interests as their sender listed them.
  public let interestPlaces: [Int]

  /// Brings values into the order of the packed target.
  ///
  /// - Parameters:
  ///   - interests: the ids of the target's interests, in its order.
  ///   - devices: the ids of the target's tokens, in its order.
  public init(_ values: RecipientValues, of target: Target, interests: [InterestID], devices: [DeviceID]) {
    names = values.names
    let byInterest = interests.indices.sorted { interests[$0] < interests[$1] }
    let byUser = target.users.indices.sorted { target.users[$0].utf8.lexicographicallyPrecedes(target.users[$1].utf8) }
    let byDevice = devices.indices.sorted { devices[$0] < devices[$1] }
    interestPlaces = byInterest
    entries =
      byInterest.map { values.interests[$0] } + byUser.map { values.users[$0] } + byDevice.map { values.tokens[$0] }
  }

  /// The stored form.
  public var encoded: [UInt8] {
    var bytes: [UInt8] = [1]
    func append(_ text: some Collection<UInt8>) {
      DeltaVarint.append(UInt64(text.count), to: &bytes)
      bytes.append(contentsOf: text)
    }
    DeltaVarint.append(UInt64(names.count), to: &bytes)
    for name in names { append(Array(name.utf8)) }
    for (index, entry) in entries.enumerated() {
      if index < interestPlaces.count { DeltaVarint.append(UInt64(interestPlaces[index]), to: &bytes) }
      for value in entry { append(value) }
    }
    return bytes
  }

  /// Reads the stored form; nil when the bytes are none that this version knows, or belong to another target.
  public init?(encoded: [UInt8], of target: PackedTarget) {
    let bytes = encoded.span
    var index = 1
    guard bytes.count >= 2, bytes[0] == 1, let nameCount = DeltaVarint.read(bytes, &index),
      nameCount <= UInt64(bytes.count)
    else { return nil }
    var names: [String] = []
    for _ in 0..<nameCount {
      guard let name = Self.text(bytes, &index).flatMap({ String(validating: $0, as: UTF8.self) }) else { return nil }
      names.append(name)
    }
    var entries: [RecipientValues.Entry] = []
    var places: [Int] = []
    for number in 0..<target.interests.count + target.users.count + target.devices.count {
      if number < target.interests.count {
        guard let place = DeltaVarint.read(bytes, &index).flatMap(Int.init(exactly:)) else { return nil }
        places.append(place)
      }
      var entry: RecipientValues.Entry = []
      for _ in names {
        guard let value = Self.text(bytes, &index) else { return nil }
        entry.append(value)
      }
      entries.append(entry)
    }
    guard index == bytes.count, places.sorted() == Array(places.indices) else { return nil }
    self.names = names
    self.entries = entries
    interestPlaces = places
  }

  private static func text(_ bytes: Span<UInt8>, _ index: inout Int) -> [UInt8]? {
    guard let length = DeltaVarint.read(bytes, &index), length <= UInt64(bytes.count - index) else { return nil }
    let end = index + Int(length)
    var text: [UInt8] = []
    text.reserveCapacity(end - index)
    while index < end {
      text.append(bytes[index])
      index += 1
    }
    return text
  }
}
