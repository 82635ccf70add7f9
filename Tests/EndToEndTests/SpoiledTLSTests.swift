import Foundation
import JSON
import Support
import Testing

@Suite("An APNs whose TLS is spoiled", .timeLimit(.minutes(3)))
struct SpoiledTLSTests {
  /// A site whose simulator spoils the first connections, or all with `limit` nil; and where it is controlled.
  private func site(_ action: String, limit: Int?) async throws -> (site: Site, control: String) {
    let folder = try TemporaryDirectory()
    let limit = limit.map { #""limit":\#($0),"# } ?? ""
    let script = try folder.write(
      #"{"rules":[{"at":"connection",\#(limit)"do":{\#(action)}}]}"#, to: "script.json")
    let site = try await Site(simulatorOptions: ["--script", script, "--control", "127.0.0.1:0"])
    let line = try await site.simulator.line(beginningWith: "control on ")
    return (site, String(line.dropFirst("control on ".count)))
  }

  /// How many connections were spoiled so far.
  private func spoiled(_ control: String) async throws -> Int64 {
    let state = try await BuiltProgram(path: "/usr/bin/curl").run(["--silent", "http://\(control)/state"])
    return try state.json().first?["rules"]?.array?.first?.count("uses") ?? 0
  }

  @Test(
    "sendpush send says what it is and what to do, ends with 69 after one connection, and the next push is accepted",
    arguments: [
      (#""certificate":"expired""#, "certificate has expired", "Check this machine's clock"),
      (#""certificate":"not_yet_valid""#, "certificate is not yet valid", "Check this machine's clock"),
      (#""certificate":"wrong_host""#, "IP address mismatch", "The certificate is for another name: check the host"),
      (#""certificate":"unknown_ca""#, "unable to get local issuer certificate", "--ca"),
      (#""tls":"1.0""#, "protocol version", "does not speak TLS as APNs does"),
      (#""tls":"1.1""#, "protocol version", "does not speak TLS as APNs does"),
      (#""alpn":"none""#, "ALPN: none", "does not speak HTTP/2"),
      (#""alpn":"http/1.1""#, "no common application protocol", "does not speak HTTP/2"),
    ])
  func send(action: String, fault: String, advice: String) async throws {
    let (site, control) = try await site(action, limit: 1)

    let failed = try await site.sendpush("send", "--token", Site.token(1), "--title", "x", "--timeout", "5s")
    let uses = try await spoiled(control)
    let next = try await site.sendpush("send", "--token", Site.token(1), "--title", "x", "--timeout", "5s")

    #expect(failed.status == 69, "\(failed.text)")
    #expect(failed.errorOutput.contains(fault) && failed.errorOutput.contains(advice), "\(failed.text)")
    #expect(uses == 1)
    #expect(next.status == 0, "\(next.text)")
    #expect(try await site.summary().count("accepted") == 1)
  }

  @Test(
    "the relay connects again after longer and longer waits, loses nothing, and delivers when the fault is over",
    arguments: [#""certificate":"expired""#, #""tls":"1.1""#, #""alpn":"none""#])
  func relay(action: String) async throws {
    let (site, control) = try await site(action, limit: nil)
    try await site.importDevices((1...50).map(Site.token), interest: "news")
    let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "x").lines[0]

    let (early, uses, status) = try await site.whileServing { _ in
      let early = try await site.sendpush("status", id, "--wait", "--timeout", "3s", "--json")
      let uses = try await spoiled(control)
      try await BuiltProgram(path: "/usr/bin/curl").run(
        ["--silent", "--request", "PUT", "--data-binary", "{}", "http://\(control)/script"])
      return (early, uses, try await site.sendpush("status", id, "--wait", "--timeout", "50s", "--json"))
    }

    #expect(early.status == 75, "\(early.text)")
    #expect((1...5).contains(uses))
    #expect(status.status == 0, "\(status.text)")
    #expect(try status.json().first?["counts"]?.count("accepted") == 50, "\(status.text)")
    let summary = try await site.summary()
    #expect(summary.count("accepted") == 50 && summary.count("duplicates") == 0)
    #expect(summary["violations"]?.object?.isEmpty == true)
  }
}
