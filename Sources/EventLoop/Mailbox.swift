import Operations

/// An inbox of a loop: any thread puts messages in, the loop that attached it takes them all at once.
///
/// The loop is woken only when the inbox was empty, so a busy sender costs no system call per message.
public final class Mailbox<Message: Sendable>: Sendable {
  private struct Contents {
    var messages: [Message] = []
    var closed = false
  }

  let signal: WakeUpSignal
  private let contents = Lock(Contents())

  /// An empty inbox. Fails only when the process has no descriptors left.
  public init() throws(SocketError) { signal = try WakeUpSignal() }

  /// Puts one message in and wakes the loop if it may be asleep. False when the inbox has been closed: the message was
  /// not taken.
  @discardableResult
  public func send(_ message: Message) -> Bool {
    let (taken, wasEmpty) = contents.withLock { contents in
      guard !contents.closed else { return (false, false) }
      contents.messages.append(message)
      return (true, contents.messages.count == 1)
    }
    if wasEmpty { signal.raise() }
    return taken
  }

  /// Takes everything that has come, oldest first.
  public func drain() -> [Message] {
    contents.withLock { contents in
      let messages = contents.messages
      contents.messages = []
      return messages
    }
  }

  /// Refuses further messages and takes the last ones: none is lost between the two.
  public func close() -> [Message] {
    contents.withLock { contents in
      let messages = contents.messages
      contents.messages = []
      contents.closed = true
      return messages
    }
  }
}

extension EventLoop {
  /// Gives the messages of `mailbox` to `receive`, on this loop, as soon as they come. Attach a mailbox to one loop only.
  @discardableResult
  public func attach<Message>(
    _ mailbox: Mailbox<Message>, _ receive: @escaping ([Message]) -> Void
  ) throws(SocketError) -> RegistrationID {
    try register(mailbox.signal.descriptor, handler: MailboxHandler(mailbox: mailbox, receive: receive))
  }

  /// Stops taking messages from `mailbox`.
  public func detach<Message>(_ mailbox: Mailbox<Message>, _ id: RegistrationID) {
    remove(id, descriptor: mailbox.signal.descriptor)
  }
}

private final class MailboxHandler<Message: Sendable>: EventHandler {
  let mailbox: Mailbox<Message>
  let receive: ([Message]) -> Void

  init(mailbox: Mailbox<Message>, receive: @escaping ([Message]) -> Void) {
    self.mailbox = mailbox
    self.receive = receive
  }

  func ready(_ readiness: Readiness) {
    // Each raise is a new edge, so the counter behind the signal need not be read.
    let messages = mailbox.drain()
    if !messages.isEmpty { receive(messages) }
  }
}
