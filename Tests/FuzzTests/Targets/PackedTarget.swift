@testable import PushCore

extension FuzzTarget {
  /// What the store keeps packed: lists of ids, targets, receipts and headers. The first byte chooses the form for damaged
  /// bytes; values made of the rest must survive packing.
  static let packed = FuzzTarget(name: "packed") { bytes in
    try checkDamaged(Array(bytes.dropFirst()), count: Int(Int8(bitPattern: bytes.first ?? 0)))
    try checkRoundTrip(bytes)
  }

  private static func checkDamaged(_ bytes: [UInt8], count: Int) throws {
    if let ids = DeltaVarint.decode(list: bytes) {
      try require(DeltaVarint.decode(list: DeltaVarint.encode(list: ids)) == ids, "a list is read otherwise")
      try require(zip(ids, ids.dropFirst()).allSatisfy { $0.rawValue <= $1.rawValue }, "a list does not ascend")
    }
    if let target = PushCore.PackedTarget(encoded: bytes) {
      try require(PushCore.PackedTarget(encoded: target.encoded) == target, "a target is read otherwise")
    }
    let target = PushCore.PackedTarget(
      interests: [InterestID(1), InterestID(2)], users: ["ada"], devices: [DeviceID(3)], everyone: false,
      reachesUnverifiedUsers: false)
    if let substitutions = Substitutions(encoded: bytes, of: target) {
      try require(substitutions.entries.count == 4, "another number of entries")
      try require(
        Substitutions(encoded: substitutions.encoded, of: target) == substitutions, "values are read otherwise")
      _ = RecipientOrder(target, substitutions).entry(of: DeviceID(3), user: "ada", interest: 0)
    }
    if let chunk = ReceiptChunk(encoded: bytes, count: count) {
      try require(chunk.devices.count == count, "another number of receipts")
      try require(chunk.exceptions.allSatisfy { $0.index < count }, "an exception for no device")
      try require(ReceiptChunk(encoded: chunk.encoded, count: count) == chunk, "receipts are read otherwise")
    }
    if let headers = PushHeaders(encoded: bytes) {
      try require(PushHeaders(encoded: headers.encoded) == headers, "headers are read otherwise")
    }
  }

  private static func checkRoundTrip(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let number = input.number()
    var packed: [UInt8] = []
    DeltaVarint.append(number, to: &packed)
    var index = 0
    try require(DeltaVarint.read(packed.span, &index) == number && index == packed.count, "a number is read otherwise")

    var users: [String] = []
    var ids: [Int64] = []
    while !input.isEmpty, ids.count < 100 {
      ids.append(Int64(input.number() >> (1 + UInt64(input.byte() % 62))))
      users.append(String(decoding: input.chunk(Int(input.byte() % 16)), as: UTF8.self))
    }
    let target = PushCore.PackedTarget(
      interests: ids.map(InterestID.init), users: users, devices: ids.map(DeviceID.init), everyone: number & 1 == 1,
      reachesUnverifiedUsers: number & 2 == 2)
    try require(
      Set(target.users.map { Array($0.utf8) }) == Set(users.map { Array($0.utf8) }), "a user got lost in a target")
    guard let stored = PushCore.PackedTarget(encoded: target.encoded) else {
      throw Violation("a target cannot be read")
    }
    try require(stored == target, "a target is read otherwise")

    let devices = Set(ids).sorted().map(DeviceID.init)
    let exceptions = devices.indices.filter { $0.isMultiple(of: 3) }.map {
      ReceiptChunk.Exception(index: $0, status: $0 % 600, reason: ReasonID(Int32($0)), outcome: .rejected)
    }
    let chunk = ReceiptChunk(devices: devices, exceptions: exceptions)
    try require(ReceiptChunk(encoded: chunk.encoded, count: devices.count) == chunk, "receipts are read otherwise")
    let parts = chunk.split(into: Int(number % 7))
    try require(parts.flatMap(\.devices) == devices, "a receipt got lost in splitting")
    try require(parts.reduce(0) { $0 + $1.exceptions.count } == exceptions.count, "an exception got lost in splitting")
  }
}
