import HTTP2
import OpenSSL
import PushCore

/// How pushes show who sends them.
enum Authorization: Sendable {
  /// By a provider token of a key.
  case token(ProviderKey, ProviderToken)
  /// By the connection's certificate.
  case certificate(ClientCertificate)

  var signer: Signer {
    switch self {
    case .token(let key, _): .key(key)
    case .certificate(let certificate): .certificate(certificate)
    }
  }

  var token: ProviderToken? {
    switch self {
    case .token(_, let token): token
    case .certificate: nil
    }
  }
}

/// A batch as it was given to the HTTP/2 client: what its answers need.
struct SentBatch: Sendable {
  /// The worker's batch.
  let push: PushBatch
  /// How it shows who sends it.
  let authorization: Authorization
  /// Its connections.
  let origin: HTTP2OriginID
  /// The devices' indexes in the worker's batch, for a repeat of some; nil = all, in order.
  let indexes: [Int32]?

  /// Whether its pushes were answered before: they are not repeated again.
  var isRepeat: Bool { indexes != nil }
  var count: Int { indexes?.count ?? push.devices.count }

  /// The index in the worker's batch of an entry of this one.
  func index(of entry: UInt32) -> Int32 {
    guard let indexes else { return Int32(truncatingIfNeeded: entry) }
    return indexes[Int(entry)]
  }
}

/// The batches that wait for answers, found by number without hashing.
struct SentBatches {
  private struct Slot {
    var generation: UInt32 = 0
    var answersLeft = 0
    var batch: SentBatch?
  }

  private var slots: [Slot] = []
  private var free: [Int] = []

  /// Number of batches that wait.
  var count: Int { slots.count - free.count }

  /// Keeps a batch until each of its entries was answered; the number is the HTTP/2 batch's.
  mutating func add(_ batch: SentBatch) -> UInt64 {
    let index = free.popLast() ?? slots.count
    if index == slots.count { slots.append(Slot()) }
    slots[index].generation &+= 1
    slots[index].answersLeft = batch.count
    slots[index].batch = batch
    return UInt64(slots[index].generation) << 32 | UInt64(index)
  }

  /// The batch of a number; nil when all of it was answered.
  subscript(number: UInt64) -> SentBatch? {
    let index = Int(number & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == UInt32(number >> 32) else { return nil }
    return slots[index].batch
  }

  /// Notes one answer; forgets the batch after its last.
  mutating func answered(_ number: UInt64, _ answers: Int) {
    let index = Int(number & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == UInt32(number >> 32),
      slots[index].batch != nil
    else { return }
    slots[index].answersLeft -= answers
    if slots[index].answersLeft <= 0 {
      slots[index].batch = nil
      free.append(index)
    }
  }
}
