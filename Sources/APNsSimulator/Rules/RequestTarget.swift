/// What a path names in Apple's three APIs: pushes to devices, broadcasts, and the channels of broadcasts.
enum RequestTarget: Sendable, Equatable {
  /// `/3/device/<device token>`, the token as sent; empty when the path ends before it.
  case device(String)
  /// `/4/broadcasts/apps/<bundle id>`.
  case broadcast(bundleID: String)
  /// `/1/apps/<bundle id>/channels`.
  case channels(bundleID: String)
  /// `/1/apps/<bundle id>/all-channels`.
  case allChannels(bundleID: String)

  /// What comes before a device token.
  static let prefix = "/3/device/"

  /// The target of a path; nil when the role knows no such path.
  init?(path: String, of role: ListenerRole) {
    if role.managesChannels {
      // A query is not the path's fault: it is refused with a word of its own.
      let segments = Self.segments(path.prefix { $0 != "?" })
      guard segments.count == 4, segments[..<2] == ["1", "apps"], !segments[2].isEmpty else { return nil }
      switch segments[3] {
      case "channels": self = .channels(bundleID: segments[2])
      case "all-channels": self = .allChannels(bundleID: segments[2])
      default: return nil
      }
    } else if path == Self.prefix.dropLast() {
      self = .device("")
    } else if path.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
      return nil
    } else if path.hasPrefix(Self.prefix) {
      let deviceToken = path.dropFirst(Self.prefix.count)
      guard !deviceToken.utf8.contains(UInt8(ascii: "/")) else { return nil }
      self = .device(String(deviceToken))
    } else {
      let segments = Self.segments(path[...])
      guard segments.count == 4, segments[..<3] == ["4", "broadcasts", "apps"], !segments[3].isEmpty else { return nil }
      self = .broadcast(bundleID: segments[3])
    }
  }

  private static func segments(_ path: Substring) -> [String] {
    guard path.hasPrefix("/") else { return [] }
    return path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }

  /// The methods that the path takes.
  var methods: [String] {
    switch self {
    case .device, .broadcast: ["POST"]
    case .channels: ["POST", "GET", "DELETE"]
    case .allChannels: ["GET"]
    }
  }

  /// The device token; nil when the path is of another API.
  var deviceToken: String? { if case .device(let deviceToken) = self { deviceToken } else { nil } }

  /// The app that the path names; nil for a device.
  var bundleID: String? {
    switch self {
    case .device: nil
    case .broadcast(let bundleID), .channels(let bundleID), .allChannels(let bundleID): bundleID
    }
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit in either case, or nil.
  var hexDigitValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  var isDecimalDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}
