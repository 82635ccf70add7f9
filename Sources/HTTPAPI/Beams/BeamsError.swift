import JSON

/// Why a Beams call is refused, in the service's words. Both members are always there: SDKs stop working without.
struct BeamsError: Error, Sendable, Equatable {
  /// The status code.
  var status: Int
  /// The title, the same for every occurrence.
  var error: String
  /// What is wrong.
  var description: String

  /// An error by its parts.
  init(_ status: Int, _ error: String, _ description: String) {
    self.status = status
    self.error = error
    self.description = description
  }

  /// The answer.
  var answer: Answer {
    .json(status) {
      $0.member("error", error)
      $0.member("description", description)
    }
  }

  static let unknownInstance = BeamsError(404, "Instance not found", "Could not find the instance")
  static let unknownDevice = BeamsError(404, "Device not found", "Could not find the device")
  static let noAuthorization = BeamsError(400, "Incomplete Request", "Authorization header missing")
  static let wrongKey = BeamsError(401, "Unauthorized", "Incorrect Secret Key")
  static let wrongContentType = BeamsError(400, "Invalid content type", "only application/json")
  static let tooOften = BeamsError(429, "Rate Limited", "more than 100 requests in a second")

  /// 400.
  static func badRequest(_ description: String) -> BeamsError { BeamsError(400, "Bad request", description) }

  /// 422: what is wrong at a place of the body.
  static func unprocessable(_ path: String, _ reason: String) -> BeamsError {
    BeamsError(422, "Unprocessable Entity", "`\(path)`: \(reason)")
  }
}
