internal import CLinux
internal import Glibc

/// An IPv4 or IPv6 address with a port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  /// The bytes of the system's `sockaddr`.
  let bytes: [UInt8]
  /// `192.0.2.1:443` or `[2001:db8::1]:443`.
  public let description: String
  /// The port.
  public let port: UInt16

  init(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    bytes = unsafe Array(UnsafeRawBufferPointer(start: address, count: Int(length)))
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let code = unsafe getnameinfo(
      address, length, &host, socklen_t(host.count), &service, socklen_t(service.count), NI_NUMERICHOST | NI_NUMERICSERV
    )
    let hostText = code == 0 ? Self.text(host) : "unknown address"
    port = code == 0 ? UInt16(Self.text(service)) ?? 0 : 0
    description = hostText.contains(":") ? "[\(hostText)]:\(port)" : "\(hostText):\(port)"
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  var family: Int32 { unsafe bytes.withUnsafeBytes { unsafe Int32($0.loadUnaligned(as: sa_family_t.self)) } }

  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    unsafe withUnsafeTemporaryAllocation(of: sockaddr_storage.self, capacity: 1) { storage in
      unsafe UnsafeMutableRawBufferPointer(storage).copyBytes(from: bytes)
      return unsafe storage.withMemoryRebound(to: sockaddr.self) { rebound in
        unsafe body(UnsafePointer(rebound.baseAddress.unsafelyUnwrapped), socklen_t(bytes.count))
      }
    }
  }
}

extension SocketAddress {
  /// All addresses of `host`; blocks. `passive` is for listening, where an empty host means every interface.
  static func resolve(host: String, port: UInt16, passive: Bool) throws(SocketError) -> [SocketAddress] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = AF_UNSPEC
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : AI_ADDRCONFIG)
    var list: UnsafeMutablePointer<addrinfo>?
    var code = unsafe getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
    if code != 0, !passive {
      // AI_ADDRCONFIG leaves out loopback on a machine without other addresses.
      unsafe hints.ai_flags = AI_NUMERICSERV
      code = unsafe getaddrinfo(host, String(port), &hints, &list)
    }
    guard code == 0 else { throw failure(code, errno, host: host, port: port) }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let address = unsafe entry.pointee.ai_addr {
        unsafe addresses.append(SocketAddress(address, length: entry.pointee.ai_addrlen))
      }
      unsafe next = entry.pointee.ai_next
    }
    guard !addresses.isEmpty else { throw failure(EAI_NONAME, 0, host: host, port: port) }
    return addresses
  }

  private static func failure(_ code: Int32, _ systemCode: Int32, host: String, port: UInt16) -> SocketError {
    guard code != EAI_SYSTEM else { return .system(.resolve, "\(host):\(port)", systemCode) }
    let remedy =
      switch code {
      case EAI_AGAIN: "the name server did not answer: check /etc/resolv.conf and the network"
      case EAI_NONAME: "check the host's spelling"
      default: ""
      }
    let reason = unsafe String(cString: gai_strerror(code))
    return SocketError(.resolve, "\(host):\(port)", code: code, reason: reason, remedy: remedy)
  }
}
