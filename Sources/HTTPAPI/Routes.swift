/// Everything that is served: the one list from which requests are routed and `/openapi.json` is made.
enum Routes {
  static let all: [Route] = backend + operations + device + beams

  private static let backend = [
    PostNotification.route, ListNotifications.route, GetNotification.route, DeleteNotification.route,
    GetReceipts.route,
    ListDevices.route, PutDevice.route, GetDevice.route, DeleteDevice.route,
    PutDeviceInterest.route, DeleteDeviceInterest.route,
    GetInterest.route, DeleteUser.route,
    ListApps.route, PauseApp.pause, PauseApp.resume,
  ]

  private static let operations = [GetHealth.route, GetReadiness.route, GetMetrics.route, GetOpenAPI.route]

  private static let device =
    RegisterToken.routes + [PutAppUser.route, GetAppUser.route]
    + OpenTokens.routes + OpenDelete.routes + OpenNotify.routes
    + [
      RegisterBeamsDevice.route, GetBeamsDevice.route, DeleteBeamsDevice.route, PutBeamsMetadata.route,
      PutBeamsUser.route, ListBeamsInterests.route, ChangeBeamsInterests.replace, ChangeBeamsInterests.add,
      ChangeBeamsInterests.remove, PostBeamsEvent.route,
    ]

  private static let beams = PublishBeams.routes + DeleteBeamsUser.routes

  /// Those that the settings open.
  static func served(_ policy: SurfacePolicy) -> [Route] {
    all.filter { route in route.opening.map(policy.deviceAPI.openEndpoints.contains) ?? true }
  }
}
