import JSON

/// The OpenAPI 3.1 document of the interface, made from the list of routes.
struct OpenAPIDocument {
  /// The document.
  let bytes: [UInt8]

  /// The document of routes.
  init(_ routes: [Route], version: String) {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("openapi", "3.1.0")
      writer.name("info")
      writer.object {
        $0.member("title", "pushrelay")
        $0.member("version", version)
      }
      writer.name("paths")
      writer.object { paths in
        var seen: Set<String> = []
        for route in routes where seen.insert(route.path).inserted {
          paths.name(route.path)
          paths.object { path in
            for same in routes where same.path == route.path { Self.write(same, to: &path) }
          }
        }
      }
      writer.name("components")
      writer.object { components in
        components.name("securitySchemes")
        components.raw(#"{"key":{"type":"http","scheme":"bearer"}}"#.utf8)
        components.name("schemas")
        components.object { schemas in
          for name in SchemaName.allCases {
            schemas.name(name.rawValue)
            schemas.raw(name.json.utf8)
          }
        }
      }
    }
    bytes = writer.bytes
  }

  private static func write(_ route: Route, to path: inout JSONWriter) {
    path.name(route.method.rawValue.lowercased())
    path.object { operation in
      operation.member("summary", route.summary)
      operation.member("tags", [route.surface.rawValue])
      if case .key(let action) = route.access {
        operation.name("security")
        operation.raw(#"[{"key":[]}]"#.utf8)
        operation.member("x-action", action.rawValue)
      }
      operation.name("parameters")
      operation.array { parameters in
        for name in route.parameterNames {
          let schema = Route.parameterSchema(name, route.surface)
          write(QueryParameter(name, "", schema: schema), in: "path", to: &parameters)
        }
        for parameter in route.query { write(parameter, in: "query", to: &parameters) }
      }
      if let body = route.body {
        operation.name("requestBody")
        operation.object {
          $0.member("required", !route.bodyIsOptional)
          content([("application/json", body)], to: &$0)
        }
      }
      operation.name("responses")
      operation.object { responses in
        for answer in route.allAnswers {
          responses.name(String(answer.status))
          responses.object {
            $0.member("description", answer.summary)
            content(answer.content, to: &$0)
          }
        }
      }
    }
  }

  private static func write(_ parameter: QueryParameter, in place: String, to parameters: inout JSONWriter) {
    parameters.object {
      $0.member("name", parameter.name)
      $0.member("in", place)
      $0.member("required", place == "path")
      if !parameter.summary.isEmpty { $0.member("description", parameter.summary) }
      $0.name("schema")
      $0.raw(parameter.schema.utf8)
    }
  }

  private static func content(_ content: [(type: String, schema: SchemaName?)], to writer: inout JSONWriter) {
    guard !content.isEmpty else { return }
    writer.name("content")
    writer.object { types in
      for (type, schema) in content {
        types.name(type)
        types.object {
          guard let schema else { return }
          $0.name("schema")
          $0.object { $0.member("$ref", "#/components/schemas/\(schema.rawValue)") }
        }
      }
    }
  }
}
