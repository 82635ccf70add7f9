import HTTP2
import JSON
import Operations

/// What the control interface does: one function a call. Confined to the simulator's loop.
final class ControlActions {
  private let server: HTTP2Server
  private let handler: JudgingHandler
  private let ledger: Lock<Ledger>

  init(server: HTTP2Server, handler: JudgingHandler, ledger: Lock<Ledger>) {
    self.server = server
    self.handler = handler
    self.ledger = ledger
  }

  /// Answers a request.
  func answer(_ request: ControlRequest) -> ControlAnswer {
    do throws(ScriptError) {
      switch (request.method, request.path) {
      case ("GET", "/state"): return ControlAnswer(body: state())
      case ("GET", "/deliveries"): return ControlAnswer(body: deliveries())
      case ("PUT", "/script"): return count("rules", try replaceScript(request.body))
      case ("POST", "/goaway"): return try goAway(request.body)
      case ("POST", "/settings"): return try settings(request.body)
      case ("POST", "/devices"): return count("devices", try setDevices(request.body))
      case ("POST", "/reset"):
        guard request.body.isEmpty else { return Self.refusal(400, "this call has no body") }
        handler.reset()
        return ControlAnswer(body: Array("{}".utf8))
      default: return Self.unknown(request.path)
      }
    } catch {
      return Self.refusal(400, error.faults)
    }
  }

  /// A refusal with one sentence.
  static func refusal(_ status: Int, _ message: String) -> ControlAnswer {
    refusal(status, [ScriptFault(line: 1, column: 1, message: message)])
  }

  private static func refusal(_ status: Int, _ faults: [ScriptFault]) -> ControlAnswer {
    var writer = JSONWriter()
    writer.object { writer in
      writer.name("errors")
      writer.array { writer in
        for fault in faults {
          writer.object { writer in
            writer.member("line", fault.line)
            writer.member("column", fault.column)
            writer.member("message", fault.message)
          }
        }
      }
    }
    return ControlAnswer(status: status, body: writer.bytes)
  }

  private static func unknown(_ path: String) -> ControlAnswer {
    let methods = [
      "/state": "GET", "/deliveries": "GET", "/script": "PUT", "/goaway": "POST", "/settings": "POST",
      "/devices": "POST", "/reset": "POST",
    ]
    guard let method = methods[path] else {
      return refusal(404, "there is \(methods.keys.sorted().joined(separator: ", ")) and nothing else")
    }
    var answer = refusal(405, "\(path) takes \(method) alone")
    answer.allow = method
    return answer
  }

  private func count(_ name: String, _ number: Int) -> ControlAnswer {
    var writer = JSONWriter()
    writer.object { $0.member(name, number) }
    return ControlAnswer(body: writer.bytes)
  }

  private func state() -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.name("summary")
      writer.raw(ledger.withLock { $0.summary }.json.utf8)
      writer.name("connections")
      writer.array { writer in
        for state in server.connectionStates {
          writer.object { writer in
            writer.member("connection", state.connection)
            writer.member("environment", handler.environment(ofListener: state.listener).rawValue)
            writer.member("open_streams", state.openStreams)
            writer.member("stream_limit", state.streamLimit)
            writer.member("requests", state.requests)
            writer.member("going_away", state.isGoingAway)
          }
        }
      }
      writer.name("rules")
      writer.array { writer in
        for uses in handler.ruleUses { writer.object { $0.member("uses", uses) } }
      }
    }
    return writer.bytes
  }

  private func deliveries() -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.name("deliveries")
      writer.array { writer in
        for delivery in handler.deliveryLog {
          writer.object { writer in
            writer.member("apns_id", delivery.push.messageID)
            writer.member("apns_unique_id", delivery.push.uniqueID)
            writer.member("environment", delivery.push.environment.rawValue)
            writer.member("device_token", delivery.push.deviceToken)
            writer.member("topic", delivery.push.topic)
            writer.member("state", delivery.state.rawValue)
            writer.member("at", RFC3339.format(delivery.at))
          }
        }
      }
    }
    return writer.bytes
  }

  private func replaceScript(_ body: [UInt8]) throws(ScriptError) -> Int {
    let script = try FaultScript(parsing: body)
    handler.replaceScript(script)
    return script.rules.count
  }

  private func goAway(_ body: [UInt8]) throws(ScriptError) -> ControlAnswer {
    let (goAway, connection) = try read(body) { reader, value in reader.goAway(value, alsoKnown: ["connection"]) }
    let commands = goAway.commands(stream: nil)
    return perform(goAway.after > .zero ? [.later(goAway.after, commands)] : commands, on: connection)
  }

  private func settings(_ body: [UInt8]) throws(ScriptError) -> ControlAnswer {
    let (settings, connection) = try read(body) { reader, value in reader.settings(value, alsoKnown: ["connection"]) }
    return perform([.settings(settings)], on: connection)
  }

  private func perform(_ commands: [ServerCommand], on connection: UInt64?) -> ControlAnswer {
    let reached = connection == nil ? server.connectionStates.count : 1
    guard server.perform(commands, on: connection) else { return Self.refusal(404, "there is no such connection") }
    return count("connections", reached)
  }

  private func setDevices(_ body: [UInt8]) throws(ScriptError) -> Int {
    var reader = ScriptReader(body)
    let states = reader.read(body) { $0.devices($1) } ?? []
    try reader.finish()
    for (deviceToken, state) in states { handler.setDevice(deviceToken, state) }
    return states.count
  }

  /// Reads an object, or nothing as an empty one, that may name a connection.
  private func read<Result>(
    _ body: [UInt8], _ read: (inout ScriptReader, JSONValue) -> Result
  ) throws(ScriptError) -> (Result, connection: UInt64?) {
    let body = body.isEmpty ? Array("{}".utf8) : body
    var reader = ScriptReader(body)
    var connection: UInt64?
    let result = reader.read(body) { reader, value in
      if let number = value["connection"] { connection = reader.integer(number, 1...Int.max).map(UInt64.init) }
      return read(&reader, value)
    }
    try reader.finish()
    guard let result else { throw ScriptError(faults: []) }
    return (result, connection)
  }
}
