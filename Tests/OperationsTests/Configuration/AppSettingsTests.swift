import Operations
import Support
import Testing

/// The rules for apps and their credentials.
final class AppSettingsTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write("key", to: "AuthKey_KEY1234567.p8")
  }

  func report(
    team: String = "ABCDE12345", key: String = "KEY1234567", file: String? = "AuthKey_KEY1234567.p8",
    topics: [String] = ["com.example.app"], variables: [String: String] = [:]
  ) throws -> ConfigurationReport {
    let apps = topics.map { topic in
      let keyFile = file.map { #", "key_file": "\#($0)""# } ?? ""
      return #"{ "topic": "\#(topic)", "team_id": "\#(team)", "key_id": "\#(key)"\#(keyFile) }"#
    }
    let path = try directory.write(#"{ "apps": [\#(apps.joined(separator: ",\n"))] }"#, to: "pushrelay.json")
    return ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment(variables)).load()
  }

  func messages(_ report: ConfigurationReport) -> [String] {
    report.findings.map { $0.description.split(separator: directory.path + "/").joined() }
  }

  @Test("ids of the wrong length or letters are refused with what they have")
  func identifiers() throws {
    #expect(
      messages(try report(key: "ABC123DEF")) == [
        "pushrelay.json:1: error: apps[0].key_id has 9 characters, expected 10; copy it from developer.apple.com, Keys or Membership"
      ])
    #expect(
      messages(try report(team: "abcde12345")).first?.contains("team_id must be capital letters A to Z and digits")
        == true)
    #expect(messages(try report(team: "ABCDE1234É")).count == 1)
  }

  @Test("white space around ids is dropped")
  func whitespace() throws {
    let app = try report(team: " DEF123GHIJ", key: "KEY1234567 \\r\\n").get().apps.first

    #expect(app?.teamID == "DEF123GHIJ")
    #expect(app?.keyID == "KEY1234567")
  }

  @Test("ids that the key's file name shows to be swapped are warned of")
  func swapped() throws {
    let swapped = try report(team: "KEY1234567", key: "DEF123GHIJ")
    let other = try report(key: "DEF123GHIJ")

    #expect(swapped.errors.isEmpty)
    #expect(
      messages(swapped) == [
        "pushrelay.json:1: warning: apps[0].team_id and key_id look swapped: the key's file is AuthKey_KEY1234567.p8; "
          + "write team_id DEF123GHIJ and key_id KEY1234567"
      ])
    #expect(
      messages(other).first?.contains("key_id is DEF123GHIJ, but the key's file is AuthKey_KEY1234567.p8") == true)
  }

  @Test("a key file that is missing is named, and nothing is said of PEM")
  func missingFile() throws {
    let report = try report(file: "/nonexistent/AuthKey_KEY1234567.p8")

    #expect(report.errors.count == 1)
    #expect(
      report.errors.first?.description.contains("'/nonexistent/AuthKey_KEY1234567.p8', which does not exist") == true)
    #expect(report.errors.first?.description.contains("PEM") == false)
    #expect(report.errors.first?.exitCode == .configuration)
  }

  @Test("a folder is no key file")
  func folder() throws {
    #expect(messages(try report(file: ".")).first?.contains("is a folder") == true)
  }

  @Test(
    "key text where a path should be is refused without being repeated",
    arguments: ["-----BEGIN PRIVATE KEY-----\\nSECRET", String(repeating: "MIGHSECRET", count: 13)])
  func textAsPath(text: String) throws {
    let messages = messages(try report(file: text))

    #expect(messages.count == 1)
    #expect(messages.first?.contains("holds key text where a path should be") == true)
    #expect(messages.first?.contains("SECRET") == false)
  }

  @Test("a path where key text should be is refused")
  func pathAsText() throws {
    let report = try report(variables: ["PUSHRELAY_KEY_KEY1234567": "/etc/keys/AuthKey_KEY1234567.p8"])
    #expect(report.errors.first?.description.contains("looks like a path where the text of a key should be") == true)
  }

  @Test("a key file that others may read is warned of")
  func openFile() throws {
    try directory.write("key", to: "AuthKey_KEY1234567.p8", mode: 0o640)
    let report = try report()

    #expect(report.errors.isEmpty)
    #expect(report.warnings.first?.description.contains("(mode 0640); chmod 600 '") == true)
  }

  @Test("key text in the environment beats the file and is never shown")
  func inlineKey() throws {
    let report = try report(file: nil, variables: ["PUSHRELAY_KEY_KEY1234567": "-----BEGIN SECRET"])
    let app = try #require(try report.get().apps.first)

    guard case .text(let secret, let variable) = app.key else {
      Issue.record("no text")
      return
    }
    #expect(variable == "PUSHRELAY_KEY_KEY1234567")
    #expect(secret.reveal() == "-----BEGIN SECRET")
    var dumped = ""
    dump(app, to: &dumped)
    for text in ["\(app)", String(reflecting: app), "\(secret)", dumped] { #expect(!text.contains("SECRET")) }
    #expect(messages(try self.report(file: nil)).first?.contains("or set PUSHRELAY_KEY_KEY1234567 to its text") == true)
  }

  @Test("all that is wrong with an app is reported at once")
  func wholeApp() throws {
    let path = try directory.write(
      """
      { "apps": [{ "topic": "a b", "key_idd": "x",
                   "team_id": 3, "key_file": "nowhere.p8" }] }
      """, to: "pushrelay.json")

    let report = ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment([:])).load()

    #expect(
      report.errors.map(\.setting) == ["apps[0].key_idd", "apps[0].team_id", "apps[0].topic", "apps[0].key_file"])
    #expect(report.configuration.apps.isEmpty)
  }

  @Test("a command that never signs works without keys, and is not warned about them")
  func withoutKeys() throws {
    for file in [nil, "nowhere.p8", "AuthKey_ABCDE12345.p8"] {
      _ = try report(file: file)
      let report = ConfigurationLoader(
        flags: ["config": directory.path(of: "pushrelay.json")], environment: ProcessEnvironment([:]), usesKeys: false
      ).load()
      #expect(report.findings.isEmpty && report.configuration.apps.map(\.key) == [nil])
    }
  }

  @Test("what the settings say of an app is warned of once, not again when it is chosen")
  func warnedOnce() throws {
    let swapped = try report(team: "KEY1234567", key: "DEF123GHIJ")

    #expect(swapped.warnings.count == 1)
    #expect(try swapped.get().app(for: AppSelection(), environment: ProcessEnvironment([:])).warnings.isEmpty)
  }

  @Test("two apps of one topic are refused")
  func twins() throws {
    let report = try report(topics: ["com.example.app", "com.example.app"])
    #expect(
      messages(report) == [
        "pushrelay.json:2: error: apps[1].topic is com.example.app, which apps[0] has already; "
          + "one app for each topic; devices of either environment belong to it"
      ])
  }

  @Test("topics are bundle ids", arguments: ["", "com.example/app", "com example", "com.exämple"])
  func topics(topic: String) throws {
    #expect(try report(topics: [topic]).errors.map(\.setting) == ["apps[0].topic"])
  }

  @Test("an app is found by its topic and by the topics that extend it")
  func lookup() throws {
    let configuration = try report(topics: ["com.example", "com.example.app"]).get()

    #expect(configuration.app(for: "com.example.app")?.topic == "com.example.app")
    #expect(configuration.app(for: "com.example.app.voip")?.topic == "com.example.app")
    #expect(configuration.app(for: "com.example.push-type.liveactivity")?.topic == "com.example")
    #expect(configuration.app(for: "com.example.other") == nil)
  }

  @Test("options choose an app, change one, or make one")
  func selection() throws {
    let one = try report().get()
    let none = Configuration()
    let file = directory.path(of: "AuthKey_KEY1234567.p8")
    let environment = ProcessEnvironment([:])

    let only = try one.app(for: AppSelection(), environment: environment).app
    #expect(only.topic == "com.example.app")
    let changed = try one.app(
      for: AppSelection(topic: "com.example.app.voip", environment: "sandbox"), environment: environment
    ).app
    #expect(changed.environment == .sandbox)
    #expect(changed.topic == "com.example.app")
    #expect(changed.teamID == "ABCDE12345")
    let made = try none.app(
      for: AppSelection(topic: "a.b", teamID: "TEAM567890", keyID: "KEY1234567", keyFile: file),
      environment: environment)
    #expect(made.app.key == .file(path: file))
    #expect(made.warnings.isEmpty)
  }

  @Test("options that choose no app say what is missing")
  func badSelection() throws {
    let environment = ProcessEnvironment([:])
    func error(_ configuration: Configuration, _ selection: AppSelection) -> ConfigurationError? {
      do {
        _ = try configuration.app(for: selection, environment: environment)
        return nil
      } catch {
        return error
      }
    }
    let several = try report(topics: ["a.b", "c.d"]).get()

    #expect(error(several, AppSelection())?.exitCode == .usage)
    #expect(error(Configuration(), AppSelection(topic: "a.b", teamID: "SHORT"))?.exitCode == .usage)
    #expect(error(several, AppSelection())?.description.contains("a.b, c.d") == true)
    #expect(error(several, AppSelection(topic: "e.f"))?.description.contains("no app has the topic 'e.f'") == true)
    #expect(error(Configuration(), AppSelection())?.exitCode == .configuration)
    #expect(
      error(Configuration(), AppSelection(topic: "a.b", teamID: "SHORT"))?.findings.map(\.setting)
        == ["--team-id", "--key-id", "--key"])
  }
}
