internal import CMicroHTTPD
internal import Glibc
import Operations

/// Reads the fields of a request from libmicrohttpd.
enum RequestFields {
  private final class Collector {
    var fields: [(name: String, value: String)] = []
  }

  /// The fields in the order sent; names in lower case. Bytes that are not UTF-8 become U+FFFD.
  static func read(_ connection: OpaquePointer) -> [(name: String, value: String)] {
    let collector = Collector()
    collector.fields.reserveCapacity(12)
    _ = unsafe MHD_get_connection_values_n(
      connection, .HEADER_KIND,
      { owner, _, name, nameCount, value, valueCount in
        guard let owner = unsafe owner, let name = unsafe name else { return .YES }
        let nameBytes = unsafe UnsafeRawBufferPointer(start: name, count: nameCount)
        let valueBytes = unsafe UnsafeRawBufferPointer(start: value, count: unsafe value == nil ? 0 : valueCount)
        let lowered = unsafe nameBytes.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        unsafe Unmanaged<Collector>.fromOpaque(owner).takeUnretainedValue().fields.append(
          (String(decoding: lowered, as: UTF8.self), String(decoding: valueBytes, as: UTF8.self)))
        return .YES
      }, Unmanaged.passUnretained(collector).toOpaque())
    return collector.fields
  }
}

extension IPAddress {
  /// The address in a system's `sockaddr`; nil for other families.
  init?(_ address: UnsafePointer<sockaddr>?) {
    guard let address = unsafe address else { return nil }
    let raw = unsafe UnsafeRawPointer(address)
    switch unsafe Int32(address.pointee.sa_family) {
    case AF_INET:
      var internet = unsafe raw.loadUnaligned(as: sockaddr_in.self).sin_addr
      unsafe self.init(bytes: withUnsafeBytes(of: &internet) { unsafe Array($0) })
    case AF_INET6:
      var internet = unsafe raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      unsafe self.init(bytes: withUnsafeBytes(of: &internet) { unsafe Array($0) })
    default: return nil
    }
  }
}
