import Operations

/// Finds the endpoint of a request among the routes of a listener.
struct Router: Sendable {
  /// What is found.
  enum Match {
    /// The endpoint, with the texts in the places of `{name}`.
    case route(Route, parameters: [String: String])
    /// There is something at the path, but not for this method.
    case otherMethods([Method])
    /// There is nothing at the path.
    case nothing
  }

  private enum Part {
    case text(String)
    case parameter(String)
  }

  private let routes: [Route]
  /// Those of each route.
  private let parts: [[Part]]

  /// A router for the routes of these surfaces.
  init(_ routes: [Route], surfaces: Set<Configuration.Surface>) {
    self.routes = routes.filter { surfaces.contains($0.surface) }
    parts = self.routes.map { route in
      route.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { part in
        part.hasPrefix("{") ? Part.parameter(String(part.dropFirst().dropLast())) : .text(String(part))
      }
    }
  }

  /// The match of a method, HEAD for GET, and decoded segments. A path that spells a segment out hides one with a parameter there.
  func match(_ method: String, _ segments: [String]) -> Match {
    // Each request comes here: a route is copied only when it is the one.
    var found: [(index: Int, parameters: [String: String])] = []
    for index in routes.indices {
      let segments = routes[index].takesRest ? Self.joined(segments, to: parts[index].count) : segments
      guard let parameters = Self.match(parts[index], segments) else { continue }
      found.append((index, parameters))
    }
    let fewest = found.lazy.map(\.parameters.count).min()
    var methods: [Method] = []
    for (index, parameters) in found where parameters.count == fewest {
      let own = routes[index].method
      if own.rawValue == method || own == .get && method == "HEAD" {
        return .route(routes[index], parameters: parameters)
      }
      methods.append(own)
    }
    return methods.isEmpty ? .nothing : .otherMethods(methods)
  }

  /// `GET, HEAD, OPTIONS`: what a path allows.
  static func allow(_ methods: [Method]) -> String {
    var names = methods.map(\.rawValue)
    if methods.contains(.get) { names.append("HEAD") }
    return (names + ["OPTIONS"]).joined(separator: ", ")
  }

  /// The segments, with those from the last place on joined again.
  private static func joined(_ segments: [String], to count: Int) -> [String] {
    guard segments.count > count, count > 0 else { return segments }
    return segments.prefix(count - 1) + [segments[(count - 1)...].joined(separator: "/")]
  }

  private static func match(_ parts: [Part], _ segments: [String]) -> [String: String]? {
    guard parts.count == segments.count else { return nil }
    var parameters: [String: String] = [:]
    for (part, segment) in zip(parts, segments) {
      switch part {
      case .text(let text): guard text == segment else { return nil }
      case .parameter(let name):
        guard !segment.isEmpty else { return nil }
        parameters[name] = segment
      }
    }
    return parameters
  }
}
