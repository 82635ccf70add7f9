/// `GET /openapi.json`: the description of the whole interface.
enum GetOpenAPI {
  static let route = Route(
    .get, "/openapi.json", .operations, .open, "This description: an OpenAPI 3.1 document.",
    answers: [RouteAnswer(200, "The document.", .document)]
  ) { call in
    let routes = Routes.served(call.context.policy)
    return Answer(
      status: 200, type: "application/json", OpenAPIDocument(routes, version: call.context.version).bytes)
  }
}
