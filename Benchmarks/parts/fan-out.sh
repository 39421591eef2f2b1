# Views to a hundred subscribers, beside a bare PUB socket with messages of the same size and frames, as often. The same followers measure both: from
# the first of them that has a view to the last is the time in which a hundred were served.
. Benchmarks/parts/receipts.sh

follow() {
    timeout 30 "$work/fanout" follow "$1" view/main 100 4 >"$2" || stop "nobody could follow $1"
}

follow_store() {
    "$bin/counter" store --data "$work/fan-out" --endpoint "ipc://$work/doors" --log-level error >"$work/fan-out.txt" 2>&1 </dev/null &
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
    timeout 30 "$work/fanout" publish "ipc://$work/bare" view/main "$1" "$2" "$3" 6 &
    follower=$!
    follow "ipc://$work/bare" "$4"
    wait "$follower"
    follower=
}

part_fan_out() {
    local number ours=$work/followed.txt bare=$work/bare.txt samovar raw
    programs counter
    yardstick fanout
    for number in $(seq "$rounds"); do
        follow_store "$ours"
        follow_bare "$(figure bytes "$ours")" "$(figure frames "$ours")" "$(figure per_second "$ours")" "$bare"
        figure spread_microseconds "$ours" >>"$work/fan-out.ours"
        figure spread_microseconds "$bare" >>"$work/fan-out.bare"
        say "Round $number: $(figure views "$ours") views of $(figure bytes "$ours") bytes in $(figure frames "$ours") frames, spread $(figure spread_microseconds "$ours"); bare $(figure spread_microseconds "$bare") µs"
    done
    samovar=$(median <"$work/fan-out.ours") raw=$(median <"$work/fan-out.bare")
    samovar=$(calculate "100e6 / $samovar" 0) raw=$(calculate "100e6 / $raw" 0)
    row "deliveries of views to 100 subscribers; raw PUB" "$samovar" /s "$raw" "$(divided "$samovar" "$raw")" "$(at_least 0.8 "$samovar" "$raw")"
}
