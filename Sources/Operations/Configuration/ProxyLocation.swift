/// An HTTP proxy that opens tunnels (CONNECT), and the name and password that it may ask for.
public struct ProxyLocation: Sendable, Equatable, CustomStringConvertible {
  /// The name and password for the proxy.
  public struct Credentials: Sendable, Equatable {
    /// The name; without a colon, which Basic authentication cannot carry.
    public let user: String
    /// The password; may be empty.
    public let password: SecretText
  }

  /// Where the proxy listens.
  public let address: HostPort
  /// What it may ask for; nil = nothing is sent.
  public let credentials: Credentials?

  /// The environment variables that name a proxy for HTTPS, the first one set counts; in curl's order.
  static let variables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

  /// As in settings, the password masked.
  public var description: String {
    let user = credentials.map { "\(PrintableText.escaped($0.user)):\($0.password)@" } ?? ""
    return "http://\(user)\(address)"
  }

  /// Reads `http://[USER[:PASSWORD]@]HOST:PORT`; `http://` and a `/` at the end may be missing. In the name and the password
  /// `%XX` stands for a byte.
  /// - Throws: ``SettingFault``, which repeats no part of the text: any of it may be the password.
  public static func parse(_ text: String) throws(SettingFault) -> ProxyLocation {
    var rest = Substring(AppRules.trimmed(text))
    if let end = rest.firstRange(of: "://") {
      try check(scheme: rest[..<end.lowerBound].lowercased())
      rest = rest[end.upperBound...]
    }
    // The last one: a password may hold others.
    let at = rest.lastIndex(of: "@")
    var address = at.map { rest[rest.index(after: $0)...] } ?? rest
    if address.last == "/" { address.removeLast() }
    let credentials = try at.map { (at) throws(SettingFault) in try parse(credentials: rest[..<at]) }
    do {
      return ProxyLocation(address: try HostPort.parse(String(address)), credentials: credentials)
    } catch {
      throw SettingFault(
        "is not http://USER:PASSWORD@HOST:PORT or http://HOST:PORT",
        remedy: "write it like http://proxy.example.com:3128")
    }
  }

  private static func check(scheme: String) throws(SettingFault) {
    guard scheme != "http" else { return }
    let what = scheme == "https" ? "a proxy that is reached over TLS" : "a proxy of another kind than HTTP"
    throw .notInThisVersion(what, remedy: "name an HTTP proxy that allows CONNECT: http://HOST:PORT")
  }

  private static func parse(credentials text: Substring) throws(SettingFault) -> Credentials {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let user = try decoded(parts[0])
    let password = parts.count == 2 ? try decoded(parts[1]) : ""
    guard !user.contains(":") else {
      throw SettingFault("has a colon in the proxy's user name, which HTTP's Basic authentication cannot carry")
    }
    return Credentials(user: user, password: SecretText(password))
  }

  /// The text with `%XX` replaced.
  private static func decoded(_ text: Substring) throws(SettingFault) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
        throw SettingFault(
          "has a % in the proxy's name or password without two hexadecimal digits", remedy: "write %25")
      }
      bytes.append(high << 4 | low)
    }
    guard let result = String(validating: bytes, as: UTF8.self), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else {
      throw SettingFault("has a control character or no UTF-8 in the proxy's name or password")
    }
    return result
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// The hosts that are reached without a proxy: what `NO_PROXY` says, and this machine.
public struct ProxyExceptions: Sendable, Equatable {
  private struct Entry: Sendable, Equatable {
    let host: String
    let port: UInt16?
  }

  /// The environment variables that list them, the first one set counts.
  static let variables = ["no_proxy", "NO_PROXY"]

  private let entries: [Entry]

  /// Reads a list separated by commas or spaces. A name stands for itself and for every name below it, with a leading dot or
  /// without; `*` for all; `NAME:PORT` for that port alone.
  public init(_ list: String) {
    entries = list.split { $0 == "," || $0.isWhitespace }.map { text in
      let text = text.lowercased()
      if let place = try? HostPort.parse(text) { return Entry(host: Self.name(place.host), port: place.port) }
      // Whatever else it is, it is compared as a name.
      return Entry(host: Self.name(text), port: nil)
    }
  }

  /// Whether a host is reached directly.
  public func contains(_ host: HostPort) -> Bool {
    let name = host.host.lowercased()
    return host.isLoopback
      || entries.contains { entry in
        entry.host == "*"
          || (entry.port ?? host.port) == host.port && (name == entry.host || name.hasSuffix("." + entry.host))
      }
  }

  private static func name(_ text: String) -> String {
    if text.hasPrefix("["), text.hasSuffix("]") { return String(text.dropFirst().dropLast()) }
    return text.hasPrefix(".") ? String(text.dropFirst()) : text
  }
}
