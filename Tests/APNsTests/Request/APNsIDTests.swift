import PushCore
import Testing

@testable import APNs

@Suite("apns-id")
struct APNsIDTests {
  /// Made with Python's hashlib and uuid from the namespace and name that the documentation states.
  static let vectors: [(Int64, Int64, String)] = [
    (0, 0, "087e5790-860d-58ec-a9f6-06ef049870be"),
    (1, 2, "6be413b3-853a-569c-ac39-45141c62681d"),
    (9_007_199_254_740_991, 4_502_500_115_742_721, "8bf5e2f7-b9f8-5f41-abc2-3d08551511a3"),
    (889_032_704_000, 1_099_511_627_776, "0c77d3fb-0a57-5e83-9dae-682172d79006"),
  ]

  @Test("notification and device always give the same UUID of version 5", arguments: vectors)
  func vector(notification: Int64, device: Int64, expected: String) throws {
    let id = try APNsID.make(notification: NotificationID(notification), device: DeviceID(device))
    #expect(id == expected)
    #expect(NotificationLimits.fault(inAPNsID: id) == nil)
  }

  @Test("ten thousand devices have ten thousand ids, also from one maker")
  func distinct() throws {
    let maker = try APNsID.Maker(notification: NotificationID(7))
    var ids: Set<String> = []
    for device in 0..<10_000 {
      let text = maker.make(DeviceID(Int64(device)))
      ids.insert(String(decoding: text.indices.map { text[$0] }, as: UTF8.self))
    }
    #expect(ids.count == 10_000)
    #expect(ids.contains(try APNsID.make(notification: NotificationID(7), device: DeviceID(9999))))
  }
}
