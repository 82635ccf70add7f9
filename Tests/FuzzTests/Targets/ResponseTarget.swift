import HTTP2
import Operations
import PushCore

@testable import APNs

extension FuzzTarget {
  /// Answers of APNs, or of whatever answers in its place: status, `retry-after` and body.
  static let response = FuzzTarget(name: "response") { bytes in
    var input = FuzzInput(bytes)
    let status = UInt16(input.byte()) << 8 | UInt16(input.byte())
    let wait = String(decoding: input.chunk(Int(input.byte() & 31)), as: UTF8.self)
    let fields = wait.isEmpty ? [] : [HTTP2FieldValue(name: ResponseReader.retryAfter, value: wait)]
    let body = input.remainder()
    let now = UnixMilliseconds(1_790_000_000_000)

    let verdict = ResponseReader.verdict(status: status, body: body, fields: fields, now: now)
    try require((verdict == .accepted) == (status == 200), "accepted without 200, or 200 not accepted")
    switch verdict {
    case .accepted: break
    case .rejected(let reason), .unfit(let reason), .held(_, let reason): try checkReason(reason)
    case .gone(let reason, let time):
      try checkReason(reason)
      if let time { try require(time.value <= now.value + 86_400_000, "a device is gone in the far future") }
    case .retry(let reason, let wait):
      try checkReason(reason)
      if let wait { try require(wait >= .zero && wait <= .seconds(86_400), "a wait of \(wait)") }
    case .unsent: throw Violation("an answered push is unsent")
    }
  }

  private static func checkReason(_ reason: PushReason) throws {
    switch reason {
    case .known(let id): try require(ReasonTable.text(of: id, stored: nil) != nil, "a known reason without a word")
    case .unknown(let text):
      try require(!text.isEmpty && text.utf8.count <= 64, "a reason of \(text.utf8.count) bytes")
      try require(text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a reason with characters that no log should have")
    }
  }
}
