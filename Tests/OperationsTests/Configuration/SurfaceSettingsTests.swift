import Support
import Testing

@testable import Operations

/// The settings of the surfaces that apps and Beams backends call.
struct SurfaceSettingsTests {
  private static let instance = #"""
    "instance_id": "00000000-0000-4000-8000-00000000BEEF", "secret_key": "0123456789ABCDEF", "topics": ["com.example.app"]
    """#

  private func load(_ text: String) throws -> ConfigurationReport {
    let directory = try TemporaryDirectory()
    let path = try directory.write(text, to: "pushrelay.json")
    return ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment([:])).load()
  }

  @Test("the settings of the surfaces are read, and the secret key is shown nowhere")
  func reading() throws {
    let configuration = try load(
      """
      { "device_api": { "default_topic": "com.example.app", "environment": "sandbox", "open_endpoints": ["tokens", "notify"] },
        "users": { "allow_unverified": true }, "interests": { "protected": ["auth-*", "vip"] },
        "webhooks": { "allowed_networks": ["10.0.0.0/8", "::1"], "allow_http": true },
        "listeners": [{ "address": "127.0.0.1:1", "serve": ["device", "beams"] }],
        "beams": [{ \(Self.instance), "environment": "sandbox" }] }
      """
    ).get()

    #expect(
      configuration.deviceAPI.defaultTopic == "com.example.app" && configuration.deviceAPI.environment == .sandbox)
    #expect(configuration.deviceAPI.openEndpoints == [.tokens, .notify] && configuration.users.allowUnverified)
    let beams = try #require(configuration.beams.first)
    #expect(beams.id == "00000000-0000-4000-8000-00000000beef" && beams.environment == .sandbox)
    #expect(beams.secretKey.reveal() == "0123456789ABCDEF" && beams.topics == ["com.example.app"])
    #expect(!EffectiveSettings(configuration).text.contains("0123456789ABCDEF"))
    #expect(configuration.webhooks.allowedNetworks.map(\.description) == ["10.0.0.0/8", "::1"])
    #expect(configuration.webhooks.allowHTTP)
    let names = ["auth-jane", "auth-", "vip", "vips", "Auth-x"]
    #expect(
      names.map { name in configuration.protectedInterests.contains { $0.matches(name) } } == [
        true, true, true, false, false,
      ])
  }

  @Test("without settings auth-* is protected, nothing is open and only proved users are reached")
  func defaults() throws {
    let configuration = try load("{}").get()

    #expect(configuration.protectedInterests.map(\.description) == ["auth-*"])
    #expect(configuration.deviceAPI.openEndpoints.isEmpty && !configuration.users.allowUnverified)
    #expect(configuration.webhooks.allowedNetworks.isEmpty && !configuration.webhooks.allowHTTP)
  }

  @Test(
    "what is wrong with them is said, and never the secret key",
    arguments: [
      #"{ "device_api": { "open_endpoints": ["token"] } }"#, #"{ "device_api": { "default_topic": "a b" } }"#,
      #"{ "users": { "allow_unverified": 1 } }"#, #"{ "interests": { "protected": ["a*b"] } }"#,
      #"{ "interests": { "protected": [""] } }"#, #"{ "webhooks": { "allowed_networks": ["localhost"] } }"#,
      #"{ "beams": [{ "instance_id": "x", "secret_key": "SECRETSECRETSECRET", "topics": ["com.example.app"] }] }"#,
      #"{ "beams": [{ "instance_id": "00000000-0000-4000-8000-00000000beef", "secret_key": "SECRET short", "topics": ["a.b"] }] }"#,
      "{ \"beams\": [{ \(instance), \"secret\": \"SECRETSECRETSECRET\" }] }",
      "{ \"beams\": [{ \(instance) }, { \(instance) }] }",
    ])
  func faults(text: String) throws {
    let findings = try load(text).errors

    #expect(findings.count == 1)
    #expect(findings.allSatisfy { !$0.description.contains("SECRET") })
  }
}
