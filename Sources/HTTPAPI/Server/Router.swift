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

  private let entries: [(parts: [Part], route: Route)]

  /// A router for the routes of these surfaces.
  init(_ routes: [Route], surfaces: Set<Configuration.Surface>) {
    entries = routes.filter { surfaces.contains($0.surface) }.map { route in
      let parts = route.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { part in
        part.hasPrefix("{") ? Part.parameter(String(part.dropFirst().dropLast())) : .text(String(part))
      }
      return (parts, route)
    }
  }

  /// The match of a method, HEAD for GET, and decoded segments. A path that spells a segment out hides one with a parameter there.
  func match(_ method: String, _ segments: [String]) -> Match {
    let found = entries.compactMap { parts, route in
      Self.match(parts, route.takesRest ? Self.joined(segments, to: parts.count) : segments).map { (route, $0) }
    }
    let fewest = found.map(\.1.count).min()
    var methods: [Method] = []
    for (route, parameters) in found where parameters.count == fewest {
      if route.method.rawValue == method || route.method == .get && method == "HEAD" {
        return .route(route, parameters: parameters)
      }
      methods.append(route.method)
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
