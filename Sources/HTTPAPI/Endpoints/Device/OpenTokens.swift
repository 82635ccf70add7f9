import Operations
import PushCore

/// Listings of device tokens for everybody, where the settings open `tokens`.
enum OpenTokens {
  static let routes = [
    Route.app(
      .get, "/v1/tokens/{topic}", .problem, "Lists the device tokens of an app.", opening: .tokens,
      answers: [RouteAnswer(200, "The tokens.", .texts)]
    ) { call in
      let topic = call.parameter("topic")
      if let fault = TopicText.fault(in: topic) { throw Problem(.malformedRequest, fault) }
      var query = DeviceQuery()
      query.topic = topic
      return Call.list(try await call.tokens(query))
    },
    Route.app(
      .get, "/v1/tokens", .problem, "Lists the device tokens of all apps.", opening: .tokens,
      answers: [RouteAnswer(200, "The tokens.", .texts)]
    ) { call in Call.list(try await call.tokens(DeviceQuery())) },
    Route.app(
      .get, "/v1/user/{id}/tokens", .problem, "Lists the device tokens that apps named for a user.", opening: .tokens,
      answers: [RouteAnswer(200, "The tokens.", .texts)]
    ) { call in Call.list(try await GetAppUser.tokens(call, of: call.parameter("id"))) },
  ]
}
