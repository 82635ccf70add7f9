"""Does to a relay's HTTP surfaces what attackers do, and calls all the while as an honest client does. Usage: hostile.py SETTINGS PID"""

import http.client
import itertools
import json
import resource
import socket
import sys
import threading
import time

settings, relay = json.load(open(sys.argv[1])), int(sys.argv[2])
host, port = settings["relay"].removeprefix("http://").split(":")
port = int(port)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
crowd = min(10_000, hard - 500)
closed = 0  # No answer: what libmicrohttpd takes for no HTTP at all, or waits for the rest of.
key = "Bearer " + settings["api_key"]


def memory(field):
    return next(int(line.split()[1]) for line in open(f"/proc/{relay}/status") if line.startswith(field)) >> 10


def connect(source="127.0.0.1"):
    s = socket.socket()
    s.settimeout(60)
    s.bind((source, 0))
    s.connect((host, port))
    return s


class Honest(threading.Thread):
    """A client that comes from the attackers' own address, and one from another; each call has a new connection."""

    def __init__(self):
        super().__init__(daemon=True)
        self.calls, self.slowest, self.failures, self.ends = 0, 0.0, [], False

    def run(self):
        for source in itertools.cycle(["127.0.0.1", "127.9.9.9"]):
            if self.ends:
                return
            start = time.monotonic()
            try:
                connection = http.client.HTTPConnection(host, port, timeout=60, source_address=(source, 0))
                connection.request("GET", "/v1/apps", headers={"Authorization": key})
                status = connection.getresponse().status
                connection.close()
                if status != 200:
                    self.failures.append((source, status))
            except OSError as error:
                self.failures.append((source, repr(error)))
            self.calls += 1
            self.slowest = max(self.slowest, time.monotonic() - start)
            time.sleep(0.01)


def attack(name, what):
    """Runs an attack, and sees that the honest client was served meanwhile and the relay's memory is bounded."""
    honest = Honest()
    honest.start()
    held = what()
    after = honest.calls + 20
    limit = time.monotonic() + 60
    while honest.calls < after and time.monotonic() < limit:
        time.sleep(0.01)
    honest.ends = True
    honest.join()
    print(f"{name}: {honest.calls} honest calls, the slowest {honest.slowest:.2f} s, {len(honest.failures)} failed, {memory('VmRSS')} MB")
    assert not honest.failures, (name, honest.failures[:3])
    assert honest.calls >= after, name
    # Sanitizers keep what is freed.
    assert memory("VmRSS") < 200 or memory("VmSize") > 1_000_000, name
    for s in held or []:
        s.close()


def crowd_of(count, sources, first=b""):
    def what():
        held = []
        for number in range(count):
            s = connect(sources[number % len(sources)])
            if first:
                try:
                    s.send(first)
                except OSError:
                    pass
            held.append(s)
        return held

    return what


def endless(head, piece, limit):
    """Sends pieces until the relay answers or closes: both must come long before the limit."""

    def what():
        s = connect()
        s.send(head)
        sent = 0
        try:
            while sent < limit:
                sent += s.send(piece)
        except OSError:
            pass
        assert sent < limit, f"{sent} bytes were taken"
        s.close()

    return what


def answers(requests):
    """Each of these gets an error, or no answer at all where nothing sensible can be said."""

    def what():
        for request, statuses in requests:
            s = connect()
            if closed in statuses:
                s.settimeout(2)
            try:
                s.sendall(request)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            try:
                line = s.makefile("rb").readline()
            except OSError:
                line = b""
            status = int(line.split()[1]) if line else 0
            assert status in statuses, (request[:100], line)
            s.close()

    return what


def post(path, body, *fields, content_length=None):
    lines = [f"POST {path} HTTP/1.1", "Host: a", f"Authorization: {key}", "Content-Type: application/json", *fields]
    lines.append(f"Content-Length: {len(body) if content_length is None else content_length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def get(target, *fields, method="GET"):
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: a", f"Authorization: {key}", *fields]).encode("latin-1") + b"\r\n\r\n"


many = [f"127.0.1.{number}" for number in range(1, 101)]
half = b"POST /v1/notifications HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"
attack(f"{crowd} idle connections from one address", crowd_of(crowd, ["127.0.0.1"]))
attack(f"{crowd} idle connections from 100 addresses", crowd_of(crowd, many))
attack("2000 slow heads from one address", crowd_of(2000, ["127.0.0.1"], half))
attack("2000 slow heads from 100 addresses", crowd_of(2000, many, half))
attack("2000 slow bodies", crowd_of(2000, ["127.0.0.1"], half + b"\r\n{"))

gigabyte = 1 << 30
attack("a body of 1 GB, announced", endless(post("/v1/notifications", b"", content_length=gigabyte), b"x" * 65536, gigabyte))
chunked = get("/v1/notifications", "Transfer-Encoding: chunked", method="POST")
attack("a body of 1 GB, in chunks", endless(chunked, b"10000\r\n" + b"x" * 65536 + b"\r\n", gigabyte))
attack("a body of a million chunks", endless(chunked, b"1\r\nx\r\n" * 10_000, 64 << 20))
attack("a head without end", endless(b"GET / HTTP/1.1\r\n", b"X-A: 1\r\n" * 1000, 64 << 20))
attack("a field without end", endless(b"GET / HTTP/1.1\r\nX-A: ", b"a" * 65536, 64 << 20))

deep = b"[" * 100_000 + b"]" * 100_000
faults = (400, 413, 422)
paths = [
    "/v1/notifications", "/api/token", "/token", "/",
    *(f"/publish_api/v1/instances/{settings['instance']}/publishes/{end}" for end in ("interests", "users")),
    f"/device_api/v1/instances/{settings['instance']}/devices/apns",
    f"/reporting_api/v2/instances/{settings['instance']}/events",
]
refused = (*faults, 401)
bodies = [deep, b'{"a":' * 50_000, b"\xff\xfe", b'{"token":"\xff"}', b"\xef\xbb\xbf{}", b"{}{}", b"null", b"", b"\x00", b'{"a":1,"a":1}', b'"' + b"\\" * 9999]
attack("bodies that are no requests", answers([(post(path, body), refused) for path in paths for body in bodies]))
attack(
    "requests that are none",
    answers([
        (get("/healthz?a=1&a=2"), (400,)), (get("/v1/devices?limit=1&limit=2"), (400,)), (get("/v1/../healthz"), (400,)),
        (get("/%2e%2e/healthz"), (400,)), (get("/healthz%00"), (400,)), (get("/%ff"), (400,)), (get("//healthz"), (404,)),
        (get("/" + "a" * 9000), (414,)), (get("/v1/notifications", method="PATCH"), (405,)), (get("/healthz", method="BREW"), (405,)),
        (get("/v1/apps", "Authorization: Bearer other"), (400,)), (get("/healthz", *["X-A: 1"] * 5000), (closed, 400, 431)),
        # The body is left unread: the connection's reset can overtake the answer.
        (post("/v1/notifications", b"{}", "Transfer-Encoding: chunked"), (closed, 400)), (post("/v1/notifications", b"{}", "Content-Length: 3"), (closed, 400)),
        (b"\x16\x03\x01\x02\x00\x01\x00", (closed, 400)), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (closed, 400, 404, 405, 505)), (b"\r\n" * 1000, (closed, 400)),
        (b"GET /healthz HTTP/9.9\r\n\r\n", (closed, 400, 505)), (b"GET  HTTP/1.1\r\n\r\n", (closed, 400, 404)), (b"x" * 100, (closed, 400)),
    ]),
)
