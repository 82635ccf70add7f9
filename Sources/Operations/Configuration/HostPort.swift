/// A host and its TCP port.
public struct HostPort: Sendable, Hashable, CustomStringConvertible {
  /// A name or an address; an IPv6 address without its brackets.
  public let host: String
  /// 1…65535.
  public let port: UInt16

  /// A host and its port.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// As in settings; an IPv6 address in brackets.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Reads `HOST:PORT`, `[IPV6]:PORT`, or a host alone when there is a default port.
  ///
  /// - Parameter allowsAnyPort: whether port 0 is taken: an address to listen on, with any free port.
  /// - Throws: ``SettingFault``.
  public static func parse(
    _ text: String, defaultPort: UInt16? = nil, allowsAnyPort: Bool = false
  ) throws(SettingFault) -> HostPort {
    let fault = SettingFault("is not HOST:PORT, but \(shown(text))", remedy: "write it like api.push.apple.com:443")
    guard !text.contains("://"), !text.contains("/") else { throw fault }
    var host = Substring(text)
    var portText: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw fault }
      host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":"), host.contains(":") else { throw fault }
      if !rest.isEmpty { portText = rest.dropFirst() }
    } else if let colon = text.lastIndex(of: ":") {
      host = text[..<colon]
      portText = text[text.index(after: colon)...]
      guard !host.contains(":") else {
        throw SettingFault("is an IPv6 address without brackets", remedy: "write [ADDRESS]:PORT")
      }
    }
    guard isHost(host) else { throw fault }
    guard let portText else {
      guard let defaultPort else { throw fault }
      return HostPort(host: String(host), port: defaultPort)
    }
    guard portText.allSatisfy({ ("0"..."9").contains($0) }), let port = UInt16(portText),
      port > 0 || allowsAnyPort
    else {
      throw SettingFault(
        "has no port from 1 to 65535 in \(shown(text))", remedy: "write it like api.push.apple.com:443")
    }
    return HostPort(host: String(host), port: port)
  }

  /// Whether the host is this machine, which no proxy stands before.
  public var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

  private static func isHost(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.count <= 253
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "%"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
          UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
