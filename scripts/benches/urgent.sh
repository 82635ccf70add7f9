# From the call that enqueues an urgent push to its request at APNs: idle, and while bulk sends keep the relay and another simulator busy.
count=200 devices=1000000 json= kind=sqlite
while [ $# -gt 0 ]; do
  case "$1" in
    --count) count=$2 && shift 2 ;;
    --devices) devices=$2 && shift 2 ;;
    --store) kind=$2 && shift 2 ;;
    --json) json=1 && shift ;;
    *) printf 'unknown option %s\n' "$1" >&2 && exit 64 ;;
  esac
done
products='pushrelay sendpush apns-simulator queue-bench'
. scripts/benches/common.sh
. "$OLDPWD/scripts/benches/relay.sh"

# urgent: the times as JSON; all are of the second simulator, whose log the bulk sends leave alone
urgent() { queue-bench urgent --log urgent.log --interest urgent --count "$count" --interval 50ms; }

simulator urgent --log urgent.log
urgentAddress=$address
simulator plain
settings "$urgentAddress"
devices "$devices"
pushrelay device add --environment sandbox --token "$(printf 'b%.0s' $(seq 64))" --interest urgent >&2
relay
urgent >idle
: >urgent.log
# Enough to outlast the measurement.
for _ in $(seq 100); do sendpush enqueue --interest all --title Hello --body World --lane bulk >>bulk; done
urgent >busy
first=$(head -1 bulk) last=$(tail -1 bulk)
sendpush status "$first" >&2
for id in $(cat bulk); do sendpush cancel "$id" >/dev/null 2>&1 || true; done
[ "$(sendpush status "$last" --json | value state)" = '"canceled"' ] || printf 'the bulk sends ended too early\n' >&2
if [ -n "$json" ]; then
  printf '{"idle":%s,"busy":%s}\n' "$(cat idle)" "$(cat busy)"
else
  printf 'idle: %s\nbusy: %s\n' "$(cat idle)" "$(cat busy)"
fi
