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

  /// A parameter by its parts.
  init(_ name: String, _ summary: String) {
    self.name = name
    self.summary = summary
  }

  static let limit = QueryParameter("limit", "How many at most, from 1 to 1000; 100 when not said.")
  static let cursor = QueryParameter("cursor", "Where to go on: next_cursor of the page before.")
  static let topic = QueryParameter("topic", "The app; may be left away where only one is configured.")
  static let environment = QueryParameter("environment", "production or sandbox; both when not said.")
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
  /// Its successful answers: status, meaning, schema if JSON.
  var answers: [RouteAnswer]
  /// What it does, in one sentence.
  var summary: String
  /// What it does.
  var run: @Sendable (Call) async throws -> Answer
  /// In which words it refuses.
  var form = RefusalForm.problem
  /// The setting that it is served by; nil: always.
  var opening: Configuration.DeviceAPI.OpenEndpoint?
  /// Whether its last parameter takes all that is left of the path, slashes too.
  var takesRest = false

  /// A route by its parts.
  init(
    _ method: Method, _ path: String, _ surface: Configuration.Surface, _ access: Access, _ summary: String,
    query: [QueryParameter] = [], body: SchemaName? = nil, answers: [RouteAnswer],
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
    self.run = run
  }
}

/// One successful answer of an endpoint.
struct RouteAnswer: Sendable {
  /// The status code.
  var status: Int
  /// What it means.
  var summary: String
  /// The schema of its JSON; nil = no body, or none of JSON.
  var schema: SchemaName?

  /// An answer by its parts.
  init(_ status: Int, _ summary: String, _ schema: SchemaName? = nil) {
    self.status = status
    self.summary = summary
    self.schema = schema
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
