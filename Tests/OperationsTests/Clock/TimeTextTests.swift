import Foundation
import Operations
import Testing

@Suite("Durations and times as texts")
struct TimeTextTests {
  @Test(
    "durations are read and written in the same form",
    arguments: [
      ("500ms", Duration.milliseconds(500)), ("90s", .seconds(90)), ("5m", .seconds(300)), ("1h30m", .seconds(5400)),
      ("30d", .seconds(30 * 86_400)), ("0s", .zero), ("1m0s", .seconds(60)), ("1d2h3m4s5ms", .milliseconds(93_784_005)),
    ])
  func durations(text: String, duration: Duration) throws {
    #expect(try DurationText.parse(text) == duration)
    #expect(try DurationText.parse(DurationText.format(duration)) == duration)
  }

  @Test("the shortest form is written")
  func durationFormat() {
    #expect(DurationText.format(.seconds(90)) == "1m30s")
    #expect(DurationText.format(.seconds(86_400)) == "1d")
    #expect(DurationText.format(.zero) == "0s")
    #expect(DurationText.format(.seconds(-1)) == "0s")
  }

  @Test(
    "what is no duration is refused",
    arguments: [
      "", "90", "s", "1x", "-1s", "+1s", "1.5s", "1s1s", "1s1m", "1 s", " 1s", "1s ", "９s", "99999999999999999999s",
      "9223372036854775807d", "40000d", "1m ", "0x1s", "1S", "36525d1ms",
    ])
  func badDuration(text: String) {
    #expect(throws: TextFormError.self) { try DurationText.parse(text) }
  }

  @Test(
    "times are read with any offset and fraction and written in UTC with milliseconds",
    arguments: [
      ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z"),
      ("2026-11-30T05:31:11.2509Z", 1_796_016_671_250, "2026-11-30T05:31:11.250Z"),
      ("2026-11-30t07:31:11.25+02:00", 1_796_016_671_250, "2026-11-30T05:31:11.250Z"),
      ("2024-02-29T23:59:59-00:30", 1_709_252_999_000, "2024-03-01T00:29:59.000Z"),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000, "2017-01-01T00:00:00.000Z"),
      ("1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59.999Z"),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
  func times(text: String, milliseconds: Int, written: String) throws {
    #expect(try RFC3339.parse(text) == UnixMilliseconds(Int64(milliseconds)))
    #expect(RFC3339.format(UnixMilliseconds(Int64(milliseconds))) == written)
  }

  @Test(
    "what is no time is refused",
    arguments: [
      "", "2026-11-30", "2026-11-30 05:31:11Z", "2026-11-30T05:31:11", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
      "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z",
      "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+2:00",
      "2026-01-01T00:00:00Zx", "+026-01-01T00:00:00Z", "2026-1-1T0:0:0Z", "1796016671",
      "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
    ])
  func badTime(text: String) {
    #expect(throws: TextFormError.self) { try RFC3339.parse(text) }
  }

  @Test("the calendar agrees with Foundation's for every day of 400 years")
  func calendar() throws {
    let formatter = ISO8601DateFormatter()
    for day in stride(from: Int64(-146_097 / 2), through: 146_097 / 2, by: 1) {
      let text = RFC3339.format(UnixMilliseconds(day * 86_400_000))
      #expect(try RFC3339.parse(text).value == day * 86_400_000)
      // Foundation is slow: one day in 97 goes through it.
      if day % 97 == 0 {
        #expect(formatter.string(from: Date(timeIntervalSince1970: Double(day * 86_400))) == text.prefix(19) + "Z")
      }
    }
  }

  @Test("times that the form cannot hold become the nearest that it can")
  func clamped() {
    #expect(RFC3339.format(UnixMilliseconds(.max)) == "9999-12-31T23:59:59.999Z")
    #expect(RFC3339.format(UnixMilliseconds(.min)) == "0000-01-01T00:00:00.000Z")
  }
}
