import Operations
import PushCore

/// Why a POST had no answer; safe to show anyone.
public struct PostFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// A sentence without its end.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Sends POST requests, each on a thread of its own that ends with it: what blocks, a slow name server above all, holds up nobody
/// else.
public struct Courier: Sendable {
  /// How it behaves.
  public struct Options: Sendable {
    /// How long all of a request may take, from the look-up of the name to the answer.
    public var deadline = Duration.seconds(3)
    /// A PEM file of the authorities that are trusted instead of the system's.
    public var authoritiesFile: String?
    /// Addresses of names, each as `HOST:PORT:ADDRESS`, that are not looked up; for tests.
    public var pinned: [String] = []

    /// The default options.
    public init() {}
  }

  private let policy: WebhookPolicy
  private let options: Options

  /// A courier that goes where the policy allows.
  public init(policy: WebhookPolicy, options: Options = Options()) {
    self.policy = policy
    self.options = options
  }

  /// Sends a JSON body; the status of the answer, of whatever kind. Redirects are not followed. Nil when the calling task is
  /// canceled first: nobody waits for the thread then.
  public func post(_ body: [UInt8], to url: SecretText) async -> Result<Int, PostFailure>? {
    let (results, answer) = AsyncStream.makeStream(of: Result<Int, PostFailure>.self)
    do {
      try Threads.start("webhook") {
        answer.yield(Result { () throws(PostFailure) in try send(body, to: url) })
        answer.finish()
      }
    } catch {
      return .failure(PostFailure("\(error)"))
    }
    for await result in results { return result }
    return nil
  }

  private func send(_ body: [UInt8], to text: SecretText) throws(PostFailure) -> Int {
    let url: WebhookURL
    do {
      // Again: the settings may have changed since it was stored.
      url = try WebhookURL(text.reveal(), policy: policy)
    } catch {
      throw PostFailure("the URL \(error)")
    }
    return try Post(body, to: url, policy: policy, options: options).run()
  }
}
