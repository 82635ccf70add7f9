import Testing

@testable import PushCore

@Suite("Whose a device is after a registration")
struct DeviceOwnerTests {
  private func registration(_ user: Change<String?>, verified: Bool = false) throws -> DeviceRegistration {
    DeviceRegistration(
      topic: "com.example.app", environment: .production, token: DeviceToken(stored: "0a"), user: user,
      userIsVerified: verified)
  }

  @Test(
    "a proof stays with who was proved, and never passes to another",
    arguments: [
      (DeviceOwner(user: nil, isVerified: false), "ada", false, false, false),
      (DeviceOwner(user: nil, isVerified: false), "ada", true, true, false),
      (DeviceOwner(user: "ada", isVerified: true), "ada", false, true, false),
      (DeviceOwner(user: "ada", isVerified: true), "eve", false, false, true),
      (DeviceOwner(user: "ada", isVerified: false), "eve", true, true, true),
      (DeviceOwner(user: "e\u{301}ve", isVerified: true), "\u{e9}ve", false, false, true),
      (DeviceOwner(user: "ada", isVerified: true), nil, true, false, true),
    ] as [(DeviceOwner, String?, Bool, Bool, Bool)])
  func proof(before: DeviceOwner, user: String?, verified: Bool, isVerified: Bool, hasNewUser: Bool) throws {
    var owner = before

    #expect(owner.apply(try registration(.set(user), verified: verified)) == hasNewUser)

    #expect(owner.user == user && owner.isVerified == isVerified)
  }

  @Test("a registration that says nothing of the user changes nothing")
  func unchanged() throws {
    var owner = DeviceOwner(user: "ada", isVerified: true)

    #expect(!owner.apply(try registration(.unchanged, verified: true)))

    #expect(owner == DeviceOwner(user: "ada", isVerified: true))
  }
}
