/// A text that must not be seen: every way to print it gives a mask.
public struct SecretText: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
  private let text: String

  /// Hides a text.
  public init(_ text: String) { self.text = text }

  /// Hands the text to the one place that needs it.
  public func reveal() -> String { text }

  /// A mask.
  public var description: String { "••••••••" }
  /// A mask.
  public var debugDescription: String { description }
  /// A mirror that shows nothing, for `dump` and test output.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
