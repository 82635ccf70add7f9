import Glibc

/// The arguments of the process as the system gave them: bytes, of which nothing has been replaced.
enum ProgramArguments {
  /// The arguments behind the program's name.
  static func bytes() -> [[UInt8]] {
    (1..<max(Int(CommandLine.argc), 1)).compactMap { index in
      guard let start = unsafe CommandLine.unsafeArgv[index] else { return nil }
      return unsafe Array(UnsafeBufferPointer(start: start, count: strlen(start)).map { UInt8(bitPattern: $0) })
    }
  }
}
