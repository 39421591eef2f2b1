# A search for duplicates beside a pipeline that reads and hashes the same files.

# 500 folders of 100 files with 1 to 8 KiB: 25,000 contents, each of them twice, and no file whose size occurs only once.
make_tree() {
    say "Making 50,000 files"
    local folder size
    for number in $(seq 1000 1249); do
        folder=$work/tree/original/$number
        size=$((1024 * (1 + number % 8)))
        mkdir -p "$folder"
        # The number begins each line, so no two files are alike. seq is ended by what it writes to.
        { seq -f "$number %.0f" 1000000 2000000 2>/dev/null || true; } | head -c $((100 * size)) | split -b "$size" -a 2 -d - "$folder/file"
    done
    cp -r "$work/tree/original" "$work/tree/copy"
    find "$work/tree" -type f -print0 | xargs -0 cat >/dev/null
}

# With so many files for each sha256sum.
measure_hashing() {
    local start=$EPOCHREALTIME
    find "$work/tree" -type f -print0 | xargs -0 -P2 -n"$1" sha256sum >/dev/null
    since "$start"
}

measure_search() {
    local start=$EPOCHREALTIME output=$work/dupes.txt
    if ! "$bin/dupes" up --until-idle --workers 2 --data "$work/search-$1" --log-level error \
        --seed "{\"root\":\"$work/tree\",\"minimumSize\":1}" >"$output" 2>"$work/dupes.log" ||
        ! grep -q '^ *hashed  *50,000 files' "$output" || ! grep -q '^ *duplicates  *25,000 groups' "$output"; then
        say "dupes did not hash 50,000 files and find 25,000 groups of duplicates:"
        cat "$work/dupes.log" "$output" >&2
        return 1
    fi
    since "$start"
    rm -rf "$work/search-$1"
}

part_search() {
    programs dupes
    make_tree
    local number hashing bulk searching
    for number in $(seq "$rounds"); do
        hashing=$(measure_hashing 64)
        bulk=$(measure_hashing 2000)
        searching=$(measure_search "$number")
        say "Round $number: find and sha256sum $hashing s, with 2,000 files each $bulk s, dupes $searching s"
        echo "$hashing" >>"$work/hashing"
        echo "$bulk" >>"$work/bulk"
        echo "$searching" >>"$work/searching"
    done
    hashing=$(median <"$work/hashing")
    bulk=$(median <"$work/bulk")
    searching=$(median <"$work/searching")
    rm -rf "$work/tree"
    row "dupes, 50,000 files; find | xargs -P2 -n64 sha256sum" "$searching" s "$hashing" "$(divided "$searching" "$hashing")" "$(at_most 3 "$searching" "$hashing")"
    row "the same; -n2000" "$searching" s "$bulk" "$(divided "$searching" "$bulk")" ""
}

