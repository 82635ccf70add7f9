import Composition
import PushCore
import Testing

@Suite("What makes two enqueues different")
struct DigestTests {
  private func hash(_ users: [String], _ values: [String]?) -> [UInt8] {
    var publication = Publication(
      topic: "com.example.app", target: Target(users: users), payload: Array(#"{"aps":{"alert":"{{name}}"}}"#.utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal)
    publication.recipientValues = values.map { values in
      var recipients = RecipientValues(names: ["name"])
      recipients.users = values.map { [Array($0.utf8)] }
      return recipients
    }
    return Digests.hash(of: publication)
  }

  @Test("the order of a target makes no difference; whose value it is does")
  func recipients() {
    #expect(hash(["ada", "eve"], nil) == hash(["eve", "ada"], nil))
    #expect(hash(["ada", "eve"], ["A", "E"]) == hash(["ada", "eve"], ["A", "E"]))
    #expect(hash(["ada", "eve"], ["A", "E"]) != hash(["eve", "ada"], ["A", "E"]))
    #expect(hash(["ada", "eve"], ["A", "E"]) != hash(["ada", "eve"], ["A", "X"]))
    #expect(hash(["ada"], [""]) != hash(["ada"], nil))
  }
}
