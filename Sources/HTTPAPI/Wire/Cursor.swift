/// A place in a listing as callers hold it: opaque to them, and of no use with another listing.
struct Cursor: Equatable {
  /// Which listing it belongs to.
  enum Listing: String {
    case notifications = "n"
    case receipts = "r"
    case retirements = "d"
  }

  /// The numbers that make the place.
  let place: [Int64]
  private let listing: Listing

  /// A cursor for a place of a listing.
  init(_ listing: Listing, _ place: Int64...) {
    self.listing = listing
    self.place = place
  }

  /// Reads a cursor of a listing with so many numbers.
  init(_ text: String, of listing: Listing, count: Int) throws(Problem) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.dropFirst().compactMap { Int64($0, radix: 36) }
    guard parts.first.map(String.init) == listing.rawValue, parts.count == count + 1, numbers.count == count,
      numbers.allSatisfy({ $0 >= 0 })
    else { throw Problem(.malformedRequest, "the cursor is none of this listing; take next_cursor as it was given") }
    self.listing = listing
    place = numbers
  }

  /// As callers hold it.
  var text: String { ([listing.rawValue] + place.map { String($0, radix: 36) }).joined(separator: ".") }
}
