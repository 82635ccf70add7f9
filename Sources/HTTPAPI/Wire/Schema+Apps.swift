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
      {"type":"object","required":["token","debug"],"properties":{"token":{"type":"string","pattern":"^[0-9a-fA-F]{1,200}$"},"debug":{"type":"boolean"},
      "language":{"description":"A language tag; anything else leaves the one that is known."}}}
      """
    case .appUserRegistration:
      """
      {"type":"object","required":["bundle-id","device-token","name"],"properties":{
      "bundle-id":{"type":"string","minLength":1},"device-token":{"type":"string","pattern":"^[0-9a-fA-F]{1,200}$"},
      "name":{"type":"string","minLength":1,"description":"At most 255 bytes."}}}
      """
    case .appUser:
      """
      {"type":"object","required":["admin","device-tokens","name","user-id"],"properties":{"admin":{"enum":["True","False"]},
      "device-tokens":{"type":"array","items":{"type":"string"}},"name":{"type":"string"},"user-id":{"type":"string"}}}
      """
    case .beamsRegistration:
      """
      {"type":"object","required":["token","bundleIdentifier"],"properties":{"token":{"type":"string","pattern":"^[0-9a-fA-F]{1,200}$"},
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
      "event":{"enum":["Delivery","Open"]},"publishId":{"type":"string"},
      "deviceId":{"type":"string"},"timestampSecs":{"type":"integer"}}}
      """
    case .beamsInterestPublish: Self.publish("interests", limit: 100)
    case .beamsUserPublish: Self.publish("users", limit: 1000)
    default: SchemaName.document.json
    }
  }
  private static func publish(_ audience: String, limit: Int) -> String {
    """
    {"type":"object","required":["\(audience)","apns"],"properties":{
    "\(audience)":{"type":"array","minItems":1,"maxItems":\(limit),"items":{"type":"string","minLength":1}},
    "apns":{"type":"object","required":["aps"],"properties":{"aps":{"type":"object"},"data":{"type":"object"},
      "collapse_id":{"type":["string","null"]},"expiration":{"type":["integer","null"]},"priority":{"enum":[5,10,null]}}},
    "webhookUrl":{"type":["string","null"],"maxLength":2048,"description":"Told of the start and the end; https."}}}
    """
  }
}
