import JSON
import Operations
import PushCore
import Testing

@testable import HTTPAPI

/// Who is let in, and for how long.
@Suite struct ConnectionTableTests {
  private static func time(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

  private func table(_ trusted: [IPAddressRange] = [], connections: Int = 1000) -> ConnectionTable {
    var limits = HTTPServer.Limits()
    limits.connectionsPerAddress = 2
    limits.connections = connections
    return ConnectionTable(limits: limits, trusted: trusted)
  }

  @Test("an address has so many connections; one that ends makes room, a trusted proxy has no bound")
  func perAddress() throws {
    let address = try #require(IPAddress("192.0.2.1"))
    let proxy = try #require(IPAddress("10.0.0.1"))
    var table = table([try #require(IPAddressRange("10.0.0.0/8"))])
    for id in 1...2 as ClosedRange<UInt> {
      table.opened(id, descriptor: Int32(id), address: address, now: Self.time(0))
      table.opened(id + 10, descriptor: Int32(id + 10), address: proxy, now: Self.time(0))
      for id in [id, id + 10] {
        table.requestBegan(id, now: Self.time(1))
        table.requestArrived(id, now: Self.time(1))
      }
    }

    #expect(table.admit(address) == .refused && table.admit(proxy) == .accepted)
    #expect(table.admit(IPAddress("192.0.2.2")) == .accepted)
    table.closed(1)
    #expect(table.admit(address) == .accepted)
  }

  @Test("one too many ends the one that keeps us waiting for longest, and each only once")
  func makingRoom() throws {
    let address = try #require(IPAddress("192.0.2.1"))
    var table = table()
    table.opened(1, descriptor: 1, address: address, now: Self.time(0))
    table.requestBegan(1, now: Self.time(6))
    table.opened(2, descriptor: 2, address: address, now: Self.time(5))

    #expect(table.admit(address) == .inPlaceOf(descriptor: 2))
    table.opened(3, descriptor: 3, address: address, now: Self.time(7))
    table.requestBegan(3, now: Self.time(7))
    table.requestArrived(3, now: Self.time(7))
    #expect(table.admit(address) == .inPlaceOf(descriptor: 1))
    table.opened(4, descriptor: 4, address: address, now: Self.time(7))
    table.requestBegan(4, now: Self.time(7))
    table.requestArrived(4, now: Self.time(7))
    // The two that make room are told of later.
    table.closed(1)
    table.closed(2)
    #expect(table.admit(address) == .refused)
  }

  @Test("when all connections are taken, the address with the most of them gives one up")
  func heaviest() throws {
    let (many, one) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
    var table = table(connections: 3)
    table.opened(1, descriptor: 1, address: one, now: Self.time(0))
    for id in 2...3 as ClosedRange<UInt> {
      table.opened(id, descriptor: Int32(id), address: many, now: Self.time(UInt64(id)))
    }

    #expect(table.admit(IPAddress("192.0.2.3")) == .inPlaceOf(descriptor: 2))
  }

  @Test(
    "who sends nothing, or sends slowly, is overdue after 30 s; who waits for an answer never is; who idles after 60 s")
  func overdue() {
    var table = table()
    for id in 1...4 as ClosedRange<UInt> { table.opened(id, descriptor: Int32(id), address: nil, now: Self.time(0)) }
    for id in 2...4 as ClosedRange<UInt> { table.requestBegan(id, now: Self.time(10)) }
    table.requestArrived(3, now: Self.time(11))
    table.requestArrived(4, now: Self.time(11))
    table.requestEnded(4, now: Self.time(12))

    #expect(table.openRequests == 2)
    #expect(table.overdue(now: Self.time(29)).isEmpty)
    #expect(table.overdue(now: Self.time(30)) == [1])
    #expect(table.overdue(now: Self.time(40)).sorted() == [1, 2])
    #expect(table.overdue(now: Self.time(1000)).sorted() == [1, 2, 4])
  }
}

/// Whose address a request is said to come from.
@Suite struct ClientAddressTests {
  private func client(_ peer: String, _ forwarded: String?, _ trusted: [String]) -> String? {
    ClientAddress.resolve(
      peer: IPAddress(peer), forwardedFor: forwarded, trusted: trusted.compactMap(IPAddressRange.init))?.description
  }

  @Test("a peer that is not trusted speaks for itself alone")
  func untrusted() { #expect(client("192.0.2.9", "203.0.113.5", ["10.0.0.0/8"]) == "192.0.2.9") }

  @Test("the last address that no trusted proxy has is the client; what stands before it proves nothing")
  func trusted() {
    #expect(client("10.0.0.1", "1.1.1.1, 203.0.113.5, 10.0.0.2", ["10.0.0.0/8"]) == "203.0.113.5")
    #expect(client("10.0.0.1", nil, ["10.0.0.0/8"]) == "10.0.0.1")
    #expect(client("10.0.0.1", "unknown", ["10.0.0.0/8"]) == "10.0.0.1")
  }
}

/// Cursors, routes and their description.
@Suite struct RouteTests {
  @Test("a cursor reads back as it was given, and is of no use with another listing")
  func cursors() throws {
    let cursor = Cursor(.retirements, 1_764_494_000_123, 4_503_599_627_370_495)

    #expect(try Cursor(cursor.text, of: .retirements, count: 2) == cursor)
    for (text, listing) in [
      (cursor.text, Cursor.Listing.receipts), ("d.1", .retirements), ("n.-5", .notifications),
      ("n.zz?", .notifications), ("", .notifications),
    ] {
      #expect(throws: Problem.self) { try Cursor(text, of: listing, count: listing == .retirements ? 2 : 1) }
    }
  }

  @Test("no two routes answer the same method and path")
  func unambiguous() {
    let shapes = Routes.all.map { route in
      let parts = route.path.split(separator: "/").map { $0.hasPrefix("{") ? "{}" : String($0) }
      return "\(route.method) \(parts.joined(separator: "/"))"
    }

    #expect(Set(shapes).count == shapes.count)
  }

  @Test("a listener finds the routes of its surfaces alone")
  func surfaces() {
    let router = Router(Routes.all, surfaces: [.operations])

    guard case .route(let route, _) = router.match("HEAD", ["healthz"]) else { return #expect(Bool(false)) }
    #expect(route.path == "/healthz")
    guard case .nothing = router.match("GET", ["v1", "apps"]) else { return #expect(Bool(false)) }
    guard case .nothing = router.match("GET", ["healthz", ""]) else { return #expect(Bool(false)) }
    guard case .otherMethods(let methods) = router.match("POST", ["healthz"]) else { return #expect(Bool(false)) }
    #expect(Router.allow(methods) == "GET, HEAD, OPTIONS")
  }

  @Test("a path that spells a segment out is not taken for one with a parameter there")
  func hiding() {
    let router = Router(Routes.all, surfaces: [.device])

    guard case .route = router.match("DELETE", ["token", "ab"]) else { return #expect(Bool(false)) }
    guard case .otherMethods(let methods) = router.match("DELETE", ["token", "notify"]) else {
      return #expect(Bool(false))
    }
    #expect(methods == [.post])
  }

  @Test("the OpenAPI document describes every route and every schema that it names")
  func openAPI() throws {
    let document = try JSONValue(parsing: OpenAPIDocument(Routes.all, version: "1.0").bytes)
    let schemas = try #require(document["components"]?["schemas"]?.object)

    for route in Routes.all {
      let operation = document["paths"]?[route.path]?[route.method.rawValue.lowercased()]
      #expect(operation?["summary"]?.string == route.summary)
      let names = operation?["parameters"]?.array?.compactMap { $0["name"]?.string } ?? []
      #expect(names == route.parameterNames + route.query.map(\.name), "\(route.path)")
      #expect((operation?["requestBody"] != nil) == (route.body != nil), "\(route.path)")
      let statuses = operation?["responses"]?.object?.map(\.name) ?? []
      #expect(Set(statuses).count == statuses.count, "\(route.path)")
      #expect(Set(route.answers.map { String($0.status) }).isSubset(of: statuses), "\(route.path)")
    }
    #expect(document["paths"]?.object?.count == Set(Routes.all.map(\.path)).count)
    #expect(Set(schemas.map(\.name)) == Set(SchemaName.allCases.map(\.rawValue)))
    let text = String(decoding: OpenAPIDocument(Routes.all, version: "1.0").bytes, as: UTF8.self)
    for part in text.split(separator: "#/components/schemas/").dropFirst() {
      #expect(SchemaName(rawValue: String(part.prefix { $0 != "\"" })) != nil)
    }
    let members = try #require(document["components"]?["schemas"]?["Notification"]?["properties"]?.object)
    #expect(Set(members.map(\.name)) == Set(NotificationRequest.fieldNames))
  }
}

/// API keys as their holders have them.
@Suite struct APIKeyTextTests {
  @Test("a key names its id and is read back; its description holds no secret")
  func roundTrip() throws {
    let key = APIKeyText(id: APIKeyID(12), secret: APIKeyText.makeSecret())

    #expect(key.revealed.hasPrefix("prk_12_") && key.revealed.utf8.count == 7 + 64)
    #expect(APIKeyText(key.revealed) == key)
    #expect(!"\(key)".contains(String(decoding: key.secret, as: UTF8.self)))
    #expect(APIKeyText.makeSecret() != APIKeyText.makeSecret())
  }

  @Test(
    "texts that are no key are none", arguments: ["", "prk_1_", "prk_01_", "prk_0_", "abc", "prk_1_x_y", "prk_-1_"])
  func refused(prefix: String) {
    #expect(APIKeyText(prefix + String(repeating: "a", count: 64)) == nil || prefix == "prk_1_")
    #expect(APIKeyText(prefix) == nil)
  }

  @Test("digests are the same only when every byte is")
  func comparison() {
    #expect(APIKeyText.isSame([1, 2, 3], [1, 2, 3]))
    #expect(!APIKeyText.isSame([1, 2, 3], [1, 2, 4]) && !APIKeyText.isSame([1, 2], [1, 2, 3]))
  }
}
