# The whole relay, from the claim to the stored receipt, against h2load on the same simulator, in turns.
pairs=5 count=200000 json= kind=sqlite
while [ $# -gt 0 ]; do
  case "$1" in
    --pairs) pairs=$2 && shift 2 ;;
    --devices) count=$2 && shift 2 ;;
    --store) kind=$2 && shift 2 ;;
    --json) json=1 && shift ;;
    *) printf 'unknown option %s\n' "$1" >&2 && exit 64 ;;
  esac
done
products='pushrelay sendpush apns-simulator'
. scripts/benches/common.sh
. "$OLDPWD/scripts/benches/relay.sh"

# ours: "µs-CPU-per-push pushes-per-second"
ours() {
  local before id start
  before=$(cpu) start=$(date +%s.%N)
  id=$(sendpush enqueue --interest all --title Hello --body World --lane bulk)
  sendpush status "$id" --wait >/dev/null
  awk -v c="$(cpu)" -v b="$before" -v s="$start" -v e="$(date +%s.%N)" -v n="$count" 'BEGIN {print (c - b) * 1e6 / n, n / (e - s)}'
}

simulator plain
settings
devices "$count"
relay
ours >/dev/null
theirs 20000 >/dev/null
bytes=$(size)
for pair in $(seq "$pairs"); do
  o=$(ours)
  t=$(theirs "$count")
  awk -v o="$o" -v t="$t" 'BEGIN {split(o, a, " "); split(t, b, " "); print a[1], b[1], a[1] / b[1], a[2]}' >>pairs
  printf 'pair %s: the relay %.2f µs, h2load %.2f µs, ratio %.2f\n' "$pair" $(awk 'END {print $1, $2, $3}' pairs) >&2
done
bytes=$(awk -v a="$bytes" -v b="$(size)" -v n=$((pairs * count)) 'BEGIN {printf "%.2f", (b - a) / n}')
column() { awk -v c="$1" '{print $c}' pairs; }
ratio=$(column 3 | median) least=$(column 3 | sort -g | head -1) most=$(column 3 | sort -g | tail -1)
mine=$(column 1 | median) other=$(column 2 | median) rate=$(column 4 | median)
memory=$(awk '/VmHWM/ {print $2}' "/proc/$relay/status")
if [ -n "$json" ]; then
  printf '{"pairs":%d,"devices":%d,"cpu_us_per_push":%.3f,"h2load_cpu_us_per_request":%.3f,"ratio":{"median":%.3f,"min":%.3f,"max":%.3f},' \
    "$pairs" "$count" "$mine" "$other" "$ratio" "$least" "$most"
  printf '"pushes_per_second":%.0f,"peak_rss_kb":%d,"disk_bytes_per_receipt":%s}\n' "$rate" "$memory" "$bytes"
else
  printf 'relay:  %.2f µs CPU per push, h2load %.2f µs per request (medians of %d pairs of %d devices)\n' "$mine" "$other" "$pairs" "$count"
  printf 'ratio:  median %.2f, min %.2f, max %.2f; %.0f pushes/s\n' "$ratio" "$least" "$most" "$rate"
  printf 'memory: %d KB at most; disk: %s bytes per receipt\n' "$memory" "$bytes"
fi
