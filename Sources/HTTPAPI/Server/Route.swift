import Operations
import PushCore

/// The methods that endpoints answer; HEAD is answered as GET, OPTIONS by the router.
enum Method: String, Sendable, CaseIterable {
  case get = "GET"
  case post = "POST"
  case put = "PUT"
  case delete = "DELETE"
}

/// Who may call an endpoint.
enum Access: Sendable, Equatable {
  /// Everybody who reaches the listener.
  case open
  /// The holder of an API key with this action.
  case key(APIAction)
}

/// A parameter behind `?`.
struct QueryParameter: Sendable {
  /// Its name.
  var name: String
  /// One line for people.
  var summary: String
  /// The JSON Schema of its value.
  var schema: String

  /// A parameter by its parts.
  init(_ name: String, _ summary: String, schema: String = #"{"type":"string"}"#) {
    self.name = name
    self.summary = summary
    self.schema = schema
  }

  /// A parameter that takes one of these values.
  init(_ name: String, _ summary: String, oneOf values: [String]) {
    self.init(name, summary, schema: #"{"enum":["\#(values.joined(separator: #"",""#))"]}"#)
  }

  static let limit = QueryParameter(
    "limit", "How many at most, from 1 to 1000; 100 when not said.",
    schema: #"{"type":"integer","minimum":1,"maximum":1000}"#)
  static let cursor = QueryParameter(
    "cursor", "Where to go on: next_cursor of the page before.", schema: #"{"type":"string","minLength":1}"#)
  static let topic = QueryParameter(
    "topic", "The app; may be left away where only one is configured.", schema: Route.parameterSchema("topic"))
  static let environment = QueryParameter(
    "environment", "production or sandbox; both when not said.", oneOf: ["production", "sandbox"])
}

/// One row of the list of routes: an endpoint, how it is reached and what is said of it.
struct Route: Sendable {
  /// The method.
  var method: Method
  /// The path; `{name}` stands for one segment of any text.
  var path: String
  /// The part of the interface.
  var surface: Configuration.Surface
  /// Who may call it.
  var access: Access
  /// The parameters behind `?`.
  var query: [QueryParameter]
  /// Whether it takes a JSON body, and of which schema.
  var body: SchemaName?
  /// Its successful answers, and others that do not have its ``form``.
  var answers: [RouteAnswer]
  /// The status codes of refusals that not every endpoint has.
  var refusals: [Int]
  /// What it does, in one sentence.
  var summary: String
  /// What it does.
  var run: @Sendable (Call) async throws -> Answer
  /// In which words it refuses.
  var form = RefusalForm.problem
  /// The setting that it is served by; nil: always.
  var opening: Configuration.DeviceAPI.OpenEndpoint?
  /// Whether a body that is not there is as good as `{}`.
  var bodyIsOptional = false
  /// Whether its last parameter takes all that is left of the path, slashes too.
  var takesRest = false

  /// A route by its parts.
  init(
    _ method: Method, _ path: String, _ surface: Configuration.Surface, _ access: Access, _ summary: String,
    query: [QueryParameter] = [], body: SchemaName? = nil, answers: [RouteAnswer], refusals: [Int] = [],
    run: @escaping @Sendable (Call) async throws -> Answer
  ) {
    self.method = method
    self.path = path
    self.surface = surface
    self.access = access
    self.summary = summary
    self.query = query
    self.body = body
    self.answers = answers
    self.refusals = refusals
    self.run = run
  }
}

/// One call of an endpoint.
struct Call: Sendable {
  /// The request.
  let request: Request
  /// The texts in the places of `{name}`.
  let parameters: [String: String]
  /// The parameters behind `?`, only those of the route.
  let query: [String: String]
  /// Who calls; nil where no key is needed.
  let key: APIKey?
  /// What to work with.
  let context: APIContext
}
