# A journal of a million turns of a counter, from the file to the state. Its messages are all the same, and a decoder that has met the
# bytes of a small one knows its value; so the same is measured with messages that are all different, and with ones that read themselves.

part_replay() {
    local rate
    programs JournalBenchmark
    TMPDIR=$work timeout 200 "$bin/JournalBenchmark" replay "${REPLAY_TURNS:-1000000}" >"$work/replay.txt"
    rate=$(figure replay_turns_per_second "$work/replay.txt")
    row "replay of a counter" "$rate" /s "" "" "$(verdict 'at least 1,000,000' "$rate >= 1000000")"
    row "the same for each second of processor time" "$(figure replay_turns_per_processor_second "$work/replay.txt")" /s "" "" ""
    row "replay of messages that are all different" "$(figure replay_different_turns_per_second "$work/replay.txt")" /s "" "" ""
    row "replay of messages that read themselves" "$(figure replay_packable_turns_per_second "$work/replay.txt")" /s "" "" ""
}
