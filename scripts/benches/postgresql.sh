# Sourced by scripts that measure or break the relay: a PostgreSQL server of their own, in a folder of its own, on a unix socket alone.
# Unlike that of the tests it keeps its promises to the disk.
serverFolder=$(mktemp -d "${TMPDIR:-/tmp}/pushrelay-postgresql.XXXXXX")
server='' serverPrograms=/usr/lib/postgresql/15/bin
# The server refuses to run as root.
asServer=()
[ "$(id -u)" -ne 0 ] || {
  asServer=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  chown postgres "$serverFolder"
}
uri="postgresql://pushrelay@/pushrelay?host=$serverFolder"

# server: starts it and waits until it answers; its process id is then in $server
server() {
  (cd "$serverFolder" && exec "${asServer[@]}" "$serverPrograms/postgres" -D data) >>"$serverFolder.log" 2>&1 &
  server=$!
  for _ in $(seq 200); do
    pg_isready -q -h "$serverFolder" && return
    sleep 0.05
  done
  cat "$serverFolder.log" >&2
  return 69
}

# server_stop SIGNAL: INT ends it after the transactions, QUIT at once and without a last word to the disk
server_stop() {
  kill -"$1" "$server" 2>/dev/null && wait "$server" 2>/dev/null || true
}

# server_remove: ends it and leaves nothing behind
server_remove() {
  server_stop INT
  rm -rf "$serverFolder" "$serverFolder.log"
}

query() { psql -XAtqc "SET search_path=pushrelay" -c "$1" "$uri"; }

(cd "$serverFolder" && "${asServer[@]}" "$serverPrograms/initdb" -D data -U pushrelay -A trust -E UTF8 --locale=C) >"$serverFolder.log"
printf "listen_addresses = ''\nunix_socket_directories = '%s'\n" "$serverFolder" |
  "${asServer[@]}" tee -a "$serverFolder/data/postgresql.conf" >/dev/null
server
psql -Xqc 'CREATE DATABASE pushrelay' "postgresql://pushrelay@/postgres?host=$serverFolder"
