# What keys cost: the same store on a port of loopback, without keys and with them (CURVE), in turn. Round trips and receipts as in the parts
# of these names; workers and clients come over TCP.
. Benchmarks/parts/receipts.sh

# Nobody listens there, nor at the three behind it.
free_ports() {
    local port try next
    for try in $(seq 100); do
        port=$((20000 + RANDOM % 2900 * 4))
        for next in 0 1 2 3; do
            if (: <>"/dev/tcp/127.0.0.1/$((port + next))") 2>/dev/null; then continue 2; fi
        done
        echo "$port"
        return
    done
    stop "no four free ports in $try attempts"
}

# A store of a program, $kind plain or curve, with a data folder of its own; sets $reach, the words by which peers reach it.
open_door() {
    local kind=$1 program=$2 port listen
    shift 2
    port=$(free_ports)
    reach=(--data "$work/$kind" --endpoint "tcp://127.0.0.1:$port")
    listen=("${reach[@]}" --log-level error)
    case $kind in
        plain) listen+=(--insecure-tcp) ;;
        curve) listen+=(--keys "$work/keys") reach+=(--key "$work/bench.key") ;;
    esac
    "$program" store "${listen[@]}" "$@" >"$work/$kind.txt" 2>&1 </dev/null &
    up=$!
    for _ in $(seq 200); do
        if (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
        sleep 0.05
    done
    stop "the $kind store does not listen: $(cat "$work/$kind.txt")"
}

close_door() {
    kill "$up"
    wait "$up" || true
    up=
    rm -rf "${work:?}/$1"
}

# Sets $rate.
round_trip_by() {
    local kind=$1 total=$2 shown=$work/curve-view.txt
    ROUND_TRIP_TYPES=packable open_door "$kind" "$own/RoundTrip" --seed "{\"open\":4096,\"total\":$total}"
    ROUND_TRIP_TYPES=packable "$own/RoundTrip" worker "${reach[@]}" --log-level error >"$work/worker.txt" 2>&1 </dev/null &
    follower=$!
    # Over ipc, so that it is the same for both. That turn is at most a few before the last one.
    for _ in $(seq 20); do
        ROUND_TRIP_TYPES=packable "$own/RoundTrip" view --data "$work/$kind" --format text --at-least "$((2 * total - 4096))" --timeout 60s \
            >"$shown" 2>"$work/curve-view.log" || stop "no $kind view: $(cat "$work/curve-view.log" "$work/worker.txt")"
        if [ "$(figure answered "$shown")" = "$total" ]; then break; fi
        sleep 0.1
    done
    [ "$(figure answered "$shown")" = "$total" ] || stop "only $(figure answered "$shown") of $total round trips by $kind: $(cat "$work/worker.txt")"
    lost=$((lost + $(figure missing "$shown")))
    twice=$((twice + $(figure twice "$shown")))
    rate=$(awk -v total="$total" -v time="$(figure microseconds "$shown")" 'BEGIN { if (time <= 0) exit 1; printf "%.0f", total / time * 1e6 }')
    kill "$follower"
    wait "$follower" || true
    follower=
    close_door "$kind"
}

receipts_by() {
    open_door "$1" "$bin/counter"
    load "${reach[@]}" --saturate --window 1024 --clients 4 --processes 4 --subscribers 0 --duration 3s
    rate=$(loaded throughput | cut -d . -f 1)
    close_door "$1"
}

part_curve() {
    local number kind lost=0 twice=0 rate reach
    programs counter
    benchmarks RoundTrip
    "$bin/counter" keys new bench --role client --role worker --role operator --keys "$work/keys" --out "$work/bench.key" \
        >"$work/keys.txt" 2>&1 || stop "no key: $(cat "$work/keys.txt")"
    for number in $(seq "$rounds"); do
        for kind in plain curve; do
            round_trip_by "$kind" "${ROUND_TRIPS:-400000}"
            say "Round $number, $kind: $rate round trips/s"
            echo "$rate" >>"$work/$kind.round-trips"
            receipts_by "$kind"
            say "Round $number, $kind: $rate receipts/s"
            echo "$rate" >>"$work/$kind.receipts"
        done
    done
    compare "durable effect round trips over TCP with keys; without" /s least 0.5 \
        "$work/curve.round-trips" "$work/plain.round-trips" "$work/plain.round-trips"
    compare "receipts of durable inputs over TCP with keys; without" /s least 0.5 \
        "$work/curve.receipts" "$work/plain.receipts" "$work/plain.receipts"
    row "effects whose answer is missing, or was applied twice" "$lost, $twice" "" "" "" "$(verdict none "$lost == 0 && $twice == 0")"
}
