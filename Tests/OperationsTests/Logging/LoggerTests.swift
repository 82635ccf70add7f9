import JSON
import Operations
import Support
import Testing

@Suite("Logging")
struct LoggerTests {
  let recorder = LogRecorder()
  let clocks = DrivenClocks(wall: UnixMilliseconds(1_796_016_671_250))

  @Test("a line has time, level, message and fields, those of the logger first")
  func text() {
    let logger = recorder.logger(clocks: clocks).with(["connection.id": 7])

    logger.info("connected", ["host": "api.push.apple.com:443", "resumed": false, "took": .duration(.seconds(90))])

    #expect(
      recorder.lines == [
        "2026-11-30T05:31:11.250Z info connected connection.id=7 host=api.push.apple.com:443 resumed=false took=1m30s"
      ])
  }

  @Test("values that are not plain are quoted, so that none can begin a line or a field")
  func quoting() {
    recorder.logger(clocks: clocks).warning(
      "odd",
      ["a": "", "b": "x y", "c": "x=1", "d": "\n2026 info", "e": "\"\\", "f": "\u{2028}", "g": "é", "h": "\u{7F}"])

    #expect(recorder.lines.count == 1)
    #expect(
      recorder.lines.first?.hasSuffix(
        #"odd a="" b="x y" c="x=1" d="\n2026 info" e="\"\\" f="\u{2028}" g=é h="\u{7F}""#) == true)
  }

  @Test("a JSON line is one object")
  func json() throws {
    recorder.logger(format: .json, clocks: clocks).error(
      "store is full", ["bytes": .count(UInt64.max), "path": "a\"b\n"])

    let line = try #require(recorder.lines.first)
    #expect(recorder.lines.count == 1)
    let object = try JSONValue(parsing: Array(line.utf8))
    #expect(object["time"]?.string == "2026-11-30T05:31:11.250Z")
    #expect(object["level"]?.string == "error")
    #expect(object["message"]?.string == "store is full")
    #expect(object["bytes"]?.integer == .max)
    #expect(object["path"]?.string == "a\"b\n")
  }

  @Test("below the level nothing is written and nothing computed", arguments: LogLevel.allCases)
  func levels(level: LogLevel) {
    let logger = recorder.logger(level: level)
    let computed = Watched(0)
    func field() -> LogMetadata {
      computed.update { $0 += 1 }
      return ["a": 1]
    }

    logger.error("e", field())
    logger.warning("w", field())
    logger.info("i", field())
    logger.debug("d", field())

    let expected = LogLevel.allCases.filter { $0 <= level }.count
    #expect(recorder.lines.count == expected)
    #expect(computed.current == expected)
  }

  @Test("a log that cannot be written stops nothing")
  func lost() {
    let sink = MemorySink(failure: SystemError("write to", "standard error", code: 28))
    Logger(level: .info, sink: sink).info("lost")
  }

  @Test("a test waits for a line")
  func waiting() async throws {
    let logger = recorder.logger()
    async let line = recorder.line(containing: "second")
    logger.info("first")
    logger.info("second")
    #expect(try await line.hasSuffix("info second"))
  }
}
