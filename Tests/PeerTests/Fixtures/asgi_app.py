"""An ASGI application for Hypercorn: answers 200, or 410 for device tokens that end in f; a line on stderr per request."""
import json
import sys


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    request = {"version": scope["http_version"], "path": scope["path"], "headers": headers, "body": body.decode()}
    print(json.dumps(request), file=sys.stderr, flush=True)
    gone = scope["path"].endswith("f")
    answer = json.dumps({"reason": "Unregistered", "timestamp": 1_700_000_000_000}).encode() if gone else b""
    fields = [(b"apns-id", headers["apns-id"].encode())]
    await send({"type": "http.response.start", "status": 410 if gone else 200, "headers": fields})
    await send({"type": "http.response.body", "body": answer})
