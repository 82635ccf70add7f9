import APNs
import Composition
import JSON
import Operations
import PushCore

/// What `--dry-run` prints: the exact request of each named device token, or of one device that the registry would find; of a notification
/// for the queue also whom it is for and when.
struct DryRun {
  private let call: PushCall
  private let isQueued: Bool
  private let now: UnixMilliseconds

  init(_ call: PushCall, isQueued: Bool) {
    self.call = call
    self.isQueued = isQueued
    now = call.context.clocks.wallTime()
  }

  func print() {
    let (console, target) = (call.context.console, call.publication.target)
    if target.kinds.count > 1 {
      console.diagnose(
        "the target has several kinds (\(target.kinds.joined(separator: ", "))); shown is the request for any of their devices"
      )
    }
    if call.context.invocation.flag("json") {
      for preview in previews { console.print { write(preview, to: &$0) } }
    } else {
      let head = isQueued ? queueLines.joined(separator: "\n") + "\n\n" : ""
      console.print(bytes: Array((head + previews.map(\.text).joined(separator: "\n")).utf8))
    }
  }

  /// One for each device token when there is nothing else, else one for a device that stands for all.
  private var previews: [RequestPreview] {
    let publication = call.publication
    let tokens: [DeviceToken?] = publication.target.kinds == ["tokens"] ? publication.target.tokens : [nil]
    let apns = call.context.configuration.apns
    let host =
      switch publication.environment ?? publication.defaultEnvironment {
      case .production: apns.production
      case .sandbox: apns.sandbox
      }
    return tokens.map { token in
      RequestPreview(
        of: publication, deviceToken: token, host: host, teamID: call.app?.teamID ?? "", keyID: call.app?.keyID ?? "",
        isByCertificate: call.app.map { $0.keyID == nil } ?? false, now: now)
    }
  }

  private var deadline: UnixMilliseconds {
    call.publication.deadline.time(from: max(now, call.publication.sendAt ?? now))
  }

  private var queueLines: [String] {
    let publication = call.publication
    return [
      "target: \(publication.target.summary)", "lane: \(publication.lane.name)",
      "send-at: \(publication.sendAt.map(RFC3339.format) ?? "now")", "deadline: \(RFC3339.format(deadline))",
    ]
  }

  private func write(_ preview: RequestPreview, to object: inout JSONWriter) {
    preview.write(to: &object)
    guard isQueued else { return }
    let publication = call.publication
    object.name("target")
    object.object { publication.target.write(to: &$0) }
    object.member("lane", publication.lane.name)
    object.member("send_at", publication.sendAt.map(RFC3339.format))
    object.member("deadline", RFC3339.format(deadline))
  }
}

extension Target {
  /// The kinds of names it has.
  fileprivate var kinds: [String] {
    [
      ("tokens", !tokens.isEmpty), ("interests", !interests.isEmpty), ("users", !users.isEmpty), ("everyone", everyone),
    ].filter(\.1).map(\.0)
  }

  /// The names, for people.
  fileprivate var summary: String {
    (tokens.map { "token \($0.shortened)" } + interests.map { "interest \($0)" } + users.map { "user \($0)" }
      + (everyone ? ["everyone"] : [])).joined(separator: ", ")
  }

  /// The members of the object `target` of a notification.
  fileprivate func write(to writer: inout JSONWriter) {
    writer.member("interests", interests)
    writer.member("users", users)
    writer.member("tokens", tokens.map(\.text))
    writer.member("everyone", everyone)
  }
}
