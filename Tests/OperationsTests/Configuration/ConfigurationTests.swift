import Foundation
import Glibc
import JSON
import Operations
import Support
import Testing

/// Loads configurations from files in a folder of its own.
final class ConfigurationTests {
  let directory: TemporaryDirectory
  let keyFile: String

  init() throws {
    directory = try TemporaryDirectory()
    keyFile = try directory.write("-----BEGIN PRIVATE KEY-----\n", to: "AuthKey_KEY1234567.p8")
  }

  func load(
    _ text: String, flags: [String: String] = [:], variables: [String: String] = [:]
  ) throws -> ConfigurationReport {
    let file = try directory.write(text, to: "pushrelay.json")
    let all = flags.merging(["config": file]) { $1 }
    return ConfigurationLoader(flags: all, environment: ProcessEnvironment(variables)).load()
  }

  /// The findings without the folder's name.
  func findings(
    _ text: String, flags: [String: String] = [:], variables: [String: String] = [:]
  ) throws -> [String] {
    try load(text, flags: flags, variables: variables).findings
      .map { $0.description.split(separator: directory.path + "/").joined() }
  }

  func app(_ fields: String) -> String {
    """
    { "apps": [{ "topic": "com.example.app", "team_id": "ABCDE12345", "key_id": "KEY1234567",
                 "key_file": "AuthKey_KEY1234567.p8" \(fields) }] }
    """
  }

  @Test("the defaults stand when nothing is given")
  func defaults() throws {
    let report = try load("{}")
    let configuration = try report.get()

    #expect(report.findings.isEmpty)
    #expect(configuration.store == .sqlite(path: "pushrelay.db"))
    #expect(configuration.apns.production.description == "api.push.apple.com:443")
    #expect(configuration.apns.sandbox.description == "api.sandbox.push.apple.com:443")
    #expect(configuration.apns.connections == 2)
    #expect(configuration.apns.requestTimeout == .seconds(20))
    #expect(configuration.apns.pingInterval == .seconds(60))
    #expect(configuration.retention.receipts == .seconds(30 * 86_400))
    #expect(configuration.retention.payloads == .zero)
    #expect(configuration.shutdownGrace == .seconds(20))
    #expect(configuration.log.level == .info)
    #expect(configuration.source(of: "store") == .standard)
  }

  @Test("every setting is read from the file, with comments and trailing commas")
  func file() throws {
    let authorities = try directory.write("", to: "ca.pem")
    let configuration = try load(
      """
      { // a comment
        "store": "sqlite:data/queue.db",
        "apps": [{ "topic": " com.example.app ", "environment": "sandbox", "team_id": "ABCDE12345\\n",
                   "key_id": " KEY1234567", "key_file": "AuthKey_KEY1234567.p8" }],
        "apns": { "production": "localhost:2197", "sandbox": "[::1]:8443", "ca_file": "ca.pem", "proxy": null,
                  "connections": 16, "request_timeout": "1s", "ping_interval": "1m30s" },
        "retention": { "receipts": "1d", "payloads": "1h" },
        "shutdown_grace": "5s",
        "log": { "level": "debug", "format": "json" }, /* and the end */
      }
      """
    ).get()

    #expect(configuration.store == .sqlite(path: directory.path(of: "data/queue.db")))
    #expect(
      configuration.apps == [
        Configuration.App(
          topic: "com.example.app", environment: .sandbox, teamID: "ABCDE12345", keyID: "KEY1234567",
          key: .file(path: keyFile))
      ])
    #expect(configuration.apns.production == HostPort(host: "localhost", port: 2197))
    #expect(configuration.apns.sandbox == HostPort(host: "::1", port: 8443))
    #expect(configuration.apns.authoritiesFile == authorities)
    #expect(configuration.apns.connections == 16)
    #expect(configuration.apns.requestTimeout == .seconds(1))
    #expect(configuration.apns.pingInterval == .seconds(90))
    #expect(configuration.retention.receipts == .seconds(86_400))
    #expect(configuration.retention.payloads == .seconds(3600))
    #expect(configuration.shutdownGrace == .seconds(5))
    #expect(configuration.log.level == .debug)
    #expect(configuration.log.format == .json)
    #expect(configuration.source(of: "shutdown_grace").description.hasSuffix("pushrelay.json:8"))
  }

  @Test("a flag beats the environment, which beats the file")
  func precedence() throws {
    let text = #"{ "store": "sqlite:file.db", "log": { "level": "error" } }"#
    let variables = ["PUSHRELAY_STORE": "sqlite:variable.db", "PUSHRELAY_LOG_LEVEL": "warning"]

    let byFile = try load(text).configuration
    let byVariable = try load(text, variables: variables).configuration
    let byFlag = try load(text, flags: ["store": "sqlite:flag.db", "log-level": "debug"], variables: variables)
      .configuration

    #expect(byFile.store == .sqlite(path: directory.path(of: "file.db")))
    #expect(byVariable.store == .sqlite(path: "variable.db"))
    #expect(byVariable.log.level == .warning)
    #expect(byVariable.source(of: "store") == .environment("PUSHRELAY_STORE"))
    #expect(byFlag.store == .sqlite(path: "flag.db"))
    #expect(byFlag.log.level == .debug)
    #expect(byFlag.source(of: "store") == .flag("store"))
  }

  @Test("--host and --ca set both services and the authorities")
  func hostFlag() throws {
    let authorities = try directory.write("", to: "ca.pem")
    let configuration = try load("{}", flags: ["host": "127.0.0.1:9000", "ca": authorities]).get()

    #expect(configuration.apns.production == configuration.apns.sandbox)
    #expect(configuration.apns.production.description == "127.0.0.1:9000")
    #expect(configuration.apns.authoritiesFile == authorities)
  }

  @Test("a bad value of an option is a usage error, once; a bad file is not")
  func badFlags() throws {
    let host = try load("{}", flags: ["host": "https://x"])
    let file = try load("{}", flags: ["ca": "nowhere.pem"])

    #expect(
      host.findings.map(\.description) == [
        "flag --host: error: is not HOST:PORT, but 'https://x'; write it like api.push.apple.com:443"
      ])
    #expect(host.errors.map(\.exitCode) == [.usage])
    #expect(file.errors.map(\.exitCode) == [.configuration])
    #expect(file.errors.first?.remedy.hasSuffix("seen from the working directory") == true)
    #expect(
      try load(#"{ "apns": { "ca_file": "nowhere.pem" } }"#).errors.first?.remedy.hasSuffix("the config file's folder")
        == true)
  }

  @Test("a pipe or folder where a file should be is refused at once")
  func noFile() throws {
    let pipe = directory.path(of: "pipe")
    #expect(mkfifo(pipe, 0o600) == 0)

    for path in [pipe, directory.path] {
      #expect(try load(#"{ "apns": { "ca_file": "\#(path)" } }"#).errors.map(\.exitCode) == [.configuration])
      let report = ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment([:])).load()
      #expect(report.errors.map(\.exitCode) == [.configuration], "\(report.findings)")
      #expect(throws: SystemError.self) { try Files.read(path, limit: 10) }
    }
    #expect(SystemError("read", code: EISDIR).exitCode == .badData)
  }

  @Test("all faults are reported together, each with its line and the nearest known name")
  func everyFault() throws {
    let findings = try findings(
      """
      {
        "stor": "sqlite:x.db",
        "apns": { "conections": 2, "connections": 17,
                  "request_timeout": 20, "ping_interval": "60" },
        "shutdown_grace": "11m",
        "log": { "level": "warn" },
        "retention": [],
        "apps": [{ "topik": "com.example.app" }, 1],
        "shutdown_grace": "1s"
      }
      """)

    #expect(
      findings == [
        "pushrelay.json:9: error: shutdown_grace is given twice, first on line 5; remove one of the two",
        "pushrelay.json:2: error: stor is unknown; the nearest known name is 'store'",
        "pushrelay.json:3: error: apns.conections is unknown; the nearest known name is 'connections'",
        "pushrelay.json:3: error: apns.connections must be a whole number from 1 to 16, not 17",
        "pushrelay.json:4: error: apns.request_timeout must be a string, not 20",
        "pushrelay.json:4: error: apns.ping_interval is wrong: '60' is not a duration such as 500ms, 90s, 5m, 1h30m or 30d",
        "pushrelay.json:5: error: shutdown_grace must be from 0s to 10m, not 11m",
        "pushrelay.json:6: error: log.level must be one of error, warning, info, debug, not 'warn'; "
          + "the nearest is 'warning'",
        "pushrelay.json:7: error: retention must be an object, not an array",
        "pushrelay.json:8: error: apps[0].topik is unknown; the nearest known name is 'topic'",
        "pushrelay.json:8: error: apps[0].team_id is missing; an app needs topic, team_id, key_id and key_file, or topic and certificate_file",
        "pushrelay.json:8: error: apps[0].key_id is missing; an app needs topic, team_id, key_id and key_file, or topic and certificate_file",
        "pushrelay.json:8: error: apps[0].key_file is missing; name the .p8 file, or set PUSHRELAY_KEY_<KEYID> to its text",
        "pushrelay.json:8: error: apps[1] must be an object, not a number",
      ])
  }

  @Test("what is no JSON, no object or no file is named with its place")
  func unreadable() throws {
    #expect(
      try findings("{\n\"store\": x}")
        == ["pushrelay.json:2: error: is not JSON at column 10: found 'x' where a value should be"])
    #expect(try findings("[]") == ["pushrelay.json:1: error: the file must hold an object, not an array"])

    let missing = ConfigurationLoader(
      flags: ["config": "/nonexistent/p.json"], environment: ProcessEnvironment(["PUSHRELAY_CONFIG": "/other"])
    ).load()
    #expect(
      missing.findings.map(\.description) == [
        "flag --config: error: names '/nonexistent/p.json', which does not exist; check the path; "
          + "a relative one is seen from the working directory"
      ])
    let byVariable = ConfigurationLoader(environment: ProcessEnvironment(["PUSHRELAY_CONFIG": "/nonexistent/q"])).load()
    #expect(byVariable.errors.map(\.place) == ["environment PUSHRELAY_CONFIG"])
    #expect(throws: ConfigurationError.self) { try byVariable.get() }
  }

  @Test(
    "settings that only later versions act on are refused, unless they say the default",
    arguments: [
      (#""listeners": []"#, #""listeners": [{ "address": "127.0.0.1:8080", "serve": ["backend", "console"] }]"#)
    ])
  func later(taken: String, refused: String) throws {
    #expect(try findings("{ \(taken) }") == [])
    let messages = try findings("{ \(refused) }")
    #expect(messages.count == 1)
    #expect(messages.first?.contains("not in this version") == true)
    #expect(messages.first?.contains("secret") == false)
  }

  @Test(
    "a PostgreSQL URI is taken as it stands, and shown without its passwords",
    arguments: [
      ("postgresql://relay@host/db", "postgresql://relay@host/db"),
      ("postgres://relay:secret@host:5433/db?sslmode=no", "postgres://relay:••••••••@host:5433/db?sslmode=no"),
      ("postgresql://relay:se@cret@host/db", "postgresql://relay:••••••••@host/db"),
      ("postgresql://relay:secret/@host", "postgresql://relay:••••••••@host"),
      ("postgresql:///db?host=/run&password=secret&user=x", "postgresql:///db?host=/run&password=••••••••&user=x"),
      ("postgresql://h/db?passwor%64=secret", "postgresql://h/db?passwor%64=••••••••"),
      ("postgresql://a,b/db?sslpassword=secret", "postgresql://a,b/db?sslpassword=••••••••"),
      ("postgresql://", "postgresql://"),
    ])
  func postgresql(uri: String, shown: String) throws {
    let configuration = try load("{ \"store\": \"\(uri)\" }").configuration
    guard case .postgresql(let location) = configuration.store else { throw SupportError(uri) }
    #expect(location.uri.reveal() == uri)
    #expect("\(location)" == shown && "\(configuration.store)" == shown)
    var dumped = ""
    dump(location, to: &dumped)
    #expect(!dumped.contains("secret") && !dumped.contains("cret@"))
  }

  @Test(
    "stores are refused that are no file",
    arguments: [
      "pushrelay.db", "sqlite:", "sqlite::memory:", "sqlite://pushrelay.db", "mysql://x", "postgresql:db", "",
    ])
  func badStore(store: String) throws {
    #expect(try findings(#"{ "store": "\#(store)" }"#).count == 1)
  }

  @Test(
    "hosts are refused that are no HOST:PORT",
    arguments: [
      "https://api.push.apple.com", "api.push.apple.com:0", "api.push.apple.com:65536", "::1:443", "[::1", "a b:443",
      ":443",
      "", "host:+1", "host:",
    ])
  func badHost(host: String) throws {
    #expect(try findings(#"{ "apns": { "production": "\#(host)" } }"#).count == 1)
  }

  @Test("a host alone has port 443")
  func defaultPort() throws {
    #expect(try load(#"{ "apns": { "sandbox": "apns.test" } }"#).get().apns.sandbox.description == "apns.test:443")
  }

  @Test("variables that do nothing are warned of")
  func variables() throws {
    let findings = try findings(
      app(""),
      variables: [
        "PUSHRELAY_STROE": "x", "PUSHRELAY_KEY_OTHERKEY00": "x", "PUSHRELAY_API_KEY": "x", "HOME": "/root",
      ])

    #expect(
      findings == [
        "environment PUSHRELAY_API_KEY: warning: has no effect: remote relays are not in this version",
        "environment PUSHRELAY_KEY_OTHERKEY00: warning: has no effect: no app has that key ID",
        "environment PUSHRELAY_STROE: warning: has no effect; the nearest variable is PUSHRELAY_STORE",
      ])
  }

  @Test("the settings in force are shown with their sources and without secrets")
  func effective() throws {
    let pem = "-----BEGIN PRIVATE KEY-----\nTHESECRET\n-----END PRIVATE KEY-----"
    let configuration = try load(
      app(""), flags: ["store": "sqlite:x.db"], variables: ["PUSHRELAY_KEY_KEY1234567": pem]
    ).get()
    let settings = EffectiveSettings(configuration)
    var writer = JSONWriter()
    settings.write(to: &writer)
    let json = try JSONValue(parsing: writer.bytes)

    #expect(json["store"]?["value"]?.string == "sqlite:x.db")
    #expect(json["store"]?["source"]?.string == "flag --store")
    #expect(json["apns.connections"]?["value"]?.integer == 2)
    #expect(json["apps[0].key"]?["source"]?.string == "environment PUSHRELAY_KEY_KEY1234567")
    #expect(json["apps[0].team_id"]?["source"]?.string?.hasSuffix("pushrelay.json:1") == true)
    #expect(json["apps[0].key_file"] == nil && json["apps[0].environment"]?["source"]?.string == "default")
    #expect(json["apps[0].key"]?["value"]?.string == "•••••••• (PUSHRELAY_KEY_KEY1234567)")
    #expect(settings.text.contains("apns.connections"))
    for text in [settings.text, writer.text, "\(configuration)", String(reflecting: configuration)] {
      #expect(!text.contains("THESECRET"))
    }
    #expect(!settings.text.contains("listeners"))
  }

  @Test("README lists every setting as the table has it")
  func reference() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
    let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)

    #expect(readme.contains(EffectiveSettings.reference))
  }
}
