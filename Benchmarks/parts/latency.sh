# How long one input takes on a store that has nothing else to do, beside what the disk and the wire need at least.
. Benchmarks/parts/receipts.sh

part_latency() {
    local number sync hop applied view floor paced
    programs counter
    yardstick sync
    for number in $(seq "$rounds"); do
        measure_echo latency paced
        "$work/sync" "$work" 0.5 >"$work/sync.txt"
        figure sync_microseconds "$work/sync.txt" >>"$work/sync.us"
        # What an input needs at least that comes after a rest: the sender wakes late, the disk and each hop take longer.
        paced=$(calculate "$(figure paced_late_microseconds "$work/echo.txt") + $(figure paced_sync_microseconds "$work/sync.txt") \
            + 4 * $(figure paced_latency_microseconds "$work/echo.txt")" 1)
        echo "$paced" >>"$work/paced.us"
        load --saturate --window 1 --clients 1 --subscribers 0 --duration 2s
        [ "$(loaded inputs applied)" -ge 20 ] || stop "only $(loaded inputs applied) inputs were applied"
        loaded applied p50 >>"$work/applied.us"
        # Slower than views are published, so that none waits for the one before it.
        load --rate 20 --clients 1 --subscribers 1 --duration 4s
        [ "$(loaded view count)" -ge 20 ] || stop "only $(loaded view count) views were seen"
        loaded view p50 >>"$work/view.us"
        say "Round $number: applied $(tail -1 "$work/applied.us"), view $(tail -1 "$work/view.us"), fdatasync $(tail -1 "$work/sync.us"), echo $echo_latency, at rest in all $paced µs"
    done
    sync=$(median <"$work/sync.us") hop=$(median <"$work/latency.hop")
    applied=$(median <"$work/applied.us") view=$(median <"$work/view.us")
    floor=$(calculate "$sync + 3 * $hop" 1)
    row "send to applied, p50, durable, idle; fdatasync + 3 echoes" "$applied" µs "$floor" "$(divided "$applied" "$floor")" "$(at_most 1 "$applied" "$floor")"
    floor=$(median <"$work/paced.us")
    row "send to view, p50, 20/s; fdatasync + 4 echoes, as often" "$view" µs "$floor" "$(divided "$view" "$floor")" "$(at_most 1 "$view" "$floor")"
    row "one fdatasync of 4 KiB; one echo with one under way" "$sync" µs "$hop" "" ""
}
