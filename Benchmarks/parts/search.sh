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

# With so many files for each process of a program.
measure_hashing() {
    local start=$EPOCHREALTIME
    find "$work/tree" -type f -print0 | xargs -0 -P2 -n"$1" "$2" >/dev/null
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
    # The same code for the digest as the program's, and hardly a process started.
    cc -O2 -o "$work/hash" Benchmarks/echo/hash.c $(pkg-config --cflags --libs libcrypto)
    make_tree
    local number hashing bulk searching
    for number in $(seq "$rounds"); do
        hashing=$(measure_hashing 64 sha256sum)
        bulk=$(measure_hashing 2000 "$work/hash")
        searching=$(measure_search "$number")
        say "Round $number: find and sha256sum $hashing s, libcrypto with 2,000 files each $bulk s, dupes $searching s"
        echo "$hashing" >>"$work/hashing"
        echo "$bulk" >>"$work/bulk"
        echo "$searching" >>"$work/searching"
    done
    rm -rf "$work/tree"
    compare "dupes, 50,000 files; find | xargs -P2 -n64 sha256sum" s most 3 "$work/searching" "$work/hashing"
    compare "the same; libcrypto, -n2000" s most "" "$work/searching" "$work/bulk" "$work/bulk"
}
