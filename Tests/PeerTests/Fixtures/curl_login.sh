#!/bin/sh
# usage: curl_login.sh RELAY INSTANCE SECRET TOPIC TOKEN   the login approval with nothing but curl; prints each answer's status.
set -eu
devices=$1/device_api/v1/instances/$2/devices/apns
json='Content-Type: application/json'
interest=auth-janedoe-at-pushercom
device=$(curl -sf -XPOST "$devices" -H "$json" \
  -d "{\"token\":\"$5\",\"instanceId\":\"$2\",\"bundleIdentifier\":\"$4\",\"metadata\":{\"sdkVersion\":\"1.2.1\"}}" |
  sed 's/.*"id" *: *"\([^"]*\)".*/\1/')
curl -sf -XPOST "$devices/$device/interests/$interest" -H "$json" -o /dev/null -w 'interest %{http_code}\n'
curl -sf -XPOST "$1/publish_api/v1/instances/$2/publishes/interests" -H "$json" -H "Authorization: Bearer $3" -o /dev/null \
  -d '{"apns":{"aps":{"alert":{"title":"Dashboard","body":"Dashboard just sent a new approval request"},"category":"LoginActions","payload":{"hash":"aa.bb","email":"janedoe@pusher.com"}}},"interests":["'$interest'"]}' \
  -w 'publish %{http_code}\n'
# This relay hosts no logins.
curl -s -XPOST "$1/login/client-authorized" -d 'email=janedoe%40pusher.com&hash=aa.bb' -o /dev/null -w 'approve %{http_code}\n'
