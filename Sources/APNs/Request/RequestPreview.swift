import JSON
import Operations
import PushCore

/// A request as it would be sent, with the provider token masked: what `--dry-run` prints. Needs neither key nor
/// network.
public struct RequestPreview: Sendable, Equatable {
  /// `POST`.
  public let method = "POST"
  /// `host:port`.
  public let host: String
  /// `/3/device/` and the device token, or a word in angle brackets when the devices are found by the registry.
  public let path: String
  /// Every header, in the order of sending.
  public let headers: [(name: String, value: String)]
  /// The payload.
  public let body: [UInt8]

  /// The request of a publication for one device.
  ///
  /// - Parameters:
  ///   - deviceToken: nil when the publication names no single token.
  ///   - keyID: whose provider token would be sent.
  ///   - isByCertificate: no provider token is sent, the connection says who sends.
  ///   - now: the deadline counts from here.
  public init(
    of publication: Publication, deviceToken: DeviceToken?, host: HostPort, teamID: String,
    keyID: String, isByCertificate: Bool = false, now: UnixMilliseconds
  ) {
    self.host = host.description
    path = RequestField.pathPrefix + (deviceToken?.text ?? "<device token>")
    body = publication.payload
    let start = max(now, publication.sendAt ?? now)
    let content = PushContent(
      notificationID: NotificationID(0), topic: publication.topic, headers: publication.headers,
      expiresAt: publication.deadline.time(from: start), payload: publication.payload)
    var headers: [(name: String, value: String)] = RequestField.sent(withToken: !isByCertificate).map {
      field in
      let value = field.value(
        of: content, authorization: "bearer <provider token of team \(teamID), key \(keyID)>")
      let isUnknown = field == .collapseID && publication.headers.collapseID == nil
      return (field.name, isUnknown ? "<notification id>" : value)
    }
    headers.append(
      (
        RequestField.perRequestName,
        publication.headers.apnsID ?? "<UUID of notification and device>"
      ))
    self.headers = headers
  }

  /// The lines to print: request line, headers, an empty line, the body, its size.
  public var text: String {
    var lines = ["\(method) https://\(host)\(path)"]
    lines += headers.map { "\($0.name): \($0.value)" }
    lines += ["", String(decoding: body, as: UTF8.self), "", "body: \(body.count) bytes"]
    return lines.joined(separator: "\n") + "\n"
  }

  /// Writes the members of one JSON object; `body` is the payload as it is, on one line.
  public func write(to writer: inout JSONWriter) {
    writer.member("method", method)
    writer.member("host", host)
    writer.member("path", path)
    writer.name("headers")
    writer.object { object in
      for header in headers { object.member(header.name, header.value) }
    }
    writer.name("body")
    // JSON has line ends only between its tokens, where a space means the same.
    writer.raw(body.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 })
    writer.member("body_bytes", body.count)
  }

  /// Whether both print the same.
  public static func == (left: Self, right: Self) -> Bool { left.text == right.text }
}
