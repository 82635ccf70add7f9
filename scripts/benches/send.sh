# The relay's sender against h2load, both on the simulator's --no-checks mode, in turns: CPU per push, their ratio, rates, memory.
pairs=5 count=400000 json=
while [ $# -gt 0 ]; do
  case "$1" in
    --pairs) pairs=$2 && shift 2 ;;
    --count) count=$2 && shift 2 ;;
    --json) json=1 && shift ;;
    *) printf 'unknown option %s\n' "$1" >&2 && exit 64 ;;
  esac
done
products='send-bench apns-simulator'
. scripts/benches/common.sh

# ours COUNT: "µs-CPU-per-push pushes-per-second peak-KB"
ours() {
  send-bench --host "$address" --ca tls/ca.pem --key AuthKey_KEY1234567.p8 --payload payload.json --count "$1" |
    sed 's/[{}":]/ /g; s/,/ /g' | awk '{for (i = 1; i <= NF; i++) v[$i] = $(i + 1)
      print v["cpu_seconds"] * 1e6 / v["pushes"], v["pushes"] / v["seconds"], v["peak_rss_kb"]}'
}

simulator plain
ours 20000 >/dev/null # warms both programs and the files up
theirs 20000 >/dev/null
for pair in $(seq "$pairs"); do
  o=$(ours "$count")
  t=$(theirs "$count")
  awk -v o="$o" -v t="$t" 'BEGIN {split(o, a, " "); split(t, b, " "); print a[1], b[1], a[1] / b[1], a[2], b[2], a[3]}' >>pairs
  printf 'pair %s: ours %.2f µs, h2load %.2f µs, ratio %.2f\n' "$pair" $(awk 'END {print $1, $2, $3}' pairs) >&2
done
simulator delayed --delay 20ms
for _ in $(seq "$pairs"); do ours $((count / 2)) >>delayed; done

column() { awk -v c="$1" '{print $c}' pairs; }
ratio=$(column 3 | median) least=$(column 3 | sort -g | head -1) most=$(column 3 | sort -g | tail -1)
mine=$(column 1 | median) other=$(column 2 | median) rate=$(column 4 | median) otherRate=$(column 5 | median)
memory=$(column 6 | sort -g | tail -1) delayedRate=$(awk '{print $2}' delayed | median) delayedCPU=$(awk '{print $1}' delayed | median)
if [ -n "$json" ]; then
  printf '{"pairs":%d,"pushes":%d,"cpu_us_per_push":%.3f,"h2load_cpu_us_per_request":%.3f,"ratio":{"median":%.3f,"min":%.3f,"max":%.3f},' \
    "$pairs" "$count" "$mine" "$other" "$ratio" "$least" "$most"
  printf '"pushes_per_second":%.0f,"h2load_requests_per_second":%.0f,"peak_rss_kb":%d,"delay_20ms":{"pushes_per_second":%.0f,"cpu_us_per_push":%.3f}}\n' \
    "$rate" "$otherRate" "$memory" "$delayedRate" "$delayedCPU"
else
  printf 'sender: %.2f µs CPU per push, h2load %.2f µs per request (medians of %d pairs of %d)\n' "$mine" "$other" "$pairs" "$count"
  printf 'ratio:  median %.2f, min %.2f, max %.2f\n' "$ratio" "$least" "$most"
  printf 'rate:   %.0f pushes/s, h2load %.0f requests/s; with 20 ms answer delay %.0f pushes/s at %.2f µs\n' \
    "$rate" "$otherRate" "$delayedRate" "$delayedCPU"
  printf 'memory: %d KB at most\n' "$memory"
fi
