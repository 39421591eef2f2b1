# How long one input takes on a store that has nothing else to do, beside what the disk and the wire need at least.
. Benchmarks/parts/receipts.sh

part_latency() {
    local number sync paced
    programs counter
    yardstick sync
    for number in $(seq "$rounds"); do
        measure_echo latency paced
        "$work/sync" "$work" 0.5 >"$work/sync.txt"
        sync=$(figure sync_microseconds "$work/sync.txt")
        echo "$sync" >>"$work/sync.us"
        echo "$(calculate "$sync + 3 * $echo_latency" 1)" >>"$work/demanded.us"
        # No input can be applied with less.
        echo "$(calculate "$sync + $echo_latency" 1)" >>"$work/least.us"
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
        say "Round $number: applied $(tail -1 "$work/applied.us"), view $(tail -1 "$work/view.us"), fdatasync $sync, echo $echo_latency, at rest in all $paced µs"
    done
    compare "send to applied, p50, durable, idle; fdatasync + 3 echoes" µs most 1 "$work/applied.us" "$work/demanded.us" "$work/least.us"
    compare "send to view, p50, 20/s; fdatasync + 4 echoes, as often" µs most 1 "$work/view.us" "$work/paced.us"
    compare "one fdatasync of 4 KiB; one echo with one under way" µs "" "" "$work/sync.us" "$work/latency.hop"
}
