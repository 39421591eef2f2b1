# A turn in one process, beside Elementary's.

part_turns() {
    say "Measuring turns in one process"
    local ours called theirs
    benchmarks Turns
    "$own/Turns" >"$work/turns.txt"
    if [ "$(figure allocations_of_control "$work/turns.txt")" != 1000 ]; then
        say "Allocations are not counted on this system: $(figure allocations_of_control "$work/turns.txt") of 1,000"
    fi
    ours=$(figure local_store_ns "$work/turns.txt")
    called=$(figure local_store_update_not_inlined_ns "$work/turns.txt")
    theirs=$(figure elementary_ns "$work/turns.txt")
    row "turn of a counter in a LocalStore; in Elementary's store" "$ours" ns "$theirs" "$(divided "$ours" "$theirs")" "$(verdict 'under 10 ns' "$ours < 10")"
    compare "the same with an update that is not inlined" ns most 1 <(echo "$called") <(echo "$theirs")
    row "allocations of 1,000 turns in a LocalStore" "$(figure allocations "$work/turns.txt")" "" "" "" \
        "$(verdict none "$(figure allocations "$work/turns.txt") == 0")"
}
