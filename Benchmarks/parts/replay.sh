# A journal of a million turns of a counter, from the file to the state.

part_replay() {
    local rate
    programs JournalBenchmark
    TMPDIR=$work timeout 200 "$bin/JournalBenchmark" replay "${REPLAY_TURNS:-1000000}" >"$work/replay.txt"
    rate=$(figure replay_turns_per_second "$work/replay.txt")
    row "replay of a counter" "$rate" /s "" "" "$(verdict 'at least 1,000,000' "$rate >= 1000000")"
    row "the same for each second of processor time" "$(figure replay_turns_per_processor_second "$work/replay.txt")" /s "" "" ""
}
