import Operations
import PushCore

/// Removal of a device by its token for everybody, where the settings open `delete_token`.
enum OpenDelete {
  static let routes = [
    Route.app(
      .delete, "/api/token/{token}", .vapor, "Removes a device.", opening: .deleteToken,
      answers: [RouteAnswer(200, "It is gone, or never was.")]
    ) { call in
      _ = try await remove(call)
      return Answer(status: 200)
    },
    Route.app(
      .delete, "/token/{token}", .vapor, "Removes a device.", opening: .deleteToken,
      answers: [RouteAnswer(204, "Removed.")], refusals: [404]
    ) { call in
      guard try await remove(call) else { throw Problem(.notFound, "no such device is registered") }
      return .noContent
    },
  ]

  private static func remove(_ call: Call) async throws -> Bool {
    try await call.context.store.removeDevice(
      topic: try call.defaultTopic(), environment: nil, token: try call.appToken(call.parameter("token")))
  }
}
