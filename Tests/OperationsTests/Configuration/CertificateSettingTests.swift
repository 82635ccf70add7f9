import Operations
import Support
import Testing

@Suite("Apps with a certificate")
final class CertificateSettingTests {
  private let directory: TemporaryDirectory
  private let file: String

  init() throws {
    directory = try TemporaryDirectory()
    file = try directory.write("certificate", to: "push.p12")
    try directory.write("key", to: "AuthKey_KEY1234567.p8")
  }

  private func report(_ fields: String, _ variables: [String: String] = [:]) throws -> ConfigurationReport {
    let path = try directory.write(
      #"{ "apps": [{ "topic": "com.example.app", \#(fields) }] }"#, to: "pushrelay.json")
    return ConfigurationLoader(flags: ["config": path], environment: ProcessEnvironment(variables)).load()
  }

  private func messages(_ fields: String, _ variables: [String: String] = [:]) throws -> [String] {
    try report(fields, variables).errors.map { $0.description.split(separator: directory.path + "/").joined() }
  }

  @Test("the file is seen from the config file, the password is taken from the variable and shown nowhere")
  func taken() throws {
    let fields = #""certificate_file": "push.p12", "certificate_password_variable": "PUSH_PASSWORD""#
    let configuration = try report(fields, ["PUSH_PASSWORD": "secret"]).get()
    let app = try #require(configuration.apps.first)

    #expect(
      app.credential
        == .certificate(path: file, password: SecretText("secret"), variable: "PUSH_PASSWORD"))
    #expect(app.teamID == nil && app.keyID == nil)
    let settings = EffectiveSettings(configuration)
    #expect(settings.rows.contains { $0.name == "apps[0].certificate_file" && $0.json.contains("push.p12") })
    #expect(
      settings.rows.contains { $0.name == "apps[0].certificate_password_variable" && $0.json == "\"PUSH_PASSWORD\"" })
    var dumped = ""
    dump(configuration, to: &dumped)
    for text in [settings.text, "\(configuration)", dumped] { #expect(!text.contains("secret")) }
  }

  @Test("a key and a certificate at once, and parts that are missing, are refused")
  func refused() throws {
    #expect(
      try messages(#""certificate_file": "push.p12", "key_id": "KEY1234567""#) == [
        "pushrelay.json:1: error: apps[0].key_id stands beside a certificate; "
          + "an app has either team_id, key_id and key_file, or certificate_file"
      ])
    #expect(try messages(#""certificate_file": "other.p12""#).first?.contains("which does not exist") == true)
    #expect(
      try messages(#""certificate_password_variable": "X""#, ["X": "y"]).first?.contains("certificate_file is missing")
        == true)
    // The password itself, written where the variable's name should be, is not repeated.
    let mistaken = try messages(#""certificate_file": "push.p12", "certificate_password_variable": "secret""#)
    #expect(
      mistaken.count == 1 && mistaken[0].contains("names no variable that is set") && !mistaken[0].contains("secret"))
  }

  @Test("options of one kind of credential displace the other kind of the file")
  func options() throws {
    let variables = ProcessEnvironment(["P": "secret"])
    let byCertificate = try report(
      #""certificate_file": "push.p12", "certificate_password_variable": "P""#, ["P": "secret"]
    ).get()
    let byKey = try report(#""team_id": "ABCDE12345", "key_id": "KEY1234567", "key_file": "AuthKey_KEY1234567.p8""#)
      .get()

    let same = try byCertificate.app(for: AppSelection(), environment: variables).app
    let key = try byCertificate.app(
      for: AppSelection(
        teamID: "ABCDE12345", keyID: "KEY1234567", keyFile: directory.path(of: "AuthKey_KEY1234567.p8")),
      environment: variables
    ).app
    let certificate = try byKey.app(for: AppSelection(certificateFile: file), environment: variables).app

    #expect(same == byCertificate.apps.first)
    #expect(key.keyID == "KEY1234567")
    #expect(certificate.credential == .certificate(path: file, password: nil, variable: nil))
  }
}
