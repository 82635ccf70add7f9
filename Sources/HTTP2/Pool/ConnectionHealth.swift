/// What the answers on one connection say about it.
struct ConnectionHealth {
  /// Requests without an answer since the last answer.
  private(set) var timeoutsInRow = 0
  /// Answers of 500 to 599 since the last other answer.
  private(set) var serverErrorsInRow = 0

  mutating func answered(_ status: UInt16) {
    timeoutsInRow = 0
    serverErrorsInRow = status >= 500 && status <= 599 ? serverErrorsInRow + 1 : 0
  }

  mutating func timedOut() { timeoutsInRow += 1 }

  /// Why the connection should be replaced, or nil. A limit of 0 means never.
  func complaint(timeoutLimit: Int, serverErrorLimit: Int) -> String? {
    if timeoutLimit > 0, timeoutsInRow >= timeoutLimit { return "\(timeoutsInRow) requests in a row without an answer" }
    if serverErrorLimit > 0, serverErrorsInRow >= serverErrorLimit {
      return "\(serverErrorsInRow) answers of 500 to 599 in a row"
    }
    return nil
  }
}
