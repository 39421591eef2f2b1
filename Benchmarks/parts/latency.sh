# How long one input takes on a store that has nothing else to do, beside what the disk and the wire need at least.
. Benchmarks/parts/receipts.sh

part_latency() {
    local number sync hop applied view floor
    programs counter
    yardstick sync
    for number in $(seq "$rounds"); do
        measure_echo latency
        "$work/sync" "$work" 0.5 >"$work/sync.txt"
        figure sync_microseconds "$work/sync.txt" >>"$work/sync.us"
        load --saturate --window 1 --clients 1 --subscribers 0 --duration 2s
        [ "$(loaded inputs applied)" -ge 20 ] || stop "only $(loaded inputs applied) inputs were applied"
        loaded applied p50 >>"$work/applied.us"
        # Slower than views are published, so that none waits for the one before it.
        load --rate 20 --clients 1 --subscribers 1 --duration 4s
        [ "$(loaded view count)" -ge 20 ] || stop "only $(loaded view count) views were seen"
        loaded view p50 >>"$work/view.us"
        say "Round $number: applied $(tail -1 "$work/applied.us"), view $(tail -1 "$work/view.us"), fdatasync $(tail -1 "$work/sync.us"), echo $echo_latency µs"
    done
    sync=$(median <"$work/sync.us") hop=$(median <"$work/latency.hop")
    applied=$(median <"$work/applied.us") view=$(median <"$work/view.us")
    floor=$(calculate "$sync + 3 * $hop" 1)
    row "send to applied, p50, durable, idle; fdatasync + 3 echoes" "$applied" µs "$floor" "$(divided "$applied" "$floor")" "$(at_most 1 "$applied" "$floor")"
    floor=$(calculate "$sync + 4 * $hop" 1)
    row "send to view, p50; the same and 2 hops (1 echo)" "$view" µs "$floor" "$(divided "$view" "$floor")" "$(at_most 1 "$view" "$floor")"
    row "one fdatasync of 4 KiB; one echo with one under way" "$sync" µs "$hop" "" ""
}
