import APNs
import CLinux
import JSON
import OpenSSL
import Operations
import PushCore

/// Sends many pushes with distinct tokens over one connection and says what they cost this process.
enum SendBench {
  static let command = Command(
    "send-bench", "Sends pushes through the sender of the relay and prints their cost as JSON.",
    options: [
      .value("host", "HOST:PORT", "the server"), .value("ca", "FILE", "its authority"),
      .value("key", "FILE", "the signing key"), .value("count", "N", "how many pushes"),
      .value("payload", "FILE", "the payload"),
    ]
  ) { invocation, console in
    guard let host = invocation.value("host"), let key = invocation.value("key"),
      let payload = invocation.value("payload"), let count = try invocation.integer("count", in: 1...100_000_000)
    else { throw invocation.usageError("--host, --key, --payload and --count are needed") }
    var settings = APNsSenderConfiguration()
    settings.production = try HostPort.parse(host)
    settings.authoritiesFile = invocation.value("ca")
    settings.connections = 1
    let providerKey = ProviderKey(
      teamID: "ABCDE12345", keyID: "KEY1234567",
      privateKey: try ES256PrivateKey(pem: Files.read(key, limit: 1 << 16)))
    let clocks = SystemClocks()
    let sender = try APNsSender(
      configuration: settings, apps: [SigningApp(topic: topic, key: providerKey)],
      tokens: ProviderTokens(store: ProviderTokenMemory(), clocks: clocks), clocks: clocks)
    sender.learn([credential])
    let content = PushContent(
      notificationID: NotificationID(1), topic: topic,
      headers: PushHeaders(pushType: .alert, priority: .immediate),
      expiresAt: UnixMilliseconds(clocks.wallTime().value + 3_600_000),
      payload: try Files.read(payload, limit: 4096))
    let run = try await send(Int(count), content, through: sender, clocks)
    console.print(run.json)
    await sender.close(grace: .zero)
    return run.accepted == Int(count) ? .success : .rejected
  }

  private static let topic = "com.example.dashboard"
  private static let batchSize = 1000
  private static let batchesInFlight = 2
  private static let credential = Credential(
    id: CredentialID(1), appID: AppID(1), topic: topic, environment: .production, teamID: "ABCDE12345",
    keyID: "KEY1234567", heldSince: nil, heldReason: nil)

  private struct Run {
    var pushes: Int
    var accepted: Int
    var seconds: Double
    var cpuSeconds: Double
    var peakKilobytes: Int

    var json: String {
      var writer = JSONWriter()
      writer.object {
        $0.member("pushes", pushes)
        $0.member("accepted", accepted)
        $0.name("seconds")
        $0.raw("\(seconds)".utf8)
        $0.name("cpu_seconds")
        $0.raw("\(cpuSeconds)".utf8)
        $0.member("peak_rss_kb", peakKilobytes)
      }
      return writer.text
    }
  }

  /// Keeps two batches with the sender until all are answered.
  private static func send(
    _ count: Int, _ content: PushContent, through sender: APNsSender, _ clocks: any Clocks
  ) async throws -> Run {
    let (answers, feed) = AsyncStream<[PushAnswer]>.makeStream()
    sender.onAnswers { feed.yield($0) }
    let start = clocks.monotonicTime()
    var sent = 0
    var open = 0
    var accepted = 0
    func fill() {
      while open <= (batchesInFlight - 1) * batchSize, sent < count {
        let size = min(batchSize, count - sent)
        sender.send(
          PushBatch(
            id: UInt64(sent), credential: credential.id, lane: .bulk, content: content,
            devices: devices(sent..<sent + size), notAfter: .distantFuture))
        sent += size
        open += size
      }
    }
    fill()
    for await part in answers {
      open -= part.count
      for answer in part where answer.status == 200 { accepted += 1 }
      if open == 0, sent == count { break }
      fill()
    }
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let cpu =
      Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
    return Run(
      pushes: count, accepted: accepted,
      seconds: Double(clocks.monotonicTime().since(start).wholeMilliseconds) / 1000, cpuSeconds: cpu,
      peakKilobytes: usage.ru_maxrss)
  }

  /// Devices with tokens that no other has.
  private static func devices(_ numbers: Range<Int>) -> DeviceWindow {
    var window = DeviceWindow()
    let digits = Array("0123456789abcdef".utf8)
    var token = [UInt8](repeating: UInt8(ascii: "a"), count: 64)
    for number in numbers {
      var rest = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
      for place in 0..<16 {
        token[place] = digits[Int(rest & 15)]
        rest >>= 4
      }
      window.append(
        id: DeviceID(Int64(number) + 1), credential: credential.id, registeredAt: UnixMilliseconds(0), token: token)
    }
    return window
  }
}
