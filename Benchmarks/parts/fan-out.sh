# Views to a hundred subscribers, beside a bare PUB socket that sends the same once more: as many messages of the same frames, at the same
# distances. The same followers measure both, from when a view is handed to libzmq to when the last of a hundred has it.
. Benchmarks/parts/receipts.sh

# With the log of a publisher. The first two seconds are its own.
follow() {
    sleep 2
    timeout 30 "$work/fanout" follow "$1" view/main 100 4 "$2" >"$3" || stop "nobody could follow $1"
}

# Becomes a program whose calls of libzmq are written down.
publishing() { SENT=$1 LD_PRELOAD=$work/sent.so exec "${@:2}"; }

follow_store() {
    publishing "$work/views.sent" "$bin/counter" store --data "$work/fan-out" --endpoint "ipc://$work/doors" --log-level error \
        >"$work/fan-out.txt" 2>&1 </dev/null &
    up=$!
    follow "ipc://$work/doors/view" "$work/views.sent" "$1" &
    follower=$!
    sleep 1
    load --data "$work/fan-out" --endpoint "ipc://$work/doors" --rate 200 --clients 1 --subscribers 0 --duration 7s
    wait "$follower" || stop "nobody could follow the store"
    follower=
    kill "$up"
    wait "$up" || true
    up=
    rm -rf "$work/fan-out"
}

follow_bare() {
    publishing "$work/bare.sent" timeout 30 "$work/fanout" publish "ipc://$work/bare" view/main "$work/views.sent" &
    follower=$!
    follow "ipc://$work/bare" "$work/bare.sent" "$1"
    wait "$follower"
    follower=
}

# A hundred deliveries in that time.
deliveries() { echo "$(calculate "100e6 / $(figure served_microseconds "$1")" 0)"; }

part_fan_out() {
    local number ours=$work/followed.txt bare=$work/bare.txt
    programs counter
    yardstick fanout
    cc -O2 -shared -fPIC -o "$work/sent.so" Benchmarks/echo/sent.c -ldl
    for number in $(seq "$rounds"); do
        follow_store "$ours"
        follow_bare "$bare"
        deliveries "$ours" >>"$work/fan-out.ours"
        deliveries "$bare" >>"$work/fan-out.bare"
        say "Round $number: $(figure views "$ours") views of $(figure bytes "$ours") bytes in $(figure frames "$ours") frames, served in $(figure served_microseconds "$ours"); bare $(figure views "$bare"), $(figure served_microseconds "$bare") µs"
    done
    compare "deliveries of views to 100 subscribers; raw PUB" /s least 0.8 "$work/fan-out.ours" "$work/fan-out.bare" "$work/fan-out.bare"
}
