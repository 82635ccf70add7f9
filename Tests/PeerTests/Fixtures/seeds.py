"""Calls a relay as the apps and backends that it must serve unchanged, and checks its answers.

usage: seeds.py SETTINGS.json PART; prints one line for each check, and ends with 1 at the first that fails.
"""

import http.server
import json
import queue
import secrets
import sys
import threading
import time

import requests
from pusher_push_notifications import (
    PusherAuthError,
    PusherMissingInstanceError,
    PusherValidationError,
    PushNotifications,
)

SETTINGS = json.load(open(sys.argv[1]))
RELAY = SETTINGS["relay"]
DEVICES = f"{RELAY}/device_api/v1/instances/{SETTINGS['instance']}/devices/apns"
TOPIC = SETTINGS["topic"]
SDK = {"Content-Type": "application/json", "X-Pusher-Library": "push-notifications-swift 1.2.1"}


def check(holds, what):
    print("ok" if holds else "FAILED", what, flush=True)
    if not holds:
        sys.exit(1)


def refused(error, call, what):
    try:
        call()
    except error:
        return check(True, what)
    check(False, what)


def backend(instance=SETTINGS["instance"], secret=SETTINGS["secret"]):
    """The real library over TLS; it gives requests no other way to trust an authority."""
    client = PushNotifications(instance, secret, endpoint=SETTINGS["tls"])
    client.session.verify = SETTINGS["authority"]
    return client


def pushes(token):
    """The pushes that the simulator has answered for a device; waits for the first."""
    deadline = time.monotonic() + 30
    while True:
        lines = [json.loads(line) for line in open(SETTINGS["log"]) if line.endswith("\n")]
        found = [line for line in lines if line["device_token"] == token]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def webhook():
    """A receiver of webhooks: its URL, and the queue of what it gets."""
    got = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/", got


def push_book():
    debug, release = secrets.token_hex(32), secrets.token_hex(32)

    def post(path, body):
        return requests.post(RELAY + path, headers={"Content-Type": "application/json"}, data=json.dumps(body, indent=2))

    check(post("/api/token", {"token": debug, "debug": True, "language": "en-US"}).ok, "a debug build registers")
    check(post("/api/token", {"token": debug, "debug": True, "language": "pt-BR"}).ok, "and at its next launch")
    check(post("/token", {"token": release, "debug": False}).ok, "the path of the fourth edition, without a language")
    check(post("/", {"token": release, "debug": False, "language": "en-US"}).ok, "the bare origin")
    check(post("/api/token", {"token": debug}).status_code == 400, "debug is required")
    check(requests.post(RELAY + "/api/token/notify").ok, "everyone is notified")
    first, second = pushes(debug), pushes(release)
    check([push["environment"] for push in first] == ["development"], "the debug build is reached in the sandbox")
    check([push["environment"] for push in second] == ["production"], "the released build in production")
    check(first[0]["headers"]["apns-push-type"] == "alert", "by an alert")
    check(first[0]["body"]["aps"]["sound"] == "default", "with a sound")
    check(requests.delete(f"{RELAY}/api/token/{debug}").status_code == 200, "the token is removed")
    check(requests.delete(f"{RELAY}/token/{debug}").status_code == 404, "and was")


def apns_manager():
    user = "0012." + secrets.token_hex(16) + ".0456"
    url = f"{RELAY}/v1/user/{user}"
    one, sample = secrets.token_hex(32), "fcc37fb74f2506277739c1e343c535f131447327105e23ad2a0ce"

    def put(token, name):
        return requests.put(
            url, headers={"content-type": "application/json"},
            json={"bundle-id": SETTINGS["other_topic"], "device-token": token, "name": name})

    check(requests.get(url).status_code == 404, "an unknown user is 404")
    check(requests.get(url).content == b"", "without a body, which the app would take for a user")
    created = put(one, "Test User 1")
    check(created.status_code == 201 and isinstance(created.json(), str), "the first registration is 201")
    updated = put(sample, "Test User 1")
    check(updated.status_code == 200 and updated.json() == f"User {user} updated", "the second 200")
    check(put(sample, "Renamed").status_code == 200, "the same token again is fine")
    shown = requests.get(url).json()
    check(sorted(shown["device-tokens"]) == sorted([one, sample]), "tokens gather, each once")
    check(shown["name"] == "Renamed" and shown["user-id"] == user, "the last name is shown")
    check(shown["admin"] == "False", "admin is a text")
    check(put("", "x").status_code == 400, "an empty token is 400")
    listed = requests.get(f"{RELAY}/v1/tokens/{SETTINGS['other_topic']}").json()
    check(set(listed) >= {one, sample}, "the sender's list of tokens has both")


def register(token, topic=TOPIC):
    return requests.post(
        DEVICES, headers=SDK,
        json={"token": token, "instanceId": SETTINGS["instance"], "bundleIdentifier": topic,
              "metadata": {"sdkVersion": "1.2.1", "iosVersion": "12.2.0"}})


def users():
    client = backend()
    user = "user/ü+1@x y-" + secrets.token_hex(3)
    one, two = secrets.token_hex(32), secrets.token_hex(32)
    mine, other = (f"{DEVICES}/{register(token, SETTINGS['other_topic']).json()['id']}" for token in (one, two))

    def bind(device, jwt):
        headers = {**SDK, **({"Authorization": "Bearer " + jwt} if jwt else {})}
        return requests.put(f"{device}/user", headers=headers).status_code

    token = client.generate_token(user)["token"]
    check(bind(mine, token) == 200 and bind(mine, token) == 200, "a token of the library binds, and again")
    check(requests.get(mine, headers=SDK).json()["userId"] == user, "the device shows its user")
    check(bind(mine, client.generate_token("someone-else")["token"]) == 400, "another user is 400")
    check(bind(other, None) == 401 and bind(other, "a.b.c") == 401, "no token, or none, is 401")
    elsewhere = PushNotifications("11111111-0000-4000-8000-00000000beef", SETTINGS["secret"])
    check(bind(other, elsewhere.generate_token(user)["token"]) == 403, "another instance's token is 403")
    client.publish_to_users([user], {"apns": {"aps": {"alert": "hi"}, "data": {"k": "v"}}})
    received = pushes(one)
    check(len(received) == 1, "the user's device is reached")
    data = received[0]["body"]["data"]
    check(data["k"] == "v" and "publishId" in data["pusher"], "the data of the customer is kept beside that of the SDK")
    for count in (0, 1001):
        names = [f"u{number}" for number in range(count)]
        refused((ValueError, PusherValidationError), lambda: client.publish_to_users(names, {"apns": {"aps": {}}}),
                f"{count} users are refused")
    answer = requests.post(
        f"{RELAY}/publish_api/v1/instances/{SETTINGS['instance']}/publishes/users",
        headers={**SDK, "Authorization": "Bearer " + SETTINGS["secret"]},
        json={"users": [f"u{number}" for number in range(1001)], "apns": {"aps": {}}})
    check(answer.status_code == 422 and {"error", "description"} <= set(answer.json()), "past the library too")
    client.delete_user(user)
    check(requests.get(mine, headers=SDK).status_code == 404, "a deleted user's device is gone")


def login_approval():
    token, interest = secrets.token_hex(32), "auth-janedoe-at-pushercom"
    answer = register(token)
    first = answer.json()
    device = f"{DEVICES}/{first['id']}"
    check(answer.status_code == 200 and first["initialInterestSet"] == [], "the app registers")
    check(requests.post(f"{device}/interests/{interest}", headers=SDK).status_code == 200, "it adds its interest")
    again = register(token).json()
    check(again == {"id": first["id"], "initialInterestSet": [interest]}, "the same token has its id and interest again")
    replaced = requests.put(f"{device}/interests", headers=SDK, json={"interests": [interest]})
    check(replaced.status_code == 200, "the second launch replaces the set")
    listed = requests.get(f"{device}/interests", headers=SDK).json()
    check(listed["interests"] == [interest], "which can be read back")
    unknown = requests.post(f"{DEVICES}/apns-00000000-0000-4000-8000-000000000000/interests/x", headers=SDK)
    check(unknown.status_code == 404 and unknown.json()["description"], "an unknown device is 404")

    # Nothing has proved whose device it is: the backend grants the interest.
    granted = requests.put(
        f"{RELAY}/v1/devices/{token}/interests/{interest}", params={"topic": TOPIC},
        headers={"Authorization": "Bearer " + SETTINGS["api_key"]})
    check(granted.status_code == 204, "the backend grants the protected interest")

    payload = {"hash": secrets.token_hex(20) + "." + secrets.token_urlsafe(24), "email": "janedoe@pusher.com"}
    alert = {"title": "Dashboard", "body": "Dashboard just sent a new approval request"}
    url, told = webhook()
    body = {"apns": {"aps": {"alert": alert, "category": "LoginActions", "payload": payload}}, "webhookUrl": url}
    publish = backend().publish_to_interests([interest, "some-other-interest"], body)["publishId"]
    check(publish.startswith("pubid-"), "the library publishes over TLS")
    refused(PusherAuthError, lambda: backend(secret="nope").publish_to_interests([interest], body), "a wrong key is refused")
    missing = backend(instance="00000000-0000-4000-8000-000000000000")
    refused(PusherMissingInstanceError, lambda: missing.publish_to_interests([interest], body), "so is an unknown instance")
    refused(PusherValidationError, lambda: backend().publish_to_interests([interest], {}), "and no platform")

    received = pushes(token)
    check(len(received) == 1, "the device is reached")
    headers, got = received[0]["headers"], received[0]["body"]
    check(headers["apns-topic"] == TOPIC and headers["apns-push-type"] == "alert", "by an alert for its app")
    check(got["aps"]["category"] == "LoginActions" and got["aps"]["payload"] == payload, "with the approval untouched")
    check(got["aps"]["alert"] == alert and got["data"]["pusher"]["publishId"] == publish, "and the publish's id")

    started, finished = told.get(timeout=30), told.get(timeout=30)
    request = {**body, "interests": [interest, "some-other-interest"]}
    check(started == {"publishId": publish, "status": "STARTED", "requestBody": request}, "the webhook hears of the start")
    results = {"apns": {"numSuccessfulPublishes": 1, "numFailedPublishes": 0}}
    check(finished == {**started, "status": "FINISHED", "results": results}, "and of the end")

    event = {"event": "Open", "publishId": publish, "deviceId": first["id"], "timestampSecs": int(time.time())}
    report = requests.post(
        f"{RELAY}/reporting_api/v2/instances/{SETTINGS['instance']}/events", headers=SDK, json=event)
    check(report.status_code == 200, "the report is taken")
    check(requests.delete(device, headers=SDK).status_code == 200, "the app stops")
    check(requests.get(device, headers=SDK).status_code == 404, "and its device is gone")


{"push-book": push_book, "apns-manager": apns_manager, "users": users, "login-approval": login_approval}[sys.argv[2]]()
