"""An HTTP/2 server on python3-h2 that answers like APNs and reports every event as a line of JSON on standard output.

usage: h2_server.py CERT KEY PLAN        PLAN is a JSON object, all members optional:
  limit         the first SETTINGS_MAX_CONCURRENT_STREAMS; raised to "later_limit" after the first request
  answers       {"<device token>": [[status, {"field": "value"}, "body"], …]}: one after the other, the last one kept;
                others get 200
  goaway_after  requests after which a connection is drained: GOAWAY, open streams are answered, then it is closed
  odd           unusual and legal answers: 103 first, CONTINUATION, padding, empty DATA, trailers, PING, changing SETTINGS
"""
import asyncio
import json
import ssl
import sys
import uuid

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from h2.settings import SettingCodes, Settings

plan = json.loads(sys.argv[3])
connections = 0


def report(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        global connections
        connections += 1
        self.number = connections
        self.transport = transport
        self.requests = {}
        self.seen = 0
        self.draining = False
        tls = transport.get_extra_info("ssl_object")
        report("connection", connection=self.number, alpn=tls.selected_alpn_protocol(), tls=tls.version())
        self.h2 = h2.connection.H2Connection(config=h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        settings = {SettingCodes.MAX_CONCURRENT_STREAMS: plan.get("limit", 100), SettingCodes.MAX_HEADER_LIST_SIZE: 8000}
        self.h2.local_settings = Settings(client=False, initial_values=settings)
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, error):
        report("closed", connection=self.number, error=repr(error) if error else None)

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def data_received(self, data):
        if self.draining:
            # After its GOAWAY h2 takes nothing more; what is on the way belongs to streams that are not processed.
            return
        try:
            for event in self.h2.receive_data(data):
                if not self.draining:
                    self.handle(event)
        except h2.exceptions.ProtocolError as error:
            report("violation", connection=self.number, what=repr(error))
            self.flush()
            self.transport.close()
            return
        self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.requests[event.stream_id] = {"headers": event.headers, "body": b"", "frames": 0}
            report("opened", connection=self.number, stream=event.stream_id, open=len(self.requests))
        elif isinstance(event, h2.events.DataReceived):
            self.requests[event.stream_id]["body"] += event.data
            self.requests[event.stream_id]["frames"] += 1
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.answer(event.stream_id, self.requests.pop(event.stream_id))
        elif isinstance(event, h2.events.StreamReset):
            self.requests.pop(event.stream_id, None)
            report("reset", connection=self.number, stream=event.stream_id, code=int(event.error_code))
        elif isinstance(event, h2.events.RemoteSettingsChanged):
            changed = {int(code): change.new_value for code, change in event.changed_settings.items()}
            report("settings", connection=self.number, settings=changed)
        elif isinstance(event, h2.events.ConnectionTerminated):
            report("goaway", connection=self.number, code=int(event.error_code), last=event.last_stream_id)
        elif isinstance(event, h2.events.PriorityUpdated):
            report("violation", connection=self.number, what="PRIORITY")

    def answer(self, stream, request):
        headers = dict(request["headers"])
        if len(headers) != len(request["headers"]):
            report("violation", connection=self.number, what="a field is there twice")
        report(
            "request", connection=self.number, stream=stream, headers=headers,
            names=[name for name, _ in request["headers"]], body=request["body"].decode(),
        )
        self.seen += 1
        device_token = headers[":path"].rpartition("/")[2]
        answers = plan.get("answers", {}).get(device_token, [[200, {}, ""]])
        status, fields, body = answers.pop(0) if len(answers) > 1 else answers[0]
        fields = [(":status", str(status)), ("apns-id", headers.get("apns-id", str(uuid.uuid4()))), *fields.items()]
        if plan.get("odd"):
            self.answer_oddly(stream, fields, body.encode())
        else:
            self.h2.send_headers(stream, fields, end_stream=not body)
            if body:
                self.h2.send_data(stream, body.encode(), end_stream=True)
        if self.seen == 1 and "later_limit" in plan:
            self.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: plan["later_limit"]})
        if self.seen == plan.get("goaway_after") and not self.draining:
            self.drain(stream)

    def answer_oddly(self, stream, fields, body):
        self.h2.send_headers(stream, [(":status", "103"), ("link", "</x>; rel=preload")])
        # Larger than a frame: h2 sends the rest as CONTINUATION.
        self.h2.send_headers(stream, fields + [("x-filler", "f" * 20_000)])
        self.h2.send_data(stream, b"", pad_length=7)
        for index in range(0, len(body), 5):
            self.h2.send_data(stream, body[index : index + 5], pad_length=index % 3 or None)
        self.h2.send_headers(stream, [("x-trailer", "1")], end_stream=True)
        if self.seen % 5 == 0:
            self.h2.ping(b"12345678")
        if self.seen % 7 == 0:
            self.h2.update_settings({
                SettingCodes.HEADER_TABLE_SIZE: (0, 64, 4096)[self.seen % 3],
                SettingCodes.INITIAL_WINDOW_SIZE: (65_535, 100, 1 << 20)[self.seen % 3],
                SettingCodes.MAX_CONCURRENT_STREAMS: (100, 2, 30)[self.seen % 3],
            })

    def drain(self, last):
        """What is above the last stream is not processed (RFC 9113 section 6.8)."""
        self.draining = True
        self.flush()
        self.h2.close_connection(error_code=0, additional_data=b'{"reason":"Shutdown"}', last_stream_id=last)
        self.flush()
        asyncio.get_running_loop().call_later(0.05, self.transport.close)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=context)
    report("listening", port=server.sockets[0].getsockname()[1])
    await server.serve_forever()


asyncio.run(main())
