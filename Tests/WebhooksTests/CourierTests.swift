import OpenSSL
import Operations
import PushCore
import Support
import Testing

@testable import Webhooks

/// What libcurl does for us, with real servers.
@Suite(.timeLimit(.minutes(1))) struct CourierTests {
  private static let local = WebhookPolicy(
    allowedNetworks: [IPAddressRange("127.0.0.1")].compactMap(\.self), allowsHTTP: true)

  private func post(
    _ url: String, policy: WebhookPolicy = local, deadline: Duration = .seconds(30), authorities: String? = nil,
    pinned: [String] = [], body: String = "{}"
  ) async -> Result<Int, PostFailure>? {
    var options = Courier.Options()
    options.deadline = deadline
    options.authoritiesFile = authorities
    options.pinned = pinned
    return await Courier(policy: policy, options: options).post(Array(body.utf8), to: SecretText(url))
  }

  @Test("a body arrives byte for byte as JSON, with the URL's name and password as Basic authentication")
  func arrives() async throws {
    let server = try await HookServer()
    let body = #"{"long":"\#(String(repeating: "ü", count: 150_000))"}"#

    let result = await post("http://jane:a%40b@127.0.0.1:\(server.port)/200?q=1", body: body)

    #expect(result == .success(200))
    let request = try #require(try await server.requests(1).first)
    #expect(request.path == "/200?q=1" && request.body == body)
    #expect(request.fields["content-type"] == "application/json" && request.fields["user-agent"] == "pushrelay")
    #expect(request.fields["authorization"] == "Basic \(Base64.encode(Array("jane:a@b".utf8)))")
    #expect(request.fields["expect"] == nil && request.fields["cookie"] == nil)
  }

  @Test("a redirect is an answer like any other: it is not followed")
  func redirects() async throws {
    let server = try await HookServer()
    #expect(await post("http://127.0.0.1:\(server.port)/302") == .success(302))
    #expect(await post("http://127.0.0.1:\(server.port)/307") == .success(307))
    #expect(try await server.requests(2).map(\.path) == ["/302", "/307"])
  }

  @Test("a server that says nothing, or half a status, is left at the deadline", arguments: ["silence", "half"])
  func silence(_ manner: String) async throws {
    let server = try await HookServer()
    let result = await post("http://127.0.0.1:\(server.port)/\(manner)", deadline: .milliseconds(300))
    #expect(result == .failure(PostFailure("Timeout was reached")))
  }

  @Test("a status counts, however its body goes on", arguments: ["stall", "endless"])
  func bodies(_ manner: String) async throws {
    let server = try await HookServer()
    let deadline = Duration.seconds(manner == "stall" ? 2 : 30)
    #expect(await post("http://127.0.0.1:\(server.port)/\(manner)", deadline: deadline) == .success(200))
  }

  @Test("fields without end are not read on and on")
  func endlessFields() async throws {
    let server = try await HookServer()
    #expect(await post("http://127.0.0.1:\(server.port)/fields") == .success(203))
  }

  @Test("what is no HTTP, and a connection that ends, are failures with words", arguments: ["garbage", "close"])
  func noHTTP(_ manner: String) async throws {
    let server = try await HookServer()
    guard case .failure(let failure) = await post("http://127.0.0.1:\(server.port)/\(manner)") else {
      Issue.record("it was answered")
      return
    }
    let words = ["Unsupported protocol", "Server returned nothing (no headers, no data)"]
    #expect(words.contains(failure.description), "\(failure)")
  }

  @Test("nobody listens: the failure says so, without the URL")
  func refused() async throws {
    let result = await post("http://jane:secret@127.0.0.1:\(try freePort())/secret")
    #expect(result == .failure(PostFailure("Couldn't connect to server")))
  }

  @Test("a certificate is verified: by its authority, and for its name")
  func certificates() async throws {
    let directory = try TemporaryDirectory()
    let set = try CertificateSet.issue(names: ["127.0.0.1"], at: SystemClocks().wallTime().seconds)
    let authority = try directory.write(set.authority, to: "ca.pem")
    let server = try await HookServer(
      certificate: directory.write(set.certificate, to: "cert.pem"), key: directory.write(set.privateKey, to: "key.pem")
    )
    let policy = WebhookPolicy(allowedNetworks: [IPAddressRange("127.0.0.1")].compactMap(\.self))
    let pinned = ["other.example:\(server.port):127.0.0.1"]

    #expect(
      await post("https://127.0.0.1:\(server.port)/200", policy: policy, authorities: authority)
        == .success(200))
    for (url, authorities) in [
      ("https://127.0.0.1:\(server.port)/200", nil), ("https://other.example:\(server.port)/200", authority),
    ] {
      let result = await post(url, policy: policy, authorities: authorities, pinned: pinned)
      #expect(result == .failure(PostFailure("SSL peer certificate or SSH remote key was not OK")))
    }
    #expect(try await server.requests(1).count == 1)
  }

  @Test("the address that is connected to decides, whatever name led to it")
  func names() async throws {
    let server = try await HookServer()
    let policy = WebhookPolicy(allowsHTTP: true)

    for (address, kind) in [
      ("127.0.0.1", "127.0.0.1, a loopback address"), ("[::1]", "::1, a loopback address"),
      ("[::ffff:127.0.0.1]", "127.0.0.1, a loopback address"), ("10.0.0.1", "10.0.0.1, a private address"),
      ("169.254.169.254", "169.254.169.254, a link-local address"),
    ] {
      let result = await post(
        "http://rebind.example:\(server.port)/200", policy: policy, pinned: ["rebind.example:\(server.port):\(address)"]
      )
      #expect(result == .failure(PostFailure("its host leads to \(kind)")))
    }
    guard case .failure(let failure) = await post("http://localhost:\(server.port)/200", policy: policy) else {
      Issue.record("localhost was reached")
      return
    }
    #expect(failure.description.hasSuffix("a loopback address"), "\(failure)")
    #expect(try server.requests().isEmpty)
  }

  @Test("a name that led to an allowed address and then leads to another is refused the second time")
  func rebinding() async throws {
    let server = try await HookServer()
    let url = "http://rebind.example:\(server.port)/200"

    #expect(await post(url, pinned: ["rebind.example:\(server.port):127.0.0.1"]) == .success(200))
    let result = await post(url, pinned: ["rebind.example:\(server.port):127.0.0.2"])

    #expect(result == .failure(PostFailure("its host leads to 127.0.0.2, a loopback address")))
    #expect(try await server.requests(1).count == 1)
  }

  @Test("a URL that the settings forbid since it was stored is not connected to")
  func forbiddenSince() async throws {
    let result = await post("http://127.0.0.1:1024/", policy: WebhookPolicy())
    #expect(result == .failure(PostFailure("the URL must begin with https://")))
  }

  @Test("a task that is canceled does not wait for a receiver that says nothing")
  func canceled() async throws {
    let server = try await HookServer()
    let task = Task { await post("http://127.0.0.1:\(server.port)/silence", deadline: .seconds(300)) }
    _ = try await server.requests(1)
    task.cancel()
    #expect(await task.value == nil)
  }
}
