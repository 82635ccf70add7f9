# Sourced by the benches of the whole relay, behind common.sh: settings, devices, the relay and its cost.

# settings [SANDBOX-ADDRESS]: a configuration for the simulator at $address
settings() {
  cat >pushrelay.json <<JSON
{ "store": "sqlite:relay.db",
  "apps": [{ "topic": "com.example.dashboard", "team_id": "ABCDE12345", "key_id": "KEY1234567", "key_file": "AuthKey_KEY1234567.p8" }],
  "apns": { "production": "$address", "sandbox": "${1:-$address}", "ca_file": "tls/ca.pem" } }
JSON
}

# devices COUNT: that many subscribers of the interest "all"
devices() {
  awk -v n="$1" 'BEGIN {print "token,interests"; for (i = 1; i <= n; i++) printf "%032x%032x,all\n", i * 40503 % 65536, i}' >devices.csv
  pushrelay device import devices.csv >&2
}

# relay: starts it; its process id is then in $relay
relay() {
  pushrelay serve 2>>relay.log &
  relay=$!
  processes+=($relay)
  for _ in $(seq 100); do
    grep -q 'serving' relay.log && break
    sleep 0.05
  done
}

# cpu: the seconds of CPU that the relay has used
cpu() { awk -v hz="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print ($12 + $13) / hz}' "/proc/$relay/stat"; }
# size: the bytes that the store has on disk
size() { sqlite3 relay.db 'PRAGMA wal_checkpoint(PASSIVE)' >/dev/null && stat -c %s relay.db; }
