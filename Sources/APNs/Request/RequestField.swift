import HTTP2
import PushCore

/// The header fields of a push: the one table of them, in the order in which they are sent. Another header is another
/// case, and the compiler names the places that must answer it.
enum RequestField: CaseIterable {
  case authorization, topic, pushType, priority, expiration, collapseID

  /// The field that differs for each device; see ``APNsID``.
  static let perRequestName = "apns-id"
  /// What stands before the device token in the path.
  static let pathPrefix = "/3/device/"

  /// The fields of a push; `authorization` is for provider tokens alone.
  static func sent(withToken: Bool) -> [RequestField] { allCases.filter { withToken || $0 != .authorization } }

  /// The name on the wire.
  var name: String {
    switch self {
    case .authorization: "authorization"
    case .topic: "apns-topic"
    case .pushType: "apns-push-type"
    case .priority: "apns-priority"
    case .expiration: "apns-expiration"
    case .collapseID: "apns-collapse-id"
    }
  }

  /// The value for a notification; `authorization` is what the header of that name says.
  func value(of content: PushContent, authorization: String) -> String {
    switch self {
    case .authorization: authorization
    case .topic: content.topic
    case .pushType: content.headers.pushType.rawValue
    case .priority: String(content.headers.priority.rawValue)
    case .expiration: content.headers.expiresImmediately ? "0" : String(content.expiresAt.seconds)
    case .collapseID: content.headers.collapseID ?? content.notificationID.description
    }
  }

  /// Whether the value may enter HPACK's dynamic table, which holds 4096 bytes at APNs.
  ///
  /// - Parameter isShared: whether many pushes have the same value. Values of a single push would only displace the others.
  func indexing(isShared: Bool) -> HTTP2Field.Indexing {
    switch self {
    // A secret: RFC 7541 §7.1.3.
    case .authorization: .never
    case .topic, .pushType, .priority: .automatic
    case .expiration, .collapseID: isShared ? .automatic : .never
    }
  }
}

extension HTTP2RequestTemplate {
  /// What all pushes of a notification under one provider token share; nil = the connection's certificate says who sends.
  ///
  /// - Parameters:
  ///   - authority: the host, with its port unless that is 443.
  ///   - isShared: whether the template will send many pushes.
  static func push(
    _ content: PushContent, providerToken: ProviderToken?, authority: String, isShared: Bool
  ) throws(HTTP2TemplateError) -> HTTP2RequestTemplate {
    let authorization = providerToken.map { "bearer \($0.jwt)" }
    let fields = RequestField.sent(withToken: authorization != nil).map { field in
      HTTP2Field(
        field.name, field.value(of: content, authorization: authorization ?? ""),
        indexing: field.indexing(isShared: isShared))
    }
    return try HTTP2RequestTemplate(
      authority: authority, pathPrefix: RequestField.pathPrefix, fields: fields,
      perRequestField: RequestField.perRequestName, body: content.payload)
  }
}
