import JSON

/// Asks the devices of a user to approve a login: the push that the LoginActions apps answer.
public struct LoginApproval: Sendable, Equatable {
  /// `aps.category`; a payload that has it is served in the urgent lane.
  public static let category = "LoginActions"
  /// How long an approval is worth showing when its sender says nothing.
  public static let lifetime: Duration = .seconds(300)

  /// Whose login.
  public var email: String
  /// What the app hands back; opaque.
  public var hash: String
  /// The title; nil = `Login approval`.
  public var title: String?
  /// The text; nil = `Approve the login of <email>?`.
  public var body: String?

  /// An approval by its parts.
  public init(email: String, hash: String, title: String? = nil, body: String? = nil) {
    self.email = email
    self.hash = hash
    self.title = title
    self.body = body
  }

  /// Fills a request with payload, target, headers and deadline; what the request has of target, priority, deadline,
  /// lane and collapse id stays.
  ///
  /// - Parameter sha256: the digest of bytes.
  /// - Throws: also when the request names nobody and the address has letters that the rule for interests would lose.
  public func fill(
    _ request: inout NotificationRequest, sha256: ([UInt8]) -> [UInt8]
  ) throws(NotificationFaults) {
    var faults: [NotificationFinding] = []
    if !Self.isAddress(email) {
      faults.append(NotificationFinding("email", "it is no address: one @ is needed, with something on both sides"))
    }
    if hash.isEmpty { faults.append(NotificationFinding("hash", "it is empty")) }
    if faults.isEmpty, request.hasNoTarget {
      do {
        request.interests = ["auth-" + (try InterestSlug.slug(of: email))]
      } catch {
        faults.append(
          NotificationFinding("email", "\(error.description); give --user or --interest"))
      }
    }
    guard faults.isEmpty else { throw NotificationFaults(faults) }
    request.payload = payload
    request.pushType = request.pushType ?? PushType.alert.rawValue
    request.priority = request.priority ?? Int64(Priority.immediate.rawValue)
    request.lane = request.lane ?? Lane.urgent.name
    request.collapseID = request.collapseID ?? collapseID(sha256)
    if request.expiresIn == nil, request.expiration == nil { request.expiresIn = Self.lifetime }
  }

  private static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts.contains { $0.isEmpty }
  }

  /// The payload; the app reads `aps.payload` as strings.
  var payload: [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.name("aps")
      $0.object {
        $0.name("alert")
        $0.object {
          $0.member("title", title ?? "Login approval")
          $0.member("body", body ?? "Approve the login of \(email)?")
        }
        $0.member("sound", "default")
        $0.member("category", Self.category)
        $0.member("interruption-level", InterruptionLevel.timeSensitive.rawValue)
        $0.name("payload")
        $0.object {
          $0.member("hash", hash)
          $0.member("email", email)
        }
      }
    }
    return writer.bytes
  }

  /// One approval replaces itself when it is sent again, and no other.
  private func collapseID(_ sha256: ([UInt8]) -> [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let digest = sha256(Array(hash.utf8)).prefix(16)
    return "login-"
      + String(
        decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
