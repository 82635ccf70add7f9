import Operations
import PushCore

/// A sender whose answers a test decides; it keeps what was sent.
final class ScriptedSender: PushSender {
  /// A push as it was handed over.
  struct Sent: Sendable {
    var token: String
    var notification: NotificationID
    var lane: Lane
    var batch: UInt64
    var index: Int32
    var notAfter: MonotonicTime
    var payload: String
  }

  private struct State {
    var handler: (@Sendable ([PushAnswer]) -> Void)?
    var sent: [Sent] = []
    var answer: @Sendable (Sent) -> Verdict?
    var unanswered: [Sent] = []
    var signs: @Sendable (Credential) -> Bool = { _ in true }
  }

  private let state: Lock<State>

  /// - Parameter answer: the verdict on a push; nil = none until ``answerHeldBack(_:)``.
  init(_ answer: @escaping @Sendable (Sent) -> Verdict? = { _ in .accepted }) {
    state = Lock(State(answer: answer))
  }

  var sent: [Sent] { state.withLock { $0.sent } }

  /// How often each token was sent to.
  var times: [String: Int] { Dictionary(sent.map { ($0.token, 1) }, uniquingKeysWith: +) }

  func script(_ answer: @escaping @Sendable (Sent) -> Verdict?) { state.withLock { $0.answer = answer } }

  func sign(_ signs: @escaping @Sendable (Credential) -> Bool) { state.withLock { $0.signs = signs } }

  /// Answers everything that was left without an answer.
  func answerHeldBack(_ verdict: Verdict) {
    let (handler, held) = state.withLock { state in
      let held = state.unanswered
      state.unanswered = []
      return (state.handler, held)
    }
    handler?(held.map { Self.answer($0, verdict) })
  }

  func onAnswers(_ handler: @escaping @Sendable ([PushAnswer]) -> Void) { state.withLock { $0.handler = handler } }

  func send(_ batch: PushBatch) {
    let (handler, answers) = state.withLock { state in
      var answers: [PushAnswer] = []
      for index in 0..<batch.devices.count {
        let sent = Sent(
          token: String(decoding: batch.devices.token(index), as: UTF8.self),
          notification: batch.content.notificationID, lane: batch.lane, batch: batch.id, index: Int32(index),
          notAfter: batch.notAfter,
          payload: String(decoding: batch.personalPayload(index) ?? batch.content.payload, as: UTF8.self))
        state.sent.append(sent)
        if let verdict = state.answer(sent) {
          answers.append(Self.answer(sent, verdict))
        } else {
          state.unanswered.append(sent)
        }
      }
      return (state.handler, answers)
    }
    if !answers.isEmpty { handler?(answers) }
  }

  func withdraw() {}

  func canSign(_ credential: Credential) -> Bool { state.withLock { $0.signs }(credential) }

  func text(of reason: PushReason) -> String {
    switch reason {
    case .known(let id): "reason \(id.rawValue)"
    case .unknown(let text): text
    }
  }

  func learn(_ credentials: [Credential]) {}

  private static func answer(_ sent: Sent, _ verdict: Verdict) -> PushAnswer {
    let status: UInt16 =
      switch verdict {
      case .accepted: 200
      case .rejected, .unfit: 400
      case .gone: 410
      case .retry: 503
      case .held: 403
      case .unsent: 0
      }
    return PushAnswer(
      batch: sent.batch, index: sent.index, status: status, verdict: verdict, latencyMilliseconds: 3,
      apnsUniqueID: nil)
  }
}
