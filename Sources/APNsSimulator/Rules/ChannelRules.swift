import JSON

/// A call that manages channels.
enum ChannelCall: Sendable, Equatable {
  case create
  case read
  case delete
  case list

  /// The call of a path and its method; nil when it is none.
  init?(_ target: RequestTarget?, method: String) {
    switch (target, method) {
    case (.channels, "POST"): self = .create
    case (.channels, "GET"): self = .read
    case (.channels, "DELETE"): self = .delete
    case (.allChannels, "GET"): self = .list
    default: return nil
    }
  }

  /// The status of its answer when it is done.
  var status: Int {
    switch self {
    case .create: 201
    case .read, .list: 200
    case .delete: 204
    }
  }
}

/// Apple's rules for `/1/apps/<bundle id>/channels` and `/all-channels` behind those of the credential.
///
/// Source: Apple, "Sending channel management requests to APNs".
enum ChannelRules {
  /// The fields that may stand only once.
  static let single = ["authorization", "apns-request-id", "apns-channel-id"]
  /// The only push type of a channel, as a body spells it.
  private static let pushType = "LiveActivity"

  /// Does what a call asks for, or refuses it.
  static func perform(
    _ call: ChannelCall, _ request: PushRequest, of app: ChannelStore.App, channels: inout ChannelStore,
    warnings: inout [String]
  ) throws(Rejection) -> Verdict.Success {
    guard !request.path.utf8.contains(UInt8(ascii: "?")) else { throw Rejection(.badRequestParams) }
    try HeaderRules.checkDuplicates(request.fields, of: single)
    try HeaderRules.checkRequestID(request.text("apns-request-id"), warnings: &warnings)
    try channels.checkCapability(of: app)
    if call != .create, request.bodyByteCount > 0 { warnings.append("only the creation of a channel has a body") }

    var success = Verdict.Success(status: call.status)
    switch call {
    case .create:
      success.channelID = try channels.create(try storagePolicy(request.body), of: app)
    case .read:
      let policy = try channels.policy(of: try HeaderRules.channelID(request), of: app)
      success.body = configuration(policy)
    case .delete:
      try channels.delete(try HeaderRules.channelID(request), of: app)
    case .list:
      success.body = list(channels.ids(of: app))
    }
    return success
  }

  /// The policy in the body of a creation, `{"message-storage-policy":0|1,"push-type":"LiveActivity"}` and nothing else.
  private static func storagePolicy(_ body: [UInt8]) throws(Rejection) -> ChannelStore.StoragePolicy {
    // Which fault of JSON it is makes no difference to the answer.
    guard let value = try? JSONValue(parsing: body), let members = value.object,
      Set(members.map(\.name)).count == members.count,
      members.allSatisfy({ ["message-storage-policy", "push-type"].contains($0.name) }),
      let policy = value["message-storage-policy"]?.integer.flatMap(ChannelStore.StoragePolicy.init)
    else { throw Rejection(.badRequestPayload) }
    guard let type = value["push-type"] else { throw Rejection(.missingPushType) }
    guard type.string == pushType else { throw Rejection(.invalidPushType) }
    return policy
  }

  private static func configuration(_ policy: ChannelStore.StoragePolicy) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("message-storage-policy", policy.rawValue)
      writer.member("push-type", pushType)
    }
    return writer.bytes
  }

  private static func list(_ ids: [String]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.member("channels", ids) }
    return writer.bytes
  }
}
