import Operations

/// One answer of an endpoint, as the OpenAPI document has it.
struct RouteAnswer: Sendable {
  /// The status code.
  var status: Int
  /// What it means.
  var summary: String
  /// The media types of its body, each with its schema if it is JSON; empty = no body.
  var content: [(type: String, schema: SchemaName?)]

  /// An answer without a body, or with one of JSON, or with one of other types.
  init(_ status: Int, _ summary: String, _ schema: SchemaName? = nil, types: [String] = []) {
    self.status = status
    self.summary = summary
    content = (schema.map { [("application/json", $0)] } ?? []) + types.map { ($0, nil) }
  }
}

extension Route {
  /// What it can answer: its own answers, then every refusal, each status code once.
  var allAnswers: [RouteAnswer] {
    var all = answers
    for status in Set([400, 413, 414, 500, 503] + keyRefusals + refusals).sorted() {
      let refusal = refusal(status)
      if let index = all.firstIndex(where: { $0.status == status }) {
        all[index].content += refusal.content
      } else {
        all.append(refusal)
      }
    }
    return all
  }

  private var keyRefusals: [Int] { access == .open ? [] : [401, 403] }

  private func refusal(_ status: Int) -> RouteAnswer {
    let title = status == 414 ? "The target is too long" : Problem.Kind.allCases.first { $0.status == status }?.title
    var answer = RouteAnswer(status, (title ?? "Refused") + ".")
    answer.content = [(form.mediaType, form.schema)]
    // What the server refuses before it comes to the endpoint has this form everywhere.
    if form != .problem { answer.content.append((RefusalForm.problem.mediaType, RefusalForm.problem.schema)) }
    return answer
  }

  /// The names in braces of its path.
  var parameterNames: [String] {
    path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
  }

  /// The JSON Schema of a text in the path. Apps' tokens are of any length.
  static func parameterSchema(_ name: String, _ surface: Configuration.Surface = .backend) -> String {
    switch name {
    case "token" where surface == .backend: #"{"type":"string","pattern":"^([0-9a-fA-F]{2}){1,100}$"}"#
    case "token": #"{"type":"string","pattern":"^[0-9a-fA-F]{1,200}$"}"#
    case "topic": #"{"type":"string","pattern":"^[a-zA-Z0-9_.-]{1,255}$"}"#
    case "name": #"{"type":"string","pattern":"^[a-zA-Z0-9_=@,.;-]{1,164}$"}"#
    case "instance": #"{"type":"string","format":"uuid"}"#
    default: #"{"type":"string","pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f/]+$"}"#
    }
  }
}
