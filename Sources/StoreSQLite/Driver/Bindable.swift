import JSON
import Operations
import PushCore

/// A value as SQLite stores it.
enum BoundValue {
  case integer(Int64)
  case text(String)
  case blob([UInt8])
}

/// What can be bound to a parameter of a statement; nil is NULL.
protocol Bindable {
  /// The stored value.
  var boundValue: BoundValue { get }
}

extension Int64: Bindable { var boundValue: BoundValue { .integer(self) } }
extension Int: Bindable { var boundValue: BoundValue { .integer(Int64(self)) } }
extension Bool: Bindable { var boundValue: BoundValue { .integer(self ? 1 : 0) } }
extension String: Bindable { var boundValue: BoundValue { .text(self) } }
extension [UInt8]: Bindable { var boundValue: BoundValue { .blob(self) } }
extension UnixMilliseconds: Bindable { var boundValue: BoundValue { .integer(value) } }
extension NotificationID: Bindable { var boundValue: BoundValue { .integer(rawValue) } }
extension AppID: Bindable { var boundValue: BoundValue { .integer(rawValue) } }
extension CredentialID: Bindable { var boundValue: BoundValue { .integer(rawValue) } }
extension InterestID: Bindable { var boundValue: BoundValue { .integer(rawValue) } }
extension TaskID: Bindable { var boundValue: BoundValue { .integer(rawValue) } }
extension DeviceID: Bindable { var boundValue: BoundValue { .integer(rawValue) } }
extension ReasonID: Bindable { var boundValue: BoundValue { .integer(Int64(rawValue)) } }
extension Lane: Bindable { var boundValue: BoundValue { .integer(Int64(rawValue)) } }
extension Environment: Bindable { var boundValue: BoundValue { .integer(Int64(rawValue)) } }
extension Outcome: Bindable { var boundValue: BoundValue { .integer(Int64(rawValue)) } }
extension DeviceToken: Bindable { var boundValue: BoundValue { .text(text) } }

/// A set for `IN (SELECT value FROM json_each(?))`: SQLite has no array parameters.
struct JSONList: Bindable {
  let text: String
  var boundValue: BoundValue { .text(text) }

  /// A list of numbers.
  init(_ numbers: some Sequence<Int64>) {
    var writer = JSONWriter()
    writer.array { for number in numbers { $0.integer(number) } }
    text = writer.text
  }

  /// A list of texts.
  init(_ texts: [String]) {
    var writer = JSONWriter()
    writer.array { for text in texts { $0.string(text) } }
    text = writer.text
  }

  /// A list of credentials.
  init(_ credentials: [CredentialID]) { self.init(credentials.lazy.map(\.rawValue)) }
}
