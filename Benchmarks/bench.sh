#!/usr/bin/env bash
# The figures of docs/performance.md, beside their yardsticks: `make bench`. Takes a quarter of an hour and more after the build.
#
#   PARTS="round-trips idle"   measures these alone, see Benchmarks/parts
#   ROUNDS=3     how often each of the two sides is measured, in turn
#   BIN=FOLDER   takes the programs of the package from there instead of building them
#   OWN=FOLDER   likewise those of Benchmarks
#   TMPDIR       where journals and 50,000 files go, 600 MB
#
# A target that is missed is printed as missed. The exit code is 1 if something could not be measured, or did nothing, or is better than the
# yardstick allows, see Benchmarks/judge.awk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C

all="round-trips receipts curve latency fan-out crowd replay sizes idle turns search postgresql past page"
rounds=${ROUNDS:-3}
work=$(mktemp -d)
bin=${BIN:-} own=${OWN:-}
up=
follower=
database= database_folder=
# Fast: it waits for nobody that is connected.
end_server() {
    if [ -n "$database" ]; then kill -INT "$database" && wait "$database" || true; fi
    if [ -n "$database_folder" ]; then rm -rf "$database_folder"; fi
    database= database_folder=
}
finish() {
    local process
    for process in $up $follower $(jobs -p | grep -vx "${database:-none}"); do
        kill "$process" 2>/dev/null && wait "$process" 2>/dev/null
    done
    end_server
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
export SAMOVAR_RUNTIME_DIR=$work/run

say() { echo "$*" >&2; }

# What was measured until then is shown.
stop() {
    say "$*"
    if [ -s "$work/table" ] && [ "$BASHPID" = $$ ]; then show; fi
    exit 1
}

# Seconds since an instant of $EPOCHREALTIME.
since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.3f", to - from }'; }

median() { sort -n | awk '{ all[NR] = $1 } END { if (!NR) exit 1; print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'; }

calculate() { awk "BEGIN { printf \"%.${2:-2}f\", $1 }"; }

# A name and a number on each line of a file; the last one counts.
figure() {
    awk -v name="$1" '$1 == name { value = $2 } END { if (value == "") exit 1; print value }' "$2" || stop "there is no $1 in what was printed: $(cat "$2")"
}

# One folder for both packages, so that what they have in common is built once, and apart from that of `make run`. Each of them plans its
# build anew: the plan that lies there may be the other's.
building=(-c release --scratch-path .build-bench --disable-build-manifest-caching ${JOBS:+-j "$JOBS"})

programs() {
    local product
    if [ -n "${BIN:-}" ]; then return; fi
    for product in "$@"; do
        swift build "${building[@]}" --product "$product" >&2
    done
    bin=$(swift build "${building[@]}" --show-bin-path)
}

benchmarks() {
    local product
    if [ -n "${OWN:-}" ]; then return; fi
    for product in "$@"; do
        swift build --package-path Benchmarks "${building[@]}" --product "$product" >&2
    done
    own=$(swift build --package-path Benchmarks "${building[@]}" --show-bin-path)
}

# The yardsticks in C.
yardstick() {
    [ -x "$work/$1" ] && return
    # shellcheck disable=SC2046
    cc -O2 -o "$work/$1" "Benchmarks/echo/$1.c" $(pkg-config --cflags --libs libzmq)
}

# Sets echo_rate and echo_latency, and appends them to the samples of a part. With `paced`, the file has more.
measure_echo() {
    yardstick echo
    TMPDIR=$work "$work/echo" ipc 1.5 "${2:-}" >"$work/echo.txt"
    echo_rate=$(figure round_trips_per_second "$work/echo.txt")
    echo_latency=$(figure latency_microseconds "$work/echo.txt")
    echo "$echo_rate" >>"$work/$1.echo"
    echo "$echo_latency" >>"$work/$1.hop"
}

divided() { awk -v a="$1" -v b="$2" 'BEGIN { if (b <= 0) exit 1; printf "%.2f", a / b }'; }

verdict() { awk "BEGIN { print \"$1\" (($2) ? \", met\" : \", missed\") }"; }

# A row of one figure: what, how much, unit, yardstick, ratio, target.
row() { printf '%s\t%s\t\t%s\t%s\t\t%s\t\t%s\n' "$@" >>"$work/table"; }

# A row of files that have a figure, its yardstick and, if there is one, its floor for each round: what, unit, least or most, target, files.
compare() {
    local what=$1 unit=$2 demand=$3 target=$4 judged
    shift 4
    judged=$(paste "$@" | awk -v demand="$demand" -v target="$target" -f Benchmarks/judge.awk) || stop "not measured in each round: $what"
    awk -F '\t' -v OFS='\t' -v what="$what" -v unit="$unit" '{ print what, $1, $2, unit, $3, $4, $5, $6, $7 }' <<<"$judged" >>"$work/table"
}

# The rows as Markdown, as they stand in docs/performance.md.
show() {
    awk -F '\t' '
        { gsub(/[|]/, "\\|", $1); printf "| %-66s | %10s | %17s | %-5s | %10s | %17s | %6s | %9s | %-28s |\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 }
        NR == 1 { print "|---|--:|--:|---|--:|--:|--:|--:|---|" }
    ' "$work/table"
}

parts=${PARTS:-$all}
for part in $parts; do
    case " $all " in
        *" $part "*) ;;
        *)
            say "There is no part $part; there are: $all"
            exit 64
            ;;
    esac
    # shellcheck source=/dev/null
    . "Benchmarks/parts/$part.sh"
done
printf '%s\t' measured figure spread unit yardstick spread ratio spread >"$work/table"
echo target >>"$work/table"
for part in $parts; do
    # The load beside each part: what other processes of the machine took away.
    say "== $part, load $(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo unknown)"
    "part_${part//-/_}"
done
echo
echo "$(getconf _NPROCESSORS_ONLN) processors, median of $rounds rounds, spread from the least to the most of them, load at the end: $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null || echo unknown)"
show
missed=$(grep -c ', missed' "$work/table" || true)
if [ "$missed" -gt 0 ]; then echo "Targets missed: $missed"; fi
if grep -q 'cannot be$' "$work/table"; then
    echo "What cannot be was not measured as its yardstick was."
    exit 1
fi
