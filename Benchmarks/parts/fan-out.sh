# Views to a hundred subscribers, beside a bare PUB socket with messages of the same size, as often. The same followers measure both: how
# long from the first of them that has a view to the last.
. Benchmarks/parts/receipts.sh

follow() {
    timeout 30 "$work/fanout" follow "$1" view/main 100 4 >"$2" || stop "nobody could follow $1"
}

follow_store() {
    "$bin/counter" up --workers 0 --data "$work/fan-out" --endpoint "ipc://$work/doors" --log-level error >"$work/fan-out.txt" 2>&1 </dev/null &
    up=$!
    sleep 2
    follow "ipc://$work/doors/view" "$1" &
    follower=$!
    load --data "$work/fan-out" --endpoint "ipc://$work/doors" --rate 200 --clients 1 --subscribers 0 --duration 6s
    wait "$follower" || stop "nobody could follow the store"
    follower=
    kill "$up"
    wait "$up" || true
    up=
    rm -rf "$work/fan-out"
}

follow_bare() {
    timeout 30 "$work/fanout" publish "ipc://$work/bare" view/main "$1" "$2" 6 &
    follower=$!
    follow "ipc://$work/bare" "$3"
    wait "$follower"
    follower=
}

part_fan_out() {
    local number ours=$work/followed.txt bare=$work/bare.txt samovar raw
    programs counter
    yardstick fanout
    for number in $(seq "$rounds"); do
        follow_store "$ours"
        follow_bare "$(figure bytes "$ours")" "$(figure per_second "$ours")" "$bare"
        figure spread_microseconds "$ours" >>"$work/fan-out.ours"
        figure spread_microseconds "$bare" >>"$work/fan-out.bare"
        say "Round $number: $(figure views "$ours") views of $(figure bytes "$ours") bytes, spread $(figure spread_microseconds "$ours"); bare $(figure spread_microseconds "$bare") µs"
    done
    samovar=$(median <"$work/fan-out.ours") raw=$(median <"$work/fan-out.bare")
    row "a view from the first to the last of 100 subscribers; raw PUB" "$samovar" µs "$raw" "$(divided "$samovar" "$raw")" ""
}
