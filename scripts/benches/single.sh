# Notifications to one device each, from many producers at once: rate, and CPU of the relay and of the producers.
count=50000 producers=64 json= kind=sqlite
while [ $# -gt 0 ]; do
  case "$1" in
    --count) count=$2 && shift 2 ;;
    --producers) producers=$2 && shift 2 ;;
    --store) kind=$2 && shift 2 ;;
    --json) json=1 && shift ;;
    *) printf 'unknown option %s\n' "$1" >&2 && exit 64 ;;
  esac
done
products='pushrelay sendpush apns-simulator queue-bench'
. scripts/benches/common.sh
. "$OLDPWD/scripts/benches/relay.sh"

simulator plain
settings
awk -v n="$producers" 'BEGIN {print "token,interests"; for (i = 0; i < n; i++) printf "%064x,single-%d\n", i + 1, i}' >devices.csv
pushrelay device import devices.csv >&2
relay
queue-bench single --interests single --producers "$producers" --count "$producers" >/dev/null
before=$(cpu)
queue-bench single --interests single --producers "$producers" --count "$count" >result
awk -v c="$(cpu)" -v b="$before" -v json="$json" -v taken="$(value taken_ms <result)" -v done="$(value done_ms <result)" \
  -v n="$(value notifications <result)" -v p="$(value producer_cpu_seconds <result)" 'BEGIN {
    relay = (c - b) * 1e6 / n; producer = p * 1e6 / n
    form = json ? "{\"notifications\":%d,\"relay_cpu_us\":%.1f,\"producer_cpu_us\":%.1f,\"taken_per_second\":%.0f,\"done_per_second\":%.0f}\n" \
      : "%d notifications: the relay %.1f µs CPU each, the producers %.1f µs; %.0f/s enqueued, %.0f/s enqueued and answered\n"
    printf form, n, relay, producer, n * 1000 / taken, n * 1000 / done}'
