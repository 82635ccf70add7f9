internal import CLinux
internal import Glibc
import Operations
import PushCore

/// A file beside the database that all its processes map: who commits work rings, and who listens wakes within a tenth of a millisecond.
///
/// A hint and nothing more: a ring that is lost is made up for by the writer's look for the commits of others.
///
/// The pointer stays in here; what it points to is changed by atomic instructions alone.
@safe final class Bell: @unchecked Sendable {
  /// The numbers in the file. `listeners` is too high after a process that listened was killed: then some rings wake nobody.
  private enum Word: Int, CaseIterable {
    case bell, listeners, urgent, normal, bulk

    init(_ lane: Lane) {
      switch lane {
      case .urgent: self = .urgent
      case .normal: self = .normal
      case .bulk: self = .bulk
      }
    }
  }

  private static let bytes = 4096
  private let words: UnsafeMutablePointer<UInt32>
  private let own = Lock([Lane: UInt32]())
  private let isStopped = Lock(false)
  private let isListening = Lock(false)

  /// Maps the file, which is made if there is none.
  init(path: String) throws(StoreError) {
    let file = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw DatabaseFile.failure("open \(path)") }
    defer { _ = Glibc.close(file) }
    // Allocated, not only lengthened: writing to a hole of a mapped file on a full disk would kill the process.
    let code = posix_fallocate(file, 0, off_t(Self.bytes))
    guard code == 0 else {
      errno = code
      throw DatabaseFile.failure("allocate \(path)")
    }
    let address = unsafe mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else { throw DatabaseFile.failure("map \(path)") }
    unsafe words = address.bindMemory(to: UInt32.self, capacity: Self.bytes / 4)
  }

  deinit {
    // It cannot fail for an address that mmap gave.
    _ = unsafe munmap(words, Self.bytes)
  }

  /// Tells all processes that lanes got work; costs no system call when only this process listens.
  func ring(_ lanes: Set<Lane>) {
    own.withLock { own in
      for lane in lanes { own[lane, default: 0] &+= 1 }
    }
    for lane in lanes { add(1, to: Word(lane)) }
    add(1, to: .bell)
    let others = number(.listeners) &- (isListening.withLock { $0 } ? 1 : 0)
    if others > 0 { unsafe shared_wake_all(pointer(.bell)) }
  }

  /// Calls `handler`, on the calling thread, with each lane that another process rang for; returns after ``stop()``.
  func listen(_ handler: (Lane) -> Void) {
    add(1, to: .listeners)
    isListening.withLock { $0 = true }
    var heard = rings()
    while !isStopped.withLock({ $0 }) {
      let bell = number(.bell)
      let now = rings()
      for lane in Lane.allCases where now[lane] != heard[lane] { handler(lane) }
      heard = now
      // Returns at once when it rang since it was read.
      unsafe shared_wait(pointer(.bell), bell)
    }
    isListening.withLock { $0 = false }
    add(UInt32.max, to: .listeners)
  }

  /// Ends ``listen(_:)``.
  func stop() {
    isStopped.withLock { $0 = true }
    add(1, to: .bell)
    unsafe shared_wake_all(pointer(.bell))
  }

  /// What others rang, by lane.
  private func rings() -> [Lane: UInt32] {
    let own = own.withLock { $0 }
    var rings: [Lane: UInt32] = [:]
    for lane in Lane.allCases { rings[lane] = number(Word(lane)) &- (own[lane] ?? 0) }
    return rings
  }

  private func pointer(_ word: Word) -> UnsafeMutablePointer<UInt32> { unsafe words + word.rawValue }

  private func number(_ word: Word) -> UInt32 { unsafe shared_load(pointer(word)) }

  private func add(_ number: UInt32, to word: Word) { unsafe shared_add(pointer(word), number) }
}
