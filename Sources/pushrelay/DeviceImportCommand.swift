import Composition
import Operations
import PushCore

/// `pushrelay device import`: registers the devices of a CSV file, in bounded memory.
enum DeviceImportCommand {
  /// Devices of one transaction: few enough that an urgent enqueue behind it waits for milliseconds.
  private static let batchSize = 200

  static let command = Command(
    "import", "Registers the devices of a CSV file; bad rows are reported and do not stop the others.",
    options: [.topic, .environment, .store],
    operands: [
      Operand(
        "FILE", "columns token,topic,environment,user,interests,language; interests separated by spaces; - = stdin")
    ],
    examples: ["pushrelay device import devices.csv"]
  ) { invocation, console in
    let reader = try FileReader(invocation.operands[0])
    let context = try CommandContext(invocation, console, usesKeys: false)
    return try await context.withStore(creates: true) { store in
      var run = ImportRun(context: context, store: store)
      while true {
        let piece = try reader.next()
        if piece.isEmpty { break }
        try run.read(piece)
        try await run.write(atLeast: batchSize)
      }
      try run.finish()
      try await run.write(atLeast: 1)
      if invocation.flag("json") {
        console.print { object in
          object.member("registered", run.added)
          object.member("refreshed", run.refreshed)
          object.member("bad_rows", run.bad)
        }
      } else {
        console.print("\(run.added) registered, \(run.refreshed) refreshed, \(run.bad) bad rows")
      }
      if run.added + run.refreshed + run.bad == 0 {
        console.diagnose("the file has no rows")
        return .badData
      }
      return run.bad == 0 ? .success : .badData
    }
  }

  private struct ImportRun {
    let context: CommandContext
    let store: any Store
    var added = 0
    var refreshed = 0
    var bad = 0
    private var pending: [DeviceRegistration] = []
    private var bound: Set<String> = []
    private var table = CSVTable(
      columns: ["token", "topic", "environment", "user", "interests", "language"], required: ["token"])

    init(context: CommandContext, store: any Store) {
      self.context = context
      self.store = store
    }

    mutating func read(_ piece: [UInt8]) throws {
      var rows: [Result<CSVTable.Row, CSVTable.RowFault>] = []
      try table.read(piece) { rows.append($0) }
      take(rows)
    }

    mutating func finish() throws {
      var rows: [Result<CSVTable.Row, CSVTable.RowFault>] = []
      try table.finish { rows.append($0) }
      take(rows)
    }

    private mutating func take(_ rows: [Result<CSVTable.Row, CSVTable.RowFault>]) {
      for row in rows {
        do {
          pending.append(try registration(row))
        } catch {
          bad += 1
          context.console.diagnose("\(error)")
        }
      }
    }

    private func registration(
      _ row: Result<CSVTable.Row, CSVTable.RowFault>
    ) throws(CSVTable.RowFault) -> DeviceRegistration {
      let row = try row.get()
      let device = DeviceRow(
        token: row["token"] ?? "", topic: row.given("topic") ?? context.invocation.value("topic"),
        environment: row.given("environment") ?? context.invocation.value("environment"), user: row.given("user"),
        interests: row.given("interests").map { $0.split(separator: " ").map(String.init) },
        language: row.given("language"))
      do {
        return try device.registration(context.configuration)
      } catch {
        throw CSVTable.RowFault(line: row.line, message: error.description)
      }
    }

    /// Writes full batches; the last one may be smaller.
    mutating func write(atLeast least: Int) async throws {
      while pending.count >= least, !pending.isEmpty {
        let batch = Array(pending.prefix(DeviceImportCommand.batchSize))
        pending.removeFirst(batch.count)
        let new = Set(batch.map(\.topic)).subtracting(bound)
        try await context.bind(store, topics: Array(new))
        bound.formUnion(new)
        for result in try await store.register(batch) {
          if case .added = result { added += 1 } else { refreshed += 1 }
        }
      }
    }
  }
}

extension CSVTable.Row {
  /// The field of a column when the file has it and it is not empty.
  fileprivate func given(_ column: String) -> String? {
    self[column].flatMap { $0.isEmpty ? nil : $0 }
  }
}
