import Operations
import PushCore

/// Answers the requests of one listener: target, route, key, parameters, endpoint; and writes the access log.
struct RequestAnswerer: RequestHandler {
  let context: APIContext
  let router: Router
  let keys: KeyChecker
  let trustedProxies: [IPAddressRange]
  /// Whether connections end with their next answer, because the server stops.
  let isStopping: @Sendable () -> Bool

  func refusal(of head: RequestHead) -> Answer? {
    switch RequestFraming.decide(head, limitBytes: Exchange.bodyLimitBytes) {
    case .read: return nil
    case .doubtful(let detail):
      var problem = Problem(.malformedRequest, detail)
      problem.closes = true
      return finish(problem.answer, head, id: RequestID.choose(head.field("x-request-id")), began: nil)
    case .tooLarge:
      var problem = Self.tooLarge
      problem.closes = true
      return finish(problem.answer, head, id: RequestID.choose(head.field("x-request-id")), began: nil)
    }
  }

  func answer(_ arrived: Exchange.Arrived) async -> Answer {
    let head = arrived.head
    let request = Request(
      head: head, body: arrived.body, id: RequestID.choose(head.field("x-request-id")),
      client: ClientAddress.resolve(
        peer: head.peer, forwardedFor: trustedProxies.isEmpty ? nil : head.field("x-forwarded-for"),
        trusted: trustedProxies))
    do {
      if arrived.isTooLarge { throw Self.tooLarge }
      if arrived.isOverBudget { throw Problem(.unavailable, "too many large requests at once; try again") }
      return finish(try await answer(request), head, id: request.id, began: arrived.began, client: request.client)
    } catch {
      let problem = Problem(error)
      if problem.kind == .internalError || problem.kind == .unavailable {
        context.logger.error(
          "a request failed", ["request.id": .string(request.id), "error": .string("\(error)")])
      }
      return finish(problem.answer, head, id: request.id, began: arrived.began, client: request.client)
    }
  }

  private func answer(_ request: Request) async throws -> Answer {
    let target: RequestTarget
    do {
      target = try RequestTarget(raw: request.head.rawTarget)
    } catch .tooLong {
      var problem = Problem(.malformedRequest, "the target has more than \(RequestTarget.limitBytes) bytes")
      problem.status = 414
      throw problem
    } catch .malformed(let detail) {
      throw Problem(.malformedRequest, detail)
    }
    switch router.match(request.head.method, target.segments) {
    case .nothing: throw Problem(.notFound, "nothing is served at this path; /openapi.json lists what is")
    case .otherMethods(let methods):
      let allow = Router.allow(methods)
      if request.head.method == "OPTIONS" {
        var answer = Answer.noContent
        answer.fields = [("Allow", allow)]
        return answer
      }
      var problem = Problem(.methodNotAllowed, "use one of \(allow)")
      problem.fields = [("Allow", allow)]
      throw problem
    case .route(let route, let parameters):
      let key = try await authorized(request, route)
      let query = try Self.checked(target.query, route)
      return try await route.run(
        Call(request: request, parameters: parameters, query: query, key: key, context: context))
    }
  }

  private func authorized(_ request: Request, _ route: Route) async throws -> APIKey? {
    guard case .key(let action) = route.access else { return nil }
    // Two of them would let each program on the way choose another.
    guard request.head.count(of: "authorization") < 2 else {
      throw Problem(.malformedRequest, "Authorization is there more than once")
    }
    let key = try await keys.key(request.head.field("authorization"))
    guard key.allows(action) else {
      throw Problem(.forbidden, "the API key has no action '\(action.rawValue)'; make one with --actions")
    }
    return key
  }

  private static func checked(_ query: [(name: String, value: String)], _ route: Route) throws -> [String: String] {
    let names = route.query.map(\.name)
    for parameter in query where !names.contains(parameter.name) {
      let nearest = NearestName.nearest(to: parameter.name, in: names).map { "; did you mean \($0)?" } ?? ""
      throw Problem(
        .malformedRequest, "there is no parameter '\(PrintableText.escaped(parameter.name))' here\(nearest)")
    }
    return Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
  }

  private static let tooLarge = Problem(.tooLarge, "the body has more than \(Exchange.bodyLimitBytes) bytes")

  /// What every answer has; the line in the log says neither parameters nor fields, since those can hold secrets, and of the
  /// path only the route's first parts.
  private func finish(
    _ answer: Answer, _ head: RequestHead, id: String, began: MonotonicTime?, client: IPAddress? = nil
  ) -> Answer {
    var answer = answer
    answer.fields.append(("X-Request-Id", id))
    answer.fields.append(("Cache-Control", "no-store"))
    if isStopping() { answer.closes = true }
    note(answer.status, began)
    context.logger.debug(
      "request answered",
      [
        "request.id": .string(id), "http.method": .string(String(head.method.prefix(16))),
        "http.path": .string(Self.shownPath(head.rawTarget)), "http.status": .count(answer.status),
        "client": .string((client ?? head.peer)?.description ?? ""),
        "duration_ms": .count(began.map { context.clocks.monotonicTime().since($0).wholeMilliseconds } ?? 0),
      ])
    return answer
  }

  private func note(_ status: Int, _ began: MonotonicTime?) {
    context.metrics.add(
      to: status < 400 ? .httpSuccesses : status < 500 ? .httpCallerFaults : .httpServerFaults)
    if let began { context.metrics.record(context.clocks.monotonicTime().since(began), of: .httpRequest) }
  }

  /// The path without its query; a long segment may be a device token and is cut.
  private static func shownPath(_ target: String) -> String {
    target.prefix { $0 != "?" }.prefix(256).split(separator: "/", omittingEmptySubsequences: false).map { segment in
      segment.utf8.count > 32 ? "\(segment.prefix(8))…" : String(segment)
    }.joined(separator: "/")
  }
}
