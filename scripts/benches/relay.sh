# Sourced by what runs the whole relay: its store, settings, devices, the relay and its cost. The caller has set `kind`, sqlite or
# postgresql: then a server is started for it.
store=sqlite:relay.db
if [ "$kind" = postgresql ]; then
  . "$(dirname "${BASH_SOURCE[0]}")/postgresql.sh"
  store=$uri
fi

# settings [SANDBOX-ADDRESS]: a configuration for the store $store and the simulator at $address
settings() {
  cat >pushrelay.json <<JSON
{ "store": "$store",
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

# cpu [PROCESS...]: the seconds of CPU that they, or the relay, have used
cpu() {
  local process files=()
  for process in "${@:-$relay}"; do files+=("/proc/$process/stat"); done
  awk -v hz="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); sum += $12 + $13} END {print sum / hz}' "${files[@]}"
}
# size: the bytes that the store has on disk
size() {
  if [ "$kind" = postgresql ]; then query "SELECT pg_database_size('pushrelay')" && return; fi
  sqlite3 relay.db 'PRAGMA wal_checkpoint(PASSIVE)' >/dev/null && stat -c %s relay.db
}
