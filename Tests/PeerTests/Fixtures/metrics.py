"""Pushes to one device and reads /metrics with the library of Prometheus. Usage: metrics.py SETTINGS"""

import json
import sys
import time

import requests
from prometheus_client.parser import text_string_to_metric_families

settings = json.load(open(sys.argv[1]))
relay, key = settings["relay"], {"Authorization": "Bearer " + settings["api_key"]}
token = "ab" * 32


def families():
    answer = requests.get(relay + "/metrics", timeout=10)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4"), answer.headers
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def value(name, **labels):
    return sum(s.value for f in families().values() for s in f.samples if s.name == name and labels.items() <= s.labels.items())


requests.put(f"{relay}/v1/devices/{token}", headers=key, json={"topic": settings["topic"]}, timeout=10).raise_for_status()
push = {"topic": settings["topic"], "target": {"tokens": [token]}, "payload": {"aps": {"alert": "Hello"}}}
requests.post(relay + "/v1/notifications", headers=key, json=push, timeout=10).raise_for_status()
limit = time.monotonic() + 60
while value("pushrelay_deliveries_total", outcome="accepted") < 1:
    assert time.monotonic() < limit, "the push is not counted"

for family in families().values():
    assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
    for sample in family.samples:
        assert sample.name.startswith("pushrelay_"), sample
    if family.type == "histogram":
        # Buckets only grow, and the last one holds everything.
        series = {}
        for sample in family.samples:
            labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            if sample.name.endswith("_bucket"):
                series.setdefault(labels, []).append(sample.value)
        counts = {tuple(sorted(s.labels.items())): s.value for s in family.samples if s.name.endswith("_count")}
        for labels, values in series.items():
            assert values == sorted(values) and values[-1] == counts[labels], (family.name, labels, values)
assert value("pushrelay_notifications_enqueued_total") == 1
assert value("pushrelay_http_request_seconds_count") >= 2
assert value("pushrelay_apns_answer_seconds_count") == 1 and value("pushrelay_store_flush_seconds_count") >= 1
assert 0 <= value("pushrelay_provider_token_age_seconds") < 600
assert {"pushrelay_apns_streams", "pushrelay_queue_age_seconds", "pushrelay_apns_connections"} <= families().keys()
