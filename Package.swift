// swift-tools-version: 6.2
import PackageDescription

// Swift 6 mode, every warning an error, and each use of an unsafe construct marked `unsafe` where it stands.
// `scripts/fuzz` sets PUSHRELAY_FUZZ: then every module tells libFuzzer which branches were taken.
let isFuzzing = Context.environment["PUSHRELAY_FUZZ"] != nil
let strict: [SwiftSetting] =
  [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .strictMemorySafety()]
  + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])
let tests: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

func library(
  _ name: String, _ dependencies: [Target.Dependency] = [], plugins: [Target.PluginUsage] = []
) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict, plugins: plugins)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// A test target; its data lies in `Fixtures/` and is found beside the source file.
func suite(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: ["Fixtures"], swiftSettings: tests)
}

let package = Package(
  name: "pushrelay",
  products: [
    .executable(name: "pushrelay", targets: ["pushrelay"]),
    .executable(name: "sendpush", targets: ["sendpush"]),
    .executable(name: "apns-simulator", targets: ["apns-simulator"]),
  ],
  targets: [
    // C libraries, from Debian's -dev packages: a module map and a shim each, nothing else.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

    // Used by all.
    library("JSON"),
    library("Operations", ["CLinux", "JSON"]),

    // Transport: HTTP2 → OpenSSL → EventLoop. Knows no word of APNs.
    library("EventLoop", ["CLinux", "Operations"]),
    library("OpenSSL", ["COpenSSL", "EventLoop", "Operations"]),
    library("HTTP2", ["CNghttp2", "OpenSSL", "EventLoop", "Operations"]),

    // Words and ports, no I/O.
    library("PushCore", ["JSON", "Operations"]),

    // Adapters.
    library("APNs", ["PushCore", "HTTP2", "OpenSSL", "JSON", "Operations"]),
    library("StoreSQLite", ["CSQLite", "CLinux", "PushCore", "JSON", "Operations"]),
    library("StorePostgreSQL", ["CPostgreSQL", "CLinux", "PushCore", "Operations"]),
    library("Delivery", ["PushCore", "Operations"]),
    library("Webhooks", ["CCurl", "CLinux", "PushCore", "Operations"]),
    library("HTTPAPI", ["CMicroHTTPD", "CLinux", "OpenSSL", "EventLoop", "PushCore", "JSON", "Operations"]),
    library("APNsSimulator", ["HTTP2", "OpenSSL", "EventLoop", "JSON", "Operations"]),

    // Roots.
    .plugin(name: "BuildCommit", capability: .buildTool()),
    library("BuildInfo", ["Operations"], plugins: ["BuildCommit"]),
    library(
      "Composition",
      [
        "APNs", "Delivery", "HTTPAPI", "StorePostgreSQL", "StoreSQLite", "Webhooks", "PushCore", "HTTP2", "OpenSSL",
        "EventLoop", "JSON", "Operations",
      ]),
    program("pushrelay", ["Composition", "BuildInfo", "APNs", "PushCore", "JSON", "Operations"]),
    program("sendpush", ["Composition", "BuildInfo", "APNs", "PushCore", "JSON", "Operations"]),
    program("apns-simulator", ["APNsSimulator", "BuildInfo", "Operations"]),

    .target(
      name: "Support", dependencies: ["EventLoop", "JSON", "Operations"], path: "Tests/Support", swiftSettings: tests),
    suite("JSONTests", ["JSON"]),
    suite("OperationsTests", ["Operations", "Support"]),
    suite("HTTP2Tests", ["HTTP2", "OpenSSL", "EventLoop", "Support"]),
    .executableTarget(
      name: "send-bench", dependencies: ["APNs", "OpenSSL", "PushCore", "JSON", "Operations", "CLinux"],
      path: "Tests/SendBench", swiftSettings: tests),
    .executableTarget(
      name: "http2-bench", dependencies: ["HTTP2", "OpenSSL", "Operations", "CLinux"], path: "Tests/HTTP2Bench",
      swiftSettings: tests),
    .executableTarget(
      name: "queue-bench", dependencies: ["Composition", "PushCore", "JSON", "Operations", "CLinux"],
      path: "Tests/QueueBench", swiftSettings: tests),
    suite("PushCoreTests", ["PushCore", "Support"]),
    suite("APNsTests", ["APNs", "APNsSimulator", "Support"]),
    suite("StoreSQLiteTests", ["StoreSQLite", "PushCore", "Operations", "Support"]),
    suite("StorePostgreSQLTests", ["APNs", "StorePostgreSQL", "PushCore", "Operations", "Support"]),
    suite("HTTPAPITests", ["HTTPAPI", "StoreSQLite", "PushCore", "JSON", "Operations", "Support"]),
    suite("DeliveryTests", ["Delivery", "StorePostgreSQL", "StoreSQLite", "PushCore", "Operations", "Support"]),
    suite(
      "WebhooksTests", ["Webhooks", "StoreSQLite", "PushCore", "OpenSSL", "JSON", "Operations", "Support"]),
    suite("APNsSimulatorTests", ["APNsSimulator", "Support"]),
    suite(
      "CompositionTests", ["Composition", "StorePostgreSQL", "StoreSQLite", "PushCore", "Operations", "Support"]),
    suite("EndToEndTests", ["JSON", "Operations", "PushCore", "StoreSQLite", "Support"]),
    .testTarget(
      name: "PeerTests", dependencies: ["JSON", "Support"], exclude: ["Fixtures", "requirements.txt"],
      swiftSettings: tests),
  ]
)

/// What the fuzzer and `swift test` check with any bytes.
let fuzzed: [Target.Dependency] = [
  "APNs", "CNghttp2", "Composition", "HTTP2", "HTTPAPI", "JSON", "OpenSSL", "Operations", "PushCore",
]
if isFuzzing {
  package.targets += [
    .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
    .target(name: "FuzzTargets", dependencies: fuzzed, path: "Tests/FuzzTests/Targets", swiftSettings: tests),
    .executableTarget(
      name: "fuzz", dependencies: ["CLibFuzzer", "FuzzTargets"], path: "Fuzz/Runner", swiftSettings: tests,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]),
  ]
} else {
  package.targets.append(
    .testTarget(name: "FuzzTests", dependencies: fuzzed, exclude: ["Corpus"], swiftSettings: tests))
}
