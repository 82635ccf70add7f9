import Foundation
import JSON

/// A receiver of webhooks on a free port, by Python. The path of a request says what it answers; a path's last part after `+` tells
/// tests apart.
///
/// `/200`, `/302` … that status; `/500,200` one after the other; `/silence` nothing; `/half` half a status line; `/stall` 200 and no
/// body; `/endless` 200 and a body without end; `/fields` fields without end; `/garbage` no HTTP; `/close` the end at once.
public final class HookServer: Sendable {
  /// A request that it got.
  public struct Request: Sendable, Equatable {
    /// The path.
    public var path: String
    /// The fields, names in lower case.
    public var fields: [String: String]
    /// The body.
    public var body: String
  }

  /// Where it listens, on 127.0.0.1 and on ::1.
  public let port: String
  private let program: RunningProgram

  /// Starts one; with a certificate and its key, files of PEM both, it speaks TLS.
  public init(certificate: String? = nil, key: String? = nil) async throws {
    program = try BuiltProgram(path: "/usr/bin/python3").start(
      ["-c", Self.script] + [certificate, key].compactMap(\.self))
    port = String(try await program.line(beginningWith: "port ").dropFirst("port ".count))
  }

  /// The requests so far, in the order of their arrival.
  public func requests() throws -> [Request] {
    let output = program.output
    let whole = output.prefix(upTo: output.lastIndex(of: "\n") ?? output.startIndex)
    return try whole.split(separator: "\n").filter { $0.hasPrefix("{") }.map { line in
      let value = try JSONValue(parsing: Array(line.utf8))
      let fields = value["fields"]?.object?.map { ($0.name, $0.value.string ?? "") } ?? []
      return Request(
        path: value["path"]?.string ?? "", fields: Dictionary(fields) { $1 }, body: value["body"]?.string ?? "")
    }
  }

  /// The requests as soon as there are so many.
  public func requests(_ count: Int) async throws -> [Request] {
    try await eventually("\(count) requests") { try requests().count >= count }
    return try requests()
  }

  private static let script = #"""
    import json, re, socket, ssl, sys, threading

    def answers(path):
        parts = re.split("[+?]", path)[0].strip("/").split(",")
        with lock:
            turn = seen[path] = seen.get(path, -1) + 1
        return parts[min(turn, len(parts) - 1)]

    def answer(stream, word):
        if word.isdigit():
            stream.sendall(f"HTTP/1.1 {word} X\r\nLocation: /200\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        elif word == "half":
            stream.sendall(b"HTTP/1.1 2")
        elif word in ("stall", "endless"):
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
            while word == "endless":
                stream.sendall(bytes(65536))
        elif word == "fields":
            stream.sendall(b"HTTP/1.1 203 OK\r\n")
            while True:
                stream.sendall(b"X: " + b"x" * 1000 + b"\r\n")
        elif word == "garbage":
            stream.sendall(b"\x16\x03\x01 nothing that a server says\r\n\r\n")
        if word in ("silence", "half", "stall"):
            stream.recv(1)

    def serve(stream):
        try:
            if tls:
                stream = tls.wrap_socket(stream, server_side=True)
            data = b""
            while b"\r\n\r\n" not in data:
                piece = stream.recv(65536)
                if not piece:
                    return
                data += piece
            head, body = data.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            fields = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
            while len(body) < int(fields.get("content-length", "0")):
                body += stream.recv(65536)
            path = lines[0].split(" ")[1]
            word = answers(path)
            with lock:
                print(json.dumps({"path": path, "fields": fields, "body": body.decode()}), flush=True)
            answer(stream, word)
        except OSError:
            pass
        finally:
            stream.close()

    lock, seen, tls = threading.Lock(), {}, None
    if len(sys.argv) > 1:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
    print("port", listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """#
}
