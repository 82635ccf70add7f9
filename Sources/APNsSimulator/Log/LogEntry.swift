import HTTP2
import JSON
import OpenSSL
import Operations

/// One request, its verdict and its answer, for the log.
struct LogEntry {
  var request: PushRequest
  var received: ServerRequest
  var verdict: Verdict
  var decision: Decision
  var receivedAt: UnixMilliseconds

  /// One line of JSON with its line feed.
  var line: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("path", request.path)
      writer.member("device_token", verdict.deviceToken)
      writer.member("environment", request.environment.rawValue)
      writer.member("method", request.method)
      writer.name("headers")
      writer.object(headers)
      writer.name("body")
      writer.raw(CompactJSON.compacted(request.body) ?? Array("null".utf8))
      writer.member("body_base64", Base64.encode(request.body))
      writer.member("body_bytes", request.bodyByteCount)
      writer.member("status", decision.hasStatus ? decision.status : nil)
      writer.member("reason", decision.reason)
      writer.member("apns_id", decision.messageID)
      writer.member("connection", received.connection)
      writer.member("stream", received.stream)
      writer.member("received_at", RFC3339.format(receivedAt))
      writer.member("warnings", verdict.warnings)
      if let rule = decision.rule { writer.member("rule", rule) }
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  /// A name with its value; a name that stands more than once with an array of its values, in the place of the first.
  private func headers(_ writer: inout JSONWriter) {
    var seen: Set<String> = []
    for field in request.fields where seen.insert(field.name).inserted {
      let values = request.fields.filter { $0.name == field.name }.map(\.text)
      if values.count == 1 { writer.member(field.name, values[0]) } else { writer.member(field.name, values) }
    }
  }
}
