#!/usr/bin/env bash
# The figures of docs/performance.md, beside their yardsticks: `make bench`. Takes about two minutes after the build.
#
#   ROUNDS=3    how often each search is measured
#   BIN=FOLDER  takes the programs from there instead of building them
#   TURNS=FILE  likewise the program that measures turns
#   TMPDIR      where the 50,000 files go, 230 MB
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C

rounds=${ROUNDS:-3}
work=$(mktemp -d)
up=
finish() {
    if [ -n "$up" ]; then kill "$up" 2>/dev/null && wait "$up" 2>/dev/null; fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
export SAMOVAR_RUNTIME_DIR=$work/run

say() { echo "$*" >&2; }

# Seconds since an instant of $EPOCHREALTIME.
since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.3f", to - from }'; }

median() { sort -n | awk '{ all[NR] = $1 } END { print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'; }

build() {
    say "Building in release"
    for product in dupes counter; do
        swift build -c release --product "$product" ${JOBS:+-j "$JOBS"} >&2
    done
    bin=$(swift build -c release --show-bin-path)
}

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

compare() {
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
    hashing_seconds=$(median <"$work/hashing")
    bulk_seconds=$(median <"$work/bulk")
    searching_seconds=$(median <"$work/searching")
}

# The store that was started by a process.
store_of() {
    local stat arguments
    for stat in /proc/[0-9]*/stat; do
        # What follows the name, which may hold anything, begins with the state and the parent.
        [ "$(sed 's/.*) //' "$stat" 2>/dev/null | cut -d ' ' -f 2)" = "$1" ] || continue
        mapfile -d '' -t arguments <"${stat%stat}cmdline" || continue
        if [ "${arguments[1]:-}" = store ]; then basename "${stat%/stat}"; fi
    done
}

ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

measure_idle() {
    idle_cpu='' idle_memory=''
    [ -d /proc/self ] || return 0
    say "Watching an idle counter for 10 s"
    "$bin/counter" up --workers 1 --data "$work/counter" --log-level error >"$work/counter.txt" 2>&1 </dev/null &
    up=$!
    sleep 3
    local store before after
    store=$(store_of "$up")
    if [ -z "$store" ]; then
        say "counter up has no store:"
        cat "$work/counter.txt" >&2
        return 1
    fi
    before=$(ticks "$store")
    sleep 10
    after=$(ticks "$store")
    idle_cpu=$(awk -v used=$((after - before)) -v hertz="$(getconf CLK_TCK)" 'BEGIN { printf "%.2f", used / hertz / 10 * 100 }')
    idle_memory=$(awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$store/status")
    kill "$up"
    wait "$up" || true
    up=
}

measure_echo() {
    say "Measuring a bare ZeroMQ echo"
    # shellcheck disable=SC2046
    cc -O2 -o "$work/echo" Benchmarks/echo/echo.c $(pkg-config --cflags --libs libzmq)
    TMPDIR=$work "$work/echo" ipc >"$work/echo.txt"
    echo_rate=$(awk '/^round_trips/ { print $2 }' "$work/echo.txt")
    echo_latency=$(awk '/^latency/ { print $2 }' "$work/echo.txt")
}

measure_turns() {
    say "Measuring turns in one process"
    local turns=${TURNS:-}
    if [ -z "$turns" ]; then
        swift build --package-path Benchmarks -c release --product Turns ${JOBS:+-j "$JOBS"} >&2
        turns=$(swift build --package-path Benchmarks -c release --show-bin-path)/Turns
    fi
    "$turns" >"$work/turns.txt"
    if [ "$(turn_figure allocations_of_control)" != 1000 ]; then
        say "Allocations are not counted on this system: $(turn_figure allocations_of_control) of 1,000"
    fi
}

turn_figure() { awk -v name="$1" '$1 == name { print $2 }' "$work/turns.txt"; }

row() { printf '%-58s %12s %-8s %s\n' "$@"; }

verdict() { awk -v value="$1" -v limit="$2" -v text="$3" 'BEGIN { print text (value <= limit ? ", met" : ", missed") }'; }

bin=${BIN:-}
[ -n "$bin" ] || build
make_tree
compare
measure_idle
measure_echo
measure_turns

divided() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

ratio=$(divided "$searching_seconds" "$hashing_seconds")
echo
row "measured ($(getconf _NPROCESSORS_ONLN) processors)" figure unit target
row "find | xargs -P2 -n64 sha256sum, 50,000 files, warm cache" "$hashing_seconds" s ""
row "find | xargs -P2 -n2000 sha256sum, the same files" "$bulk_seconds" s ""
row "dupes up --until-idle --workers 2, the same files" "$searching_seconds" s ""
row "dupes in relation to -n64" "$ratio" times "$(verdict "$ratio" 3 'at most 3')"
row "dupes in relation to -n2000" "$(divided "$searching_seconds" "$bulk_seconds")" times ""
if [ -n "$idle_cpu" ]; then
    row "idle store: processor time" "$idle_cpu" % "$(verdict "$idle_cpu" 0.99 'under 1')"
    row "idle store: resident memory" "$idle_memory" MiB "$(verdict "$idle_memory" 39.9 'under 40')"
fi
row "bare ZeroMQ echo, ROUTER and DEALER, ipc, 256 under way" "$echo_rate" "/s" ""
row "bare ZeroMQ echo, one under way, median" "$echo_latency" µs ""
row "turn of a counter in Elementary's store" "$(turn_figure elementary_ns)" ns ""
row "turn of a counter in a LocalStore" "$(turn_figure local_store_ns)" ns "$(verdict "$(turn_figure local_store_ns)" 9.99 'under 10')"
row "the same with an update that is not inlined" "$(turn_figure local_store_update_not_inlined_ns)" ns "$(verdict "$(turn_figure local_store_update_not_inlined_ns)" 9.99 'under 10')"
row "LocalStore in relation to Elementary" "$(turn_figure ratio)" times "$(verdict "$(turn_figure ratio)" 0.99 'under 1')"
row "allocations of 1,000 turns in a LocalStore" "$(turn_figure allocations)" "" "$(verdict "$(turn_figure allocations)" 0 'none')"
