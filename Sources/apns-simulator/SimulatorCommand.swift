import APNsSimulator
import Operations

/// The program's table of options.
enum SimulatorCommand {
  static let name = "apns-simulator"

  static let root = Command(
    name, "Stands in for Apple's push service: judges each request by Apple's rules, answers and logs it.",
    groups: [
      OptionGroup(
        "Listeners",
        [
          .value(
            "listen", "ADDRESS",
            "[production=|sandbox=|manage-production=|manage-sandbox=]HOST:PORT, port 0 for any; manage-: the calls that "
              + "manage channels (default: 127.0.0.1:2197)",
            repeatable: true),
          .value("tls-dir", "DIR", "folder of ca.pem, cert.pem and their keys, made when they are not there"),
          .value("tls-name", "NAME", "another name or address for the certificate", repeatable: true),
        ]),
      OptionGroup(
        "Credentials",
        [
          .value("team-id", "ID", "team of a key; the first goes with the first key", repeatable: true),
          .value("key-id", "ID", "id of a key, in step with the teams", repeatable: true),
          .value("key", "FILE", "private key of senders (.p8), in step with the ids", repeatable: true),
          .value("public-key", "FILE", "public half in place of the private key", repeatable: true),
          .value(
            "key-topics", "ID=TOPIC,…", "makes a key topic-specific: for these bundle ids alone, suffixes included",
            repeatable: true),
          .value(
            "related-keys", "ID=ID", "two topic-specific keys whose tokens may share a connection", repeatable: true),
          .value("client-ca", "FILE", "PEM file with authorities of client certificates, beside DIR/ca.pem"),
          .value(
            "topic", "TOPIC", "bundle id that may be pushed to, suffixes included (default: any)", repeatable: true),
        ]),
      OptionGroup(
        "Devices",
        [
          .value(
            "device", "TOKEN=STATE", "ok, offline, unregistered, unregistered@MILLISECONDS, bad or other-topic",
            repeatable: true),
          .flag("strict-devices", "refuses device tokens that are not listed"),
        ]),
      OptionGroup(
        "Answers",
        [
          .value("log", "FILE", "appends one line of JSON per request"),
          .value("delay", "DURATION", "answers that much later, such as 20ms"),
          .value("knob", "NAME=VALUE", "what Apple leaves open: \(Knobs.help)", repeatable: true),
          .flag("no-checks", "counts requests and answers 200, for benchmarks"),
        ]),
      OptionGroup(
        "Faults",
        [
          .value("script", "FILE", "what goes wrong and when, in JSON"),
          .value("control", "HOST:PORT", "loopback address to look at it and to change its faults by HTTP"),
        ]),
    ],
    common: [],
    examples: [
      "apns-simulator --tls-dir tls --team-id ABCDE12345 --key-id KEY1234567 --key AuthKey_KEY1234567.p8",
      "apns-simulator --listen sandbox=127.0.0.1:0 --tls-dir tls --no-checks",
      "apns-simulator --tls-dir tls --no-checks --script faults.json --control 127.0.0.1:2199",
    ],
    action: SimulatorRun.run)

}
