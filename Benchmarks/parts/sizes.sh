# Turns as the state grows, in processor time of the engine.

part_sizes() {
    local small size rate
    programs JournalBenchmark
    timeout 120 "$bin/JournalBenchmark" sizes >"$work/sizes.txt"
    small=$(figure turns_per_second_10 "$work/sizes.txt")
    row "turns of a state of 10 entries, no journal" "$small" /s "" "" ""
    for size in 10000 1000000; do
        rate=$(figure "turns_per_second_$size" "$work/sizes.txt")
        compare "the same with $size entries; with 10" /s least 0.8 <(echo "$rate") <(echo "$small")
    done
}
