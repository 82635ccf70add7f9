import JSON
import Operations
import PushCore

/// Why a request is refused, as callers see it: RFC 9457, `application/problem+json`.
struct Problem: Error, Sendable {
  /// The closed list of problems; `type` and `title` never change.
  enum Kind: String, Sendable, CaseIterable {
    case malformedRequest = "malformed-request"
    case notJSON = "not-json"
    case unauthorized
    case forbidden
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case conflict
    case tooLarge = "too-large"
    case invalid
    case tooManyRequests = "too-many-requests"
    case unavailable
    case internalError = "internal-error"

    /// The status code.
    var status: Int {
      switch self {
      case .malformedRequest, .notJSON: 400
      case .unauthorized: 401
      case .forbidden: 403
      case .notFound: 404
      case .methodNotAllowed: 405
      case .conflict: 409
      case .tooLarge: 413
      case .invalid: 422
      case .tooManyRequests: 429
      case .internalError: 500
      case .unavailable: 503
      }
    }

    /// The same words for every occurrence.
    var title: String {
      switch self {
      case .malformedRequest: "The request is malformed"
      case .notJSON: "The body is not JSON"
      case .unauthorized: "An API key is needed"
      case .forbidden: "The API key may not do this"
      case .notFound: "There is no such thing"
      case .methodNotAllowed: "The method is not allowed here"
      case .conflict: "The request conflicts with what is there"
      case .tooLarge: "The request is too large"
      case .invalid: "The request has faults"
      case .tooManyRequests: "There are too many requests"
      case .unavailable: "The relay cannot do this now"
      case .internalError: "The relay failed"
      }
    }
  }

  /// Which one.
  var kind: Kind
  /// What is wrong with this request, and what to do.
  var detail: String
  /// Every fault, with its place in the body.
  var errors: [NotificationFinding] = []
  /// Fields that belong to the answer.
  var fields: [(name: String, value: String)] = []
  /// Whether the connection ends with it.
  var closes = false
  /// The status code when it is not the kind's.
  var status: Int?

  /// A problem by its parts.
  init(_ kind: Kind, _ detail: String, errors: [NotificationFinding] = []) {
    self.kind = kind
    self.detail = detail
    self.errors = errors
    switch kind {
    case .unauthorized: fields = [("WWW-Authenticate", "Bearer")]
    case .unavailable, .tooManyRequests: fields = [("Retry-After", "1")]
    default: break
    }
  }

  /// Faults of a body.
  init(_ errors: [NotificationFinding]) {
    self.init(
      .invalid, errors.count == 1 ? "there is one fault; mend it" : "there are \(errors.count) faults; mend them all",
      errors: errors)
  }

  /// The answer.
  var answer: Answer {
    var writer = JSONWriter()
    let status = status ?? kind.status
    writer.object {
      $0.member("type", "urn:pushrelay:problem:\(kind.rawValue)")
      $0.member("title", kind.title)
      $0.member("status", status)
      $0.member("detail", detail)
      guard !errors.isEmpty else { return }
      $0.name("errors")
      $0.array { array in
        for error in errors {
          array.object {
            $0.member("path", error.path)
            $0.member("detail", error.detail)
          }
        }
      }
    }
    var answer = Answer(status: status, type: "application/problem+json", writer.bytes)
    answer.fields += fields
    answer.closes = closes
    return answer
  }
}

extension Problem {
  /// The problem of an error that an endpoint threw.
  init(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let faults as NotificationFaults:
      self.init(faults.findings)
      if faults.isPayloadTooLarge { kind = .tooLarge }
    case let error as JSONError: self.init(.notJSON, "\(error)")
    case let error as StoreError where error.isTransient:
      self.init(.unavailable, "the store cannot be used at the moment; try again")
    case let error as StoreError where error.code == .unusable:
      self.init(.unavailable, "the store is out of service: it was moved, or is damaged; the relay's log says more")
    case let error as StoreError where error.code == .unknownTopic:
      self.init([NotificationFinding("topic", "no app has this topic; the relay's settings name the apps")])
    default: self.init(.internalError, "the relay's log says more, under the request's id")
    }
  }
}
