import APNs
import Composition
import Operations
import PushCore

/// `sendpush receipts`: what became of each device, a line each.
enum ReceiptsCommand {
  private static let pageSize = 2000

  static let command = Command(
    "receipts", "Prints a notification's receipts, one line a device, in bounded memory.",
    options: [
      .choice(
        "outcome", ["accepted", "rejected", "expired", "canceled", "failed", "skipped", "pending"], "only this outcome"),
      .flag("csv", "prints CSV with a header row"), .showTokens, .store,
    ],
    operands: [Operand("ID", "the id that enqueue printed")],
    examples: ["sendpush receipts 891234567890123 --outcome rejected"]
  ) { invocation, console in
    let id = try NotificationID(operandOf: invocation)
    if invocation.flag("json"), invocation.flag("csv") {
      throw invocation.usageError("give either --json or --csv")
    }
    let context = try CommandContext(invocation, console, usesKeys: false)
    let form: ReceiptForm = invocation.flag("json") ? .json : invocation.flag("csv") ? .csv : .text
    return try await context.withStore(creates: false) { store in
      let status = try await StatusWait.status(of: id, in: store)
      // Chosen by its sender; all others follow from notification and device.
      let apnsID = try await store.notification(id)?.headers.apnsID
      let printer = ReceiptPrinter(form: form, showsTokens: invocation.flag("show-tokens"), console: console)
      printer.begin()
      var after: DeviceID? = DeviceID(0)
      while let start = after, !console.outputEnded {
        let page = try await store.receipts(
          id, outcome: invocation.value("outcome").flatMap(Outcome.init(name:)), after: start, limit: pageSize)
        for receipt in page.receipts { printer.print(try ReceiptLine(receipt, of: status, apnsID: apnsID)) }
        after = page.next
      }
      return .success
    }
  }
}

extension ReceiptLine {
  /// The line of a stored receipt.
  ///
  /// - Parameter apnsID: the apns-id, when the sender of the notification chose it.
  init(_ receipt: Receipt, of status: NotificationStatus, apnsID: String?) throws {
    record = try ReceiptRecord(
      receipt, notificationID: status.id, topic: status.topic,
      apnsID: apnsID ?? APNsID.make(notification: status.id, device: receipt.deviceID),
      reason: ReasonTable.text(of: receipt.reason, stored: receipt.storedReason))
    remedy = receipt.outcome == .accepted ? nil : ReasonTable.remedy(of: receipt.reason)
  }
}
