extension SchemaName {
  /// The JSON Schemas of what apps and Beams SDKs send, and of how they are refused. Members that are not known do not matter there.
  var appSchema: String {
    switch self {
    case .vaporError:
      #"{"type":"object","required":["error","reason"],"properties":{"error":{"const":true},"reason":{"type":"string"}}}"#
    case .beamsError:
      """
      {"type":"object","required":["error","description"],"properties":{"error":{"type":"string"},
      "description":{"type":"string"}}}
      """
    case .tokenRegistration:
      """
      {"type":"object","required":["token","debug"],"properties":{"token":{"type":"string"},"debug":{"type":"boolean"},
      "language":{"type":"string"}}}
      """
    case .appUserRegistration:
      """
      {"type":"object","required":["bundle-id","device-token","name"],"properties":{"bundle-id":{"type":"string"},
      "device-token":{"type":"string"},"name":{"type":"string"}}}
      """
    case .appUser:
      """
      {"type":"object","required":["admin","device-tokens","name","user-id"],"properties":{"admin":{"enum":["True","False"]},
      "device-tokens":{"type":"array","items":{"type":"string"}},"name":{"type":"string"},"user-id":{"type":"string"}}}
      """
    case .beamsRegistration:
      """
      {"type":"object","required":["token","bundleIdentifier"],"properties":{"token":{"type":"string"},
      "bundleIdentifier":{"type":"string"},"metadata":{"type":"object"}}}
      """
    case .interestSet:
      """
      {"type":"object","required":["interests"],"properties":{"interests":{"type":"array","maxItems":5000,
      "items":{"type":"string","pattern":"^[a-zA-Z0-9_=@,.;-]{1,164}$"}}}}
      """
    case .beamsEvent:
      """
      {"type":"object","required":["event","publishId","deviceId","timestampSecs"],"properties":{
      "event":{"type":"string","description":"Delivery or Open."},"publishId":{"type":"string"},
      "deviceId":{"type":"string"},"timestampSecs":{"type":"integer"}}}
      """
    case .beamsPublish:
      """
      {"type":"object","required":["apns"],"properties":{
      "interests":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"string"}},
      "users":{"type":"array","minItems":1,"maxItems":1000,"items":{"type":"string"}},
      "apns":{"type":"object","required":["aps"],"properties":{"aps":{"type":"object"},"data":{"type":"object"},
        "collapse_id":{"type":"string"},"expiration":{"type":"integer"},"priority":{"enum":[5,10]}}}}}
      """
    default: SchemaName.document.json
    }
  }
}
