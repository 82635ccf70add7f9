import JSON
import Operations
import PushCore

/// In which words an endpoint refuses: each kind of client reads another form.
enum RefusalForm: Sendable {
  /// RFC 9457.
  case problem
  /// `{"error":true,"reason":…}`: the servers of the push books.
  case vapor
  /// `{"error":…,"description":…}` to a backend.
  case beams
  /// The same to an app, whose SDK would repeat a call for ever that was answered 422 or 429.
  case beamsDevice

  /// The schema of its JSON.
  var schema: SchemaName {
    switch self {
    case .problem: .problem
    case .vapor: .vaporError
    case .beams, .beamsDevice: .beamsError
    }
  }

  /// The media type of its JSON.
  var mediaType: String { self == .problem ? "application/problem+json" : "application/json" }

  /// The answer that refuses.
  func answer(_ problem: Problem) -> Answer {
    let status = problem.status ?? problem.kind.status
    let detail = problem.errors.first?.description ?? problem.detail
    var answer: Answer
    switch self {
    case .problem: return problem.answer
    case .vapor:
      answer = .json(status == 422 ? 400 : status) {
        $0.member("error", true)
        $0.member("reason", detail)
      }
    case .beams: answer = BeamsError(status, problem.kind.title, detail).answer
    case .beamsDevice:
      let status = status == 422 ? 400 : status == 429 ? 503 : status
      answer = BeamsError(status, problem.kind.title, detail).answer
    }
    answer.fields += problem.fields
    answer.closes = problem.closes
    return answer
  }
}

extension Route {
  /// A route of the surface `device`: limited for each address, and refusing in its clients' words.
  static func app(
    _ method: Method, _ path: String, _ form: RefusalForm, _ summary: String,
    opening: Configuration.DeviceAPI.OpenEndpoint? = nil, query: [QueryParameter] = [], body: SchemaName? = nil,
    answers: [RouteAnswer], refusals: [Int] = [], run: @escaping @Sendable (Call) async throws -> Answer
  ) -> Route {
    let refusals = refusals + (form == .beamsDevice ? [] : [429])
    var route = Route(
      method, path, .device, .open, summary, query: query, body: body, answers: answers, refusals: refusals
    ) { call in
      try await form.refusing(call) {
        let (clocks, now) = (call.context.clocks, call.context.clocks.monotonicTime())
        guard let wait = call.context.limits.wait(ofApp: call.request.client, now: now) else {
          throw Problem(.tooManyRequests, "too many calls from this address; try again later")
        }
        if wait > .zero { await clocks.sleep(until: now + wait) }
        return try await run(call)
      }
    }
    route.form = form
    route.opening = opening
    return route
  }
}

extension RefusalForm {
  /// What `body` answers, or its error in this form.
  func refusing(_ call: Call, _ body: () async throws -> Answer) async throws -> Answer {
    do {
      return try await body()
    } catch let error as BeamsError {
      return error.answer
    } catch {
      let problem = Problem(error)
      if problem.kind == .internalError || problem.kind == .unavailable {
        call.context.logger.error(
          "a request failed", ["request.id": .string(call.request.id), "error": .string("\(error)")])
      }
      return answer(problem)
    }
  }
}
