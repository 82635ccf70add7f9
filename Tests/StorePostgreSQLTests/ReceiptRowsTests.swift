import APNs
import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// Receipts as SQL shows them are those that the store shows.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct ReceiptRowsTests {
  @Test("The words of reasons are those of the reason table")
  func reasons() async throws {
    try await withConnection { connection in
      let words = (1..<1000).compactMap { number in
        ReasonTable.text(of: ReasonID(Int32(number)), stored: nil).map { "\(number)=\($0)" }
      }
      let rows = try connection.execute(
        "SELECT string_agg(reason_id||'='||text, ' ' ORDER BY reason_id) FROM pushrelay.known_reason")
      #expect(words.count > 40 && rows == words.joined(separator: " "))
    }
  }

  @Test("A chunk unpacks in SQL to what it was packed from")
  func unpacking() async throws {
    try await withConnection { connection in
      var random = SystemRandomNumberGenerator()
      for round in 0..<60 {
        var ids: Set<Int64> = []
        while ids.count < 1 + round * 3 {
          ids.insert(.random(in: 1..<(1 << (round.isMultiple(of: 2) ? 10 : 52)), using: &random))
        }
        let devices = ids.sorted().map { DeviceID($0) }
        let exceptions = devices.indices.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }.map {
          ReceiptChunk.Exception(
            index: $0, status: .random(in: 0..<1000, using: &random),
            reason: ReasonID(.random(in: 0..<2000, using: &random)),
            outcome: Outcome.allCases.randomElement(using: &random) ?? .failed)
        }
        let chunk = ReceiptChunk(devices: devices, exceptions: exceptions)
        let expected = devices.indices.map { index in
          let exception = exceptions.first { $0.index == index }
          return "\(devices[index].rawValue) \(exception?.outcome.rawValue ?? 1) \(exception?.status ?? 200) "
            + "\(exception?.reason.rawValue ?? 0)"
        }
        let hex = chunk.encoded.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let rows = try connection.execute(
          """
          SELECT string_agg(concat_ws(' ',device_id,outcome,status,reason), ';')
          FROM pushrelay.unpack_receipts('\\x\(hex)', \(devices.count))
          """)
        #expect(rows == expected.joined(separator: ";"))
      }
    }
  }

  @Test("Rows and packed receipts of a notification read as the store reads them", arguments: [true, false])
  func sameReceipts(asRows: Bool) async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      let fixture = StoreFixture(store: store, clocks: DrivenClocks(), openAnother: { store })
      try await fixture.bindApp()
      let devices = try await fixture.register(1...50, interests: ["news"]).sorted()
      let id = try await fixture.publish(Target(interests: ["news"]), lane: asRows ? .normal : .bulk)
      let task = try await fixture.claimOne(asRows ? .normal : .bulk)
      let unknown = try await store.reasonID(for: "NewInAPNs")
      try await fixture.flush(
        .news(
          of: task, accepted: Array(devices.dropFirst(3)),
          others: [
            (devices[0], .rejected, ReasonID(1)), (devices[1], .failed, unknown),
            (devices[2], .skipped, .deviceRetired),
          ],
          ends: true, rows: asRows))
      _ = try await store.removeDevice(
        topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(50))

      let expected = try await fixture.receipts(id).map { receipt in
        [
          "\(receipt.deviceID.rawValue)", receipt.token?.text ?? "-", receipt.environment?.name ?? "-",
          receipt.outcome.name,
          receipt.status == 0 ? "-" : "\(receipt.status)",
          ReasonTable.text(of: receipt.reason, stored: receipt.storedReason) ?? "-", "\(receipt.at.value)",
        ].joined(separator: " ")
      }
      let connection = try Connection(location, patience: .seconds(10), answerTime: .seconds(20))
      let rows = try connection.execute(
        """
        SELECT string_agg(concat_ws(' ', device_id, coalesce(token,'-'), coalesce(environment,'-'), outcome,
          coalesce(status::text,'-'), coalesce(reason,'-'), (extract(epoch FROM at)*1000)::bigint), ';' ORDER BY device_id)
        FROM pushrelay.receipt_rows WHERE notification_id='\(id)' AND topic='\(StoreFixture.topic)' AND attempt=0
        """)
      #expect(expected.count == 50 && rows == expected.joined(separator: ";"))
      await store.close()
    }
  }

  @Test("Receipts of one notification are found by index, however many others there are")
  func plan() async throws {
    try await withConnection { connection in
      try connection.execute("SET enable_seqscan=off")
      let plan = try connection.query(
        text: "EXPLAIN SELECT * FROM pushrelay.receipt_rows WHERE notification_id=1", []
      ).rows.map { $0.text(0) }
      #expect(plan.contains { $0.contains("Index Cond: (notification_id = ") } && plan.count > 10)
      #expect(!plan.contains { $0.contains("Seq Scan on receipt") }, "\(plan)")
    }
  }

  private func withConnection(_ body: (Connection) async throws -> Void) async throws {
    try await Database.with { location, _ in
      try await body(Connection(location, patience: .seconds(10), answerTime: .seconds(20)))
    }
  }
}
