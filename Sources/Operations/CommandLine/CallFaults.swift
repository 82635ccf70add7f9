/// What is wrong with a call, gathered so that all of it is said together and the call ends with the first code that applies.
public struct CallFaults: Error, CustomStringConvertible {
  /// The errors in the order found.
  public private(set) var errors: [any Error] = []

  /// Nothing is wrong yet.
  public init() {}

  /// Whether nothing was found.
  public var isEmpty: Bool { errors.isEmpty }

  /// A line each.
  public var description: String { errors.map { "\($0)" }.joined(separator: "\n") }

  /// Adds an error.
  public mutating func add(_ error: any Error) { errors.append(error) }

  /// Takes a step and keeps its error; `nil` when it failed.
  public mutating func collect<Value>(_ step: () throws -> Value) -> Value? {
    do {
      return try step()
    } catch {
      add(error)
      return nil
    }
  }

  /// - Throws: everything that was found, if anything was.
  public func check() throws(CallFaults) {
    if !isEmpty { throw self }
  }
}
