/// What the answers on one connection say about it.
struct ConnectionHealth {
  /// Requests without an answer since the last answer.
  private(set) var timeoutsInRow = 0
  /// Answers of 500 to 599 since the last other answer.
  private(set) var serverErrorsInRow = 0
  private var hasAnswered = false

  mutating func answered(_ status: UInt16) {
    hasAnswered = true
    timeoutsInRow = 0
    serverErrorsInRow = status >= 500 && status <= 599 ? serverErrorsInRow + 1 : 0
  }

  mutating func timedOut() { timeoutsInRow += 1 }

  /// Why the connection should be replaced, or nil. A limit of 0 means never. One that has never answered gets a single chance.
  func complaint(timeoutLimit: Int, serverErrorLimit: Int) -> String? {
    if timeoutLimit > 0, timeoutsInRow >= (hasAnswered ? timeoutLimit : 1) {
      return hasAnswered ? "\(timeoutsInRow) requests in a row without an answer" : "it has never answered a request"
    }
    if serverErrorLimit > 0, serverErrorsInRow >= serverErrorLimit {
      return "\(serverErrorsInRow) answers of 500 to 599 in a row"
    }
    return nil
  }
}
