# Sourced by scripts/bench: programs, simulators, the reference h2load, medians. The caller has set `products`, and `kind` where there is a
# store: sqlite or postgresql.
case "${kind:-}" in
  '') packages='' ;;
  sqlite) packages=sqlite3 ;;
  postgresql) packages=postgresql-15 ;;
  *) printf 'no such store: %s; sqlite or postgresql\n' "$kind" >&2 && exit 64 ;;
esac
scripts/packages libssl-dev libmicrohttpd-dev libnghttp2-dev libsqlite3-dev libpq-dev libcurl4-openssl-dev pkg-config openssl nghttp2-client $packages
for product in $products; do swift build -c release --static-swift-stdlib --product "$product" >&2; done
PATH="$(swift build -c release --static-swift-stdlib --show-bin-path):$PATH"

folder=$(mktemp -d "${TMPDIR:-/tmp}/pushrelay-bench.XXXXXX")
processes=()
finish() {
  for process in "${processes[@]}"; do kill -TERM "$process" 2>/dev/null && wait "$process" 2>/dev/null || true; done
  [ -z "${serverFolder:-}" ] || server_remove
  rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
(umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_KEY1234567.p8 2>/dev/null)
printf '{"aps":{"alert":{"title":"Dashboard","body":"%s"},"sound":"default","category":"LoginActions"}}' \
  "$(printf 'x%.0s' $(seq 165))" >payload.json
# As long as a real one; h2load's requests are counted, not judged.
jwt="$(head -c 300 /dev/zero | base64 -w 0 | tr -d '=' | head -c 207 | tr A x)"

# simulator NAME OPTIONS...: one that counts and answers 200; its address is then in $address
simulator() {
  local name=$1
  shift
  apns-simulator --listen production=127.0.0.1:0 --tls-dir tls --no-checks "$@" >"$name.out" 2>"$name.err" &
  processes+=($!)
  for _ in $(seq 100); do
    grep -q '^listening' "$name.out" && break
    sleep 0.05
  done
  address=$(sed -n 's/^listening on \(.*\) (production)$/\1/p' "$name.out")
}

# theirs COUNT: h2load's "µs-CPU-per-request requests-per-second"
theirs() {
  local TIMEFORMAT='%U %S' times
  times=$({ time h2load -c 1 -m 1000 -t 1 -n "$1" -d payload.json \
    -H "authorization: bearer $jwt" -H 'apns-topic: com.example.dashboard' -H 'apns-push-type: alert' -H 'apns-priority: 10' \
    -H 'apns-expiration: 1800000000' -H 'apns-collapse-id: 891234567890123' \
    -H 'apns-id: 123e4567-e89b-12d3-a456-4266554400a0' \
    "https://$address/3/device/$(printf 'a%.0s' $(seq 64))" >h2load.out; } 2>&1)
  awk -v times="$times" -v n="$1" '/^finished in/ {split(times, t, " "); print (t[1] + t[2]) * 1e6 / n, $4}' h2load.out
}

# value NAME: of that member of the JSON object on standard input
value() { sed "s/.*\"$1\":\([^,}]*\).*/\1/"; }
median() { sort -g | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
