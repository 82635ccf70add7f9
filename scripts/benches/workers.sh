# One, two and four relays on one PostgreSQL: what each further process brings to a notification to many devices.
count=400000 rounds=3 json= kind=postgresql
while [ $# -gt 0 ]; do
  case "$1" in
    --devices) count=$2 && shift 2 ;;
    --rounds) rounds=$2 && shift 2 ;;
    --json) json=1 && shift ;;
    *) printf 'unknown option %s\n' "$1" >&2 && exit 64 ;;
  esac
done
products='pushrelay sendpush apns-simulator'
. scripts/benches/common.sh
. "$OLDPWD/scripts/benches/relay.sh"

# drain PROCESS...: "µs-CPU-per-push pushes-per-second" of these relays together
drain() {
  local before id start
  before=$(cpu "$@") start=$(date +%s.%N)
  id=$(sendpush enqueue --interest all --title Hello --body World --lane bulk)
  sendpush status "$id" --wait >/dev/null
  awk -v c="$(cpu "$@")" -v b="$before" -v s="$start" -v e="$(date +%s.%N)" -v n="$count" \
    'BEGIN {print (c - b) * 1e6 / n, n / (e - s)}'
}

simulator plain
settings
devices "$count"
relays=()
for number in 1 2 4; do
  while [ ${#relays[@]} -lt $number ]; do
    : >relay.log
    relay
    relays+=("$relay")
  done
  drain "${relays[@]}" >/dev/null # warms them up
  for _ in $(seq "$rounds"); do drain "${relays[@]}" >>"drained-$number"; done
  spent=$(awk '{print $1}' "drained-$number" | median) rate=$(awk '{print $2}' "drained-$number" | median)
  if [ -n "$json" ]; then
    printf '{"relays":%d,"devices":%d,"cpu_us_per_push":%.3f,"pushes_per_second":%.0f}\n' "$number" "$count" "$spent" "$rate"
  else
    printf 'with %d: %.2f µs CPU per push, %.0f pushes/s (medians of %d)\n' "$number" "$spent" "$rate" "$rounds"
  fi
done
