import JSON
import OpenSSL
import Operations
import Support

@testable import HTTPAPI

/// A relay that stands for one Beams instance, and what its clients send.
enum BeamsSettings {
  static let instance = "00000000-0000-4000-8000-00000000beef"
  static let secret = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF"
  static let devices = "/device_api/v1/instances/\(instance)/devices/apns"
  static let publishes = "/publish_api/v1/instances/\(instance)/publishes"
  static let json = #"""
    { "beams": [{ "instance_id": "\#(instance)", "secret_key": "\#(secret)", "topics": ["\#(LocalAPI.topic)"] }] }
    """#

  /// A JWT with these claims.
  static func token(
    _ claims: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#, secret: String = secret
  ) -> String {
    let text = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
    return "\(text).\(Base64URL.encode(HMACSHA256.code(of: Array(text.utf8), key: Array(secret.utf8))))"
  }

  /// The claims of a good user token.
  static func claims(_ user: String) -> String {
    #"{"sub":"\#(user)","exp":4102444800,"iss":"https://\#(instance).pushnotifications.pusher.com"}"#
  }
}

extension LocalAPI {
  /// Calls as the SDKs do.
  func beams(
    _ method: String, _ path: String, _ body: String = "", bearer: String? = nil, type: String = "application/json"
  ) async throws -> HTTPReply {
    try await call(method, path, key: bearer, fields: ["Content-Type: \(type)"], body: body)
  }

  /// Registers a device; its id.
  func beamsDevice(_ token: String, bundleID: String = LocalAPI.topic) async throws -> String {
    let reply = try await beams(
      "POST", BeamsSettings.devices,
      #"{"token":"\#(token)","instanceId":"x","bundleIdentifier":"\#(bundleID)","metadata":{"sdkVersion":"1.2.1"}}"#)
    guard let id = try reply.json()["id"]?.string else { throw SupportError("not registered: \(reply.text)") }
    return id
  }
}
