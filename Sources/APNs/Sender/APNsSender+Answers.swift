import HTTP2
import Operations
import PushCore

extension APNsSender {
  /// Takes what ended in one turn of the client's loop.
  func receive(_ responses: [HTTP2Response]) {
    var reader = AnswerReader(wallTime: clocks.wallTime(), time: clocks.monotonicTime())
    let now = clocks.monotonicTime()
    state.withLock { state in
      reader.read(responses, of: &state.sent)
      if !reader.held.isEmpty { state.hold(reader.held, at: now) }
    }
    // What was refused once would be refused again, and APNs counts that: nothing more is written for it.
    for origin in reader.refusing { client.withdraw(origin) }
    for (key, token) in reader.tooManyUpdates { stopMinting(key, token) }
    for again in reader.repeats { repeatOnce(again) }
    deliver(reader.answers)
  }

  /// Hands answers over, outside the lock.
  func deliver(_ answers: [PushAnswer]) {
    guard !answers.isEmpty else { return }
    state.withLock { $0.handler }?(answers)
  }

  private func stopMinting(_ key: ProviderKey, _ token: ProviderToken) {
    errands.start {
      // This process knows it already; a store that cannot be told now is asked again before anything is minted.
      try? await self.tokens.tooManyUpdates(key, presented: token)
    }
  }

  /// Sends pushes once more, on a new connection and where needed with another provider token: APNs refused them
  /// without processing.
  private func repeatOnce(_ again: AnswerReader.Repeat) {
    let batch = again.batch
    guard again.needsProviderToken, case .token(let key, let expired) = batch.authorization else {
      return repeatOnce(again, with: batch.authorization)
    }
    errands.start {
      do throws(ProviderTokenFailure) {
        let token = try await self.tokens.token(for: key, afterExpired: expired)
        self.repeatOnce(again, with: .token(key, token))
      } catch {
        self.answer(batch.push, SendFailure(error), after: error.retryAfter, indexes: again.indexes)
      }
    }
  }

  private func repeatOnce(_ again: AnswerReader.Repeat, with authorization: Authorization) {
    let batch = again.batch
    if state.withLock({ $0.retires(again.connection, of: batch.origin) }) {
      client.withdraw(batch.origin)
      client.replaceConnections(of: batch.origin)
    }
    submit(batch.push, environment(of: batch.push), authorization, indexes: again.indexes)
  }
}
