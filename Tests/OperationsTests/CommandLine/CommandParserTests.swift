import Testing

@testable import Operations

@Suite("Command lines")
struct CommandParserTests {
  static let program = Command(
    "relay", "Relays.",
    commands: [
      Command(
        "device", "Administers devices.",
        commands: [
          Command(
            "add", "Registers a device.",
            groups: [OptionGroup("Device", [.value("token", "HEX", "device token", repeatable: true)])],
            options: [
              .choice("environment", ["production", "sandbox"], "where the token is valid"),
              .value("title", "S", "title"), .flag("dry-run", "sends nothing"), .later("api"),
              .elsewhere("listen", "relay serve"),
            ],
            operands: [Operand("FILE", "file of devices", .optional)],
            examples: ["relay device add --token abcd"],
            action: { _, _ in .success }),
          .later("export"),
        ]),
      Command(
        "check", "Checks the configuration.", examples: ["relay check --json"], action: { _, _ in .success }),
    ])

  func invocation(_ arguments: String...) throws -> Invocation {
    guard case .run(let invocation) = try Self.program.parse(arguments) else {
      throw UsageError("no command was called")
    }
    return invocation
  }

  func message(_ arguments: String...) -> String {
    do {
      _ = try Self.program.parse(arguments)
      return "no error"
    } catch {
      #expect(error.exitCode == .usage)
      return error.description
    }
  }

  @Test("options are read with a space and with an equals sign, repeatable ones in order")
  func values() throws {
    let invocation = try invocation("device", "add", "--token", "aa", "--title=a=b", "--token=bb", "--dry-run", "f")

    #expect(invocation.name == "relay device add")
    #expect(invocation.values("token") == ["aa", "bb"])
    #expect(invocation.value("title") == "a=b")
    #expect(invocation.flag("dry-run"))
    #expect(!invocation.flag("json"))
    #expect(invocation.value("config") == nil)
    #expect(invocation.operands == ["f"])
  }

  @Test("a value that begins with a combining mark is taken whole, and an unknown option's is not shown")
  func combiningMark() throws {
    #expect(
      try Array(#require(invocation("device", "add", "--title=\u{301}x").value("title")).unicodeScalars) == [
        "\u{301}", "x",
      ])
    #expect(!message("device", "add", "--titel=\u{301}secret").contains("secret"))
  }

  @Test("two dashes end the options, one dash is an operand, a negative number is a value")
  func dashes() throws {
    #expect(try invocation("device", "add", "--", "--token").operands == ["--token"])
    #expect(try invocation("device", "add", "-").operands == ["-"])
    #expect(try invocation("device", "add", "--title", "-1").value("title") == "-1")
    #expect(try invocation("device", "add", "--title=--x").value("title") == "--x")
    #expect(try invocation("device", "add", "--title=").value("title") == "")
  }

  @Test("an unknown option names the nearest known one and where help is")
  func unknownOption() {
    #expect(
      message("device", "add", "--tokn", "aa")
        == "unknown option '--tokn'; the nearest is '--token'\nTry 'relay device add --help'.")
    #expect(message("device", "add", "--tok=aa").contains("unknown option '--tok'; the nearest is '--token'"))
    #expect(message("device", "add", "-token", "aa").contains("the nearest is '--token'"))
    #expect(message("--config", "x", "check").contains("the command comes first, '--config' after it"))
    #expect(message("--token", "x").contains("the command comes first"))
    #expect(message("--hlep").contains("unknown option '--hlep'; the nearest is '--help'"))
    #expect(message("device", "--tokn").contains("unknown option '--tokn'; the nearest is '--token'"))
  }

  @Test("an unknown or missing command names what there is, but nothing that is not in this version")
  func unknownCommand() {
    #expect(message("devcie").contains("unknown command 'devcie'; the nearest is 'device'"))
    #expect(message().contains("a command is missing: device, check"))
    #expect(message("device").contains("a command is missing: add\n"))
    #expect(message("device", "exprot").contains("the nearest is 'add'"))
  }

  @Test("missing, repeated, surplus and misplaced values are refused")
  func faults() {
    #expect(message("device", "add", "--title").contains("'--title' needs a value: --title S"))
    #expect(message("device", "add", "--title", "--token", "aa").contains("'--title' needs a value"))
    #expect(message("device", "add", "--title", "a", "--title", "b").contains("'--title' is given twice"))
    #expect(message("device", "add", "--json=yes").contains("'--json' takes no value"))
    #expect(message("device", "add", "a", "b").contains("surplus argument 'b'"))
    #expect(message("check", "a").contains("surplus argument 'a'; for example: relay check --json"))
    #expect(
      message("device", "add", "--environment", "prod").contains(
        "takes production, sandbox, not 'prod'; the nearest is 'production'"))
  }

  @Test("what this version does not have is refused with those words")
  func later() {
    #expect(message("device", "add", "--api", "x").contains("the option '--api' is not in this version"))
    #expect(message("device", "export").contains("the command 'relay device export' is not in this version"))
  }

  @Test("an option of another command is refused with that command's name, and listed nowhere")
  func elsewhere() throws {
    #expect(message("device", "add", "--listen", "x").contains("the option '--listen' belongs to relay serve"))
    #expect(message("device", "add", "--lisetn").contains("listen'") == false)
    guard case .help(let page) = try Self.program.parse(["device", "add", "--help"]) else { return }
    #expect(!page.contains("--listen"))
    #expect(try !invocation("device", "add").takes("listen"))
  }

  @Test("every command takes --json")
  func json() throws {
    #expect(try invocation("check", "--json").flag("json"))
  }

  @Test("an argument that is not UTF-8 is refused by name and never changed")
  func bytes() throws {
    func message(_ arguments: [UInt8]...) -> String {
      do {
        return try [String](arguments: arguments).joined(separator: " ")
      } catch {
        #expect(error.exitCode == .badData)
        return error.description
      }
    }
    let bad: [UInt8] = [0x61, 0xFF]

    #expect(message(Array("--title".utf8), Array("é".utf8)) == "--title é")
    #expect(message(Array("--title".utf8), bad).hasPrefix("the value of --title is not UTF-8"))
    #expect(message(Array("--title=".utf8) + bad).hasPrefix("the value of --title is not UTF-8"))
    #expect(message(Array("check".utf8), bad).hasPrefix("argument 2 is not UTF-8"))
    #expect(message(bad).hasPrefix("argument 1 is not UTF-8"))
  }

  @Test("a message never holds a whole device token or a value attached to an option")
  func secrets() {
    let deviceToken = String(repeating: "ab12", count: 16)

    #expect(message("check", deviceToken).contains("surplus argument 'ab12ab12…ab12'"))
    #expect(!message("check", "--secret=\(deviceToken)").contains("ab12"))
  }

  @Test("help is given on every level and wins over faults, but not after two dashes")
  func help() throws {
    for arguments in [
      ["--help"], ["device", "--help"], ["device", "add", "--nonsense", "--help"], ["device", "add", "-h"],
    ] {
      guard case .help(let page) = try Self.program.parse(arguments) else {
        Issue.record("\(arguments) gives no help")
        continue
      }
      #expect(page.hasPrefix("usage: relay"))
      #expect(page.contains("--help"))
      #expect(!page.contains("export") && !page.contains("--api"))
    }
    #expect(try invocation("device", "add", "--", "--help").operands == ["--help"])
  }

  @Test("a help page has usage, sentence, aligned options and examples")
  func page() throws {
    guard case .help(let page) = try Self.program.parse(["device", "add", "--help"]) else { return }

    #expect(
      page == """
        usage: relay device add [options] [FILE]

        Registers a device.

        Arguments
          FILE  file of devices

        Device
          --token HEX  device token (repeatable)

        Options
          --environment production|sandbox
                                          where the token is valid
          --title S                       title
          --dry-run                       sends nothing
          --json                          prints JSON for programs
          --config FILE                   config file (default: pushrelay.json, then /etc/pushrelay/)
          --log-level error|warning|info|debug
                                          least severe events to log
          --log-format text|json          form of the log lines on standard error
          --help                          prints this page

        Examples
          relay device add --token abcd

        """)
  }

  @Test("--version is the program's alone")
  func version() throws {
    guard case .version = try Self.program.parse(["--version"]) else {
      Issue.record("no version")
      return
    }
    #expect(message("check", "--version").contains("unknown option '--version'"))
  }

  @Test("numbers, durations and times are checked when they are asked for")
  func typed() throws {
    let good = try invocation("device", "add", "--title", "10")
    let bad = try invocation("device", "add", "--title", "ten")

    #expect(try good.integer("title", in: 1...10) == 10)
    #expect(throws: UsageError.self) { try good.integer("title", in: 1...9) }
    #expect(throws: UsageError("--title must be a whole number from 1 to 10, not 'ten'", command: "relay device add")) {
      try bad.integer("title", in: 1...10)
    }
    #expect(throws: UsageError.self) { try bad.duration("title") }
    #expect(throws: UsageError.self) { try bad.time("title") }
    #expect(try invocation("device", "add", "--title=5m").duration("title") == .seconds(300))
  }
}
