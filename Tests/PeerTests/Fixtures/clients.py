"""Other projects' clients against the simulator. Prints a line of JSON per answer: token, status, reason.

usage: clients.py aioapns|httpx PORT CA KEY TEAM KEYID TOPIC TOKEN...
"""
import asyncio
import json
import ssl
import sys
import time

client, port, authority, key, team, key_id, topic, *tokens = sys.argv[1:]
key = open(key).read()
context = ssl.create_default_context(cafile=authority)
context.set_alpn_protocols(["h2"])


def show(token, status, reason):
    print(json.dumps({"token": token, "status": int(status), "reason": reason}), flush=True)


async def aioapns():
    from aioapns import APNs, NotificationRequest, PushType, connection

    connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    connection.APNsTLSClientProtocol.APNS_PORT = int(port)
    # It makes a provider token per connection, which the simulator counts as updates: one connection.
    apns = APNs(key=key, key_id=key_id, team_id=team, topic=topic, max_connections=1, ssl_context=context)

    async def send(token):
        message = {"aps": {"alert": {"title": "Grüße", "body": token}}}
        request = NotificationRequest(device_token=token, message=message, push_type=PushType.ALERT, priority=10)
        result = await apns.send_notification(request)
        show(token, result.status, result.description)

    # The first opens the connection alone, as an application's first push does.
    await send(tokens[0])
    await asyncio.gather(*map(send, tokens[1:]))
    apns.pool.close()


async def httpx():
    import httpx
    import jwt

    provider_token = jwt.encode({"iss": team, "iat": int(time.time())}, key, algorithm="ES256", headers={"kid": key_id})
    fields = {"authorization": f"bearer {provider_token}", "apns-topic": topic, "apns-push-type": "alert"}
    async with httpx.AsyncClient(http1=False, http2=True, verify=context, headers=fields) as session:

        async def send(token):
            payload = {"aps": {"alert": {"title": "Grüße", "body": token}}}
            answer = await session.post(f"https://localhost:{port}/3/device/{token}", json=payload)
            assert answer.http_version == "HTTP/2", answer.http_version
            show(token, answer.status_code, answer.json()["reason"] if answer.content else "")

        await send(tokens[0])
        await asyncio.gather(*map(send, tokens[1:]))


asyncio.run({"aioapns": aioapns, "httpx": httpx}[client]())
