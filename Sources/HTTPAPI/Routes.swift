/// Everything that is served: the one list from which requests are routed and `/openapi.json` is made.
enum Routes {
  static let all: [Route] = [
    PostNotification.route, ListNotifications.route, GetNotification.route, DeleteNotification.route,
    GetReceipts.route,
    ListDevices.route, PutDevice.route, GetDevice.route, DeleteDevice.route,
    PutDeviceInterest.route, DeleteDeviceInterest.route,
    GetInterest.route, DeleteUser.route,
    ListApps.route, PauseApp.pause, PauseApp.resume,
    GetHealth.route, GetReadiness.route, GetMetrics.route, GetOpenAPI.route,
  ]
}
