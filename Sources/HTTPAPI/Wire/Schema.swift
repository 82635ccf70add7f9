/// The JSON objects of the interface, by the names that the OpenAPI document has for them.
enum SchemaName: String, CaseIterable, Sendable {
  case notification = "Notification"
  case enqueued = "Enqueued"
  case counts = "Counts"
  case notificationStatus = "NotificationStatus"
  case notificationList = "NotificationList"
  case canceled = "Canceled"
  case receipt = "Receipt"
  case receiptList = "ReceiptList"
  case device = "Device"
  case deviceChanges = "DeviceChanges"
  case deviceList = "DeviceList"
  case interest = "Interest"
  case app = "App"
  case apps = "Apps"
  case health = "Health"
  case readiness = "Readiness"
  case problem = "Problem"
  case vaporError = "VaporError"
  case beamsError = "BeamsError"
  case tokenRegistration = "TokenRegistration"
  case appUserRegistration = "AppUserRegistration"
  case appUser = "AppUser"
  case beamsRegistration = "BeamsRegistration"
  case interestSet = "InterestSet"
  case beamsEvent = "BeamsEvent"
  case beamsInterestPublish = "BeamsInterestPublish"
  case beamsUserPublish = "BeamsUserPublish"
  case text = "Text"
  case texts = "Texts"
  case document = "Document"

  /// Its JSON Schema (2020-12).
  var json: String {
    switch self {
    case .notification:
      """
      {"type":"object","additionalProperties":false,"required":["topic","payload"],
      "oneOf":[{"required":["target"],"properties":{"target":{"type":"object"},"recipients":{"type":"null"}}},
        {"required":["recipients"],"properties":{"recipients":{"type":"array"},"target":{"type":"null"}}}],"properties":{
      "topic":{"type":"string","minLength":1},
      "target":{"type":["object","null"],"additionalProperties":false,"properties":{
        "interests":{"type":"array","maxItems":100,"items":{"type":"string","minLength":1}},
        "users":{"type":"array","maxItems":1000,"items":{"type":"string","minLength":1}},
        "tokens":{"type":"array","maxItems":1000,"items":{"type":"string","pattern":"^([0-9a-fA-F]{2}){1,100}$"}},
        "everyone":{"type":"boolean"}}},
      "recipients":{"type":["array","null"],"minItems":1,"maxItems":1000,"description":"\(Self.recipients)","items":{"type":"object",
        "additionalProperties":false,"oneOf":[{"required":["token"]},{"required":["user"]},{"required":["interest"]}],"properties":{
        "token":{"type":"string","pattern":"^([0-9a-fA-F]{2}){1,100}$"},"user":{"type":"string","minLength":1},
        "interest":{"type":"string","minLength":1},
        "values":{"type":"object","additionalProperties":{"type":"string"}}}}},
      "payload":{"type":"object","description":"Reaches the device byte for byte; at most 4096 bytes, 5120 for voip. With recipients, {{name}} in its strings stands for their values, and the limit holds for what each of them gets."},
      "push_type":{"type":["string","null"]},"priority":{"enum":[10,5,1,null]},
      "expires_in":{"type":["string","null"],"description":"A duration such as 90s, 5m, 1h30m; 24h when not said."},
      "expiration":{"type":["integer","null"],"description":"UNIX seconds, or 0, in place of expires_in."},
      "collapse_id":{"type":["string","null"]},
      "send_at":{"type":["string","null"],"format":"date-time"},
      "lane":{"enum":["urgent","normal","bulk",null]},
      "environment":{"enum":["production","sandbox",null]}}}
      """
    case .enqueued:
      #"{"type":"object","required":["id","state"],"properties":{"id":{"type":"string"},"state":{"type":"string"}}}"#
    case .counts:
      """
      {"type":"object","properties":{"devices":{"type":"integer"},"accepted":{"type":"integer"},"rejected":{"type":"integer"},
      "expired":{"type":"integer"},"canceled":{"type":"integer"},"failed":{"type":"integer"},"skipped":{"type":"integer"},
      "pending":{"type":"integer"}}}
      """
    case .notificationStatus:
      """
      {"type":"object","required":["id","state","counts"],"properties":{"id":{"type":"string"},
      "state":{"enum":["scheduled","queued","sending","held","parked","done","canceled"]},"topic":{"type":"string"},
      "lane":{"type":"string"},"created_at":{"type":"string","format":"date-time"},
      "send_at":{"type":["string","null"],"format":"date-time"},"expires_at":{"type":"string","format":"date-time"},
      "done_at":{"type":["string","null"],"format":"date-time"},
      "complete":{"type":"boolean","description":"While false, devices and pending are lower bounds."},
      "counts":{"$ref":"#/components/schemas/Counts"}}}
      """
    case .notificationList: Self.list("notifications", .notificationStatus)
    case .canceled:
      """
      {"type":"object","required":["id","state","counts"],"properties":{"id":{"type":"string"},"state":{"type":"string"},
      "counts":{"$ref":"#/components/schemas/Counts"}}}
      """
    case .receipt:
      """
      {"type":"object","required":["outcome"],"properties":{"notification_id":{"type":["string","null"]},
      "apns_id":{"type":["string","null"]},"topic":{"type":"string"},"environment":{"type":["string","null"]},
      "device_token":{"type":["string","null"]},
      "outcome":{"enum":["pending","accepted","rejected","expired","canceled","failed","skipped"]},
      "status":{"type":["integer","null"]},"reason":{"type":["string","null"]},
      "timestamp":{"type":["string","null"],"format":"date-time"},"attempts":{"type":["integer","null"],
        "description":"null where receipts are packed: bulk, and normal beyond about a hundred devices."},
      "latency_ms":{"type":["integer","null"],"description":"null where attempts is."},
      "delivered_at":{"type":"string","format":"date-time","description":"Reported by the app: the push woke it."},
      "opened_at":{"type":"string","format":"date-time","description":"Reported by the app: a person opened it."}}}
      """
    case .receiptList: Self.list("receipts", .receipt)
    case .device:
      """
      {"type":"object","required":["token","topic","environment","state"],"properties":{"token":{"type":"string"},
      "topic":{"type":"string"},"environment":{"enum":["production","sandbox"]},"user":{"type":["string","null"]},
      "language":{"type":["string","null"]},"interests":{"type":"array","items":{"type":"string"}},
      "registered_at":{"type":"string","format":"date-time"},"state":{"enum":["active","retired"]},
      "retired_at":{"type":["string","null"],"format":"date-time"},"retired_reason":{"type":["string","null"]}}}
      """
    case .deviceChanges:
      """
      {"type":"object","additionalProperties":false,"properties":{
      "topic":{"type":["string","null"],"minLength":1},
      "environment":{"enum":["production","sandbox",null]},"user":{"type":["string","null"]},
      "language":{"type":["string","null"]},"interests":{"type":["array","null"],"items":{"type":"string"}}}}
      """
    case .deviceList: Self.list("devices", .device)
    case .interest:
      #"{"type":"object","required":["name","devices"],"properties":{"name":{"type":"string"},"devices":{"type":"integer"}}}"#
    case .app:
      """
      {"type":"object","required":["topic","environment","state"],"properties":{"topic":{"type":"string"},
      "environment":{"type":"string"},"team_id":{"type":["string","null"]},"key_id":{"type":["string","null"]},
      "certificate_sha256":{"type":["string","null"]},"state":{"enum":["active","paused"]},
      "reason":{"type":["string","null"]},"since":{"type":["string","null"],"format":"date-time"},
      "trouble":{"type":["string","null"]},"trouble_since":{"type":["string","null"],"format":"date-time"}}}
      """
    case .apps:
      ##"{"type":"object","required":["apps"],"properties":{"apps":{"type":"array","items":{"$ref":"#/components/schemas/App"}}}}"##
    case .health:
      #"{"type":"object","required":["status"],"properties":{"status":{"const":"ok"},"version":{"type":"string"}}}"#
    case .readiness:
      """
      {"type":"object","required":["status","reasons"],"properties":{"status":{"enum":["ready","not ready"]},
      "reasons":{"type":"array","items":{"type":"string"}}}}
      """
    case .problem:
      """
      {"type":"object","required":["type","title","status","detail"],"properties":{"type":{"enum":[\(Self.problemTypes)]},
      "title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string"},
      "errors":{"type":"array","items":{"type":"object","required":["path","detail"],
        "properties":{"path":{"type":"string"},"detail":{"type":"string"}}}}}}
      """
    case .vaporError, .beamsError, .tokenRegistration, .appUserRegistration, .appUser, .beamsRegistration, .interestSet,
      .beamsEvent, .beamsInterestPublish, .beamsUserPublish:
      appSchema
    case .text: #"{"type":"string"}"#
    case .texts: #"{"type":"array","items":{"type":"string"}}"#
    case .document: #"{"type":"object"}"#
    }
  }

  private static let recipients =
    "In place of target: whom it is for, each with the values for {{name}} in the payload's strings (keys stay as they are). A device that several name takes its own values, else its user's, else those of the first interest. At most 100 of them interests."

  private static var problemTypes: String {
    Problem.Kind.allCases.map { "\"urn:pushrelay:problem:\($0.rawValue)\"" }.joined(separator: ",")
  }

  private static func list(_ member: String, _ element: SchemaName) -> String {
    """
    {"type":"object","required":["\(member)","next_cursor"],"properties":{
    "\(member)":{"type":"array","items":{"$ref":"#/components/schemas/\(element.rawValue)"}},
    "next_cursor":{"type":["string","null"],"description":"null: this was the last page."}}}
    """
  }
}
