import CLibFuzzer
import FuzzTargets
import Glibc

// usage: fuzz TARGET [options and folders of libFuzzer]
// Feeds a target with what libFuzzer makes up, and stops at the first bytes that trap or break a property.

nonisolated(unsafe) var target = FuzzTarget.all[0]

func check(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  do {
    try target.check(Array(UnsafeBufferPointer(start: data, count: size)))
  } catch {
    let message = Array("broken property of \(target.name): \(error)\n".utf8)
    _ = write(STDERR_FILENO, message, message.count)
    abort()
  }
  return 0
}

func run() -> Int32 {
  guard CommandLine.arguments.count > 1,
    let chosen = FuzzTarget.all.first(where: { $0.name == CommandLine.arguments[1] })
  else {
    print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
    return CommandLine.arguments.count > 1 ? 64 : 0
  }
  target = chosen
  // libFuzzer keeps the pointers: the arguments, without the target, live until the process ends.
  var arguments: [UnsafeMutablePointer<CChar>?] = [CommandLine.unsafeArgv[0]]
  for index in 2..<max(2, Int(CommandLine.argc)) { arguments.append(CommandLine.unsafeArgv[index]) }
  arguments.append(nil)
  let kept = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count)
  _ = kept.initialize(from: arguments)
  var count = Int32(arguments.count - 1)
  var start = kept.baseAddress
  return LLVMFuzzerRunDriver(&count, &start) { data, size in check(data, size) }
}

exit(run())
