#!/usr/bin/env bash
# The same round trip on other systems: 64 bytes, one worker process, pipelined. Takes about two minutes.
#
#   Benchmarks/peers/run.sh
#
# Measured is what is installed; what is missing is skipped with a word:
#
#   sudo apt-get install redis-server libhiredis-dev nats-server libnats-dev
#   python3 -m venv .build/celery && .build/celery/bin/pip install 'celery[redis]'
#
#   SECONDS_EACH=5   how long each is measured
#   ROUNDS=3         how often, in turn
#   OWN=FOLDER       takes RoundTrip from there instead of building it
#   TMPDIR           where servers keep their data
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LC_ALL=C

seconds=${SECONDS_EACH:-5}
rounds=${ROUNDS:-3}
peers=$PWD/Benchmarks/peers
work=$(mktemp -d)
own=${OWN:-}
server=
worker=
export SAMOVAR_RUNTIME_DIR=$work/run

# Only processes that were started here, by their id.
end() {
    [ -n "$1" ] || return 0
    kill "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}
finish() {
    end "$worker"
    end "$server"
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { echo "$*" >&2; }

median() { sort -n | awk '{ all[NR] = $1 } END { if (!NR) exit 1; printf "%.0f", (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Until somebody listens at a port.
await_port() {
    local attempt
    for attempt in $(seq 100); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    say "nobody listens at port $1 after $((attempt / 10)) s"
    return 1
}

# A server that keeps what it writes in a folder of its own, on loopback. Sets `port`.
start_redis() {
    local folder
    port=$(free_port) folder=$(mktemp -d "$work/redis.XXXXXX")
    redis-server --bind 127.0.0.1 --port "$port" --dir "$folder" --save '' "$@" >"$folder/log" 2>&1 </dev/null &
    server=$!
    await_port "$port" || { cat "$folder/log" >&2; exit 1; }
}

start_nats() {
    local folder
    port=$(free_port) folder=$(mktemp -d "$work/nats.XXXXXX")
    printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s" %s }\n' "$port" "$folder" "${1:-}" >"$folder/conf"
    nats-server -c "$folder/conf" >"$folder/log" 2>&1 </dev/null &
    server=$!
    await_port "$port" || { cat "$folder/log" >&2; exit 1; }
}

# A figure of a subject. Each prints round_trips_per_second.
note() {
    local rate
    rate=$(awk '$1 == "round_trips_per_second" { print $2 }' "$work/output")
    if [ "${rate:-0}" -le 0 ]; then
        say "$1: no round trip"
        exit 1
    fi
    say "$1: $rate/s"
    echo "$rate" >>"$work/$2.rates"
}

measure_samovar() {
    local total=${ROUND_TRIPS:-600000}
    timeout 180 "$own/RoundTrip" up --until-idle --workers 1 --data "$work/samovar" --log-level error \
        --seed "{\"open\":4096,\"total\":$total}" >"$work/view" 2>&1 || { cat "$work/view" >&2; exit 1; }
    rm -rf "$work/samovar"
    # Every one answered, none missing, none twice.
    awk -v total="$total" '{ all[$1] = $2 } END {
        if (all["answered"] != total || all["missing"] != 0 || all["twice"] != 0) exit 1
        printf "round_trips_per_second %.0f\n", total / all["microseconds"] * 1e6 }' "$work/view" >"$work/output"
    note "Samovar, durable" samovar
}

measure_redis() {
    start_redis "${@:3}"
    timeout 60 "$work/streams" "$port" "$seconds" >"$work/output"
    end "$server"
    server=
    note "$1" "$2"
}

measure_nats() {
    start_nats "${4:-}"
    timeout 60 "$work/jetstream" "$port" "$3" "$seconds" >"$work/output"
    end "$server"
    server=
    note "$1" "$2"
}

measure_celery() {
    start_redis
    export PEER_REDIS=redis://127.0.0.1:$port/0 PYTHONPATH=$peers PYTHONDONTWRITEBYTECODE=1
    "$python" -m celery -A celery_round_trips worker --pool solo --loglevel ERROR >"$work/celery.log" 2>&1 </dev/null &
    worker=$!
    timeout 90 "$python" "$peers/celery_round_trips.py" "$seconds" >"$work/output" || { cat "$work/celery.log" >&2; exit 1; }
    end "$worker"
    worker=
    end "$server"
    server=
    note "Celery" celery
}

if [ -z "$own" ]; then
    # In the folder of bench.sh, which says why the plan is made anew.
    building=(--package-path Benchmarks -c release --scratch-path .build-bench --disable-build-manifest-caching ${JOBS:+-j "$JOBS"})
    swift build "${building[@]}" --product RoundTrip >&2
    own=$(swift build "${building[@]}" --show-bin-path)
fi
has_redis= has_nats= python=
if command -v redis-server >/dev/null && pkg-config --exists hiredis; then
    has_redis=yes
    # shellcheck disable=SC2046
    cc -O2 -o "$work/streams" "$peers/streams.c" $(pkg-config --cflags --libs hiredis)
else
    say "Redis Streams is skipped: redis-server or libhiredis-dev is missing"
fi
if command -v nats-server >/dev/null && pkg-config --exists libnats; then
    has_nats=yes
    cc -O2 -o "$work/jetstream" "$peers/jetstream.c" -lnats
else
    say "NATS JetStream is skipped: nats-server or libnats-dev is missing"
fi
for candidate in "$PWD/.build/celery/bin/python3" python3; do
    if command -v redis-server >/dev/null && "$candidate" -c 'import celery, redis' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || say "Celery is skipped: redis-server, or celery and redis for Python, are missing"

# JetStream's own interval between syncs is two minutes; servers before 2.10 know no other.
always='sync_interval: always'
if [ -n "$has_nats" ]; then
    printf 'jetstream { store_dir: "%s" %s }\n' "$work" "$always" >"$work/try.conf"
    if ! nats-server -t -c "$work/try.conf" >/dev/null 2>&1; then
        say "This nats-server cannot sync each write: JetStream is measured with its own interval alone"
        always=
    fi
fi

for number in $(seq "$rounds"); do
    say "Round $number, load $(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo unknown)"
    measure_samovar
    if [ -n "$has_redis" ]; then
        measure_redis "Redis Streams, an fsync for each write" redis-always --appendonly yes --appendfsync always
        measure_redis "Redis Streams, in memory" redis-memory --appendonly no
    fi
    if [ -n "$has_nats" ]; then
        if [ -n "$always" ]; then measure_nats "JetStream, a sync for each write" nats-always file "$always"; fi
        measure_nats "JetStream, files that are synced later" nats-file file
        measure_nats "JetStream, in memory" nats-memory memory
    fi
    if [ -n "$python" ]; then measure_celery; fi
done

samovar=$(median <"$work/samovar.rates")
row() {
    local rate
    [ -s "$work/$1.rates" ] || return 0
    rate=$(median <"$work/$1.rates")
    printf '| %s | %s | %s | %s |\n' "$2" "$3" "$rate" "$(awk -v a="$samovar" -v b="$rate" 'BEGIN { printf "%.1f", a / b }')"
}
redis_version="Redis $(redis-server --version 2>/dev/null | sed -n 's/.* v=\([^ ]*\).*/\1/p'), hiredis $(pkg-config --modversion hiredis 2>/dev/null || true)"
nats_version="$(nats-server --version 2>/dev/null || true), libnats $(pkg-config --modversion libnats 2>/dev/null || true)"
echo
echo "$(getconf _NPROCESSORS_ONLN) processors, median of $rounds rounds, load at the end: $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null || echo unknown)"
echo "| system | versions | round trips/s | Samovar's in relation to it |"
echo "|---|---|---|---|"
row samovar "Samovar, durable, an fsync for each batch" "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
row redis-always "Redis Streams, an fsync for each write" "$redis_version"
row redis-memory "Redis Streams, in memory" "$redis_version"
row nats-always "JetStream, a sync for each write" "$nats_version"
row nats-file "JetStream, files that are synced later" "$nats_version"
row nats-memory "JetStream, in memory" "$nats_version"
if [ -n "$python" ]; then row celery "Celery, Redis in memory, pool solo" "Celery $("$python" -c 'import celery; print(celery.__version__)')"; fi
