# The past of a journal of ten million turns, beside the store that runs on it: rows and states of the page's explorer, `journal list`, `why`, `bisect`
# and `trace`, the start of their processes included.

# The turn of the store in a data folder.
past_head() { "$bin/tally" status --json --data "$1" | sed -nE 's/.*"turn":([0-9]+).*/\1/p'; }

# Seconds that a command takes, into $took.
timed() {
    local begin=$EPOCHREALTIME
    "$@" >"$work/timed.txt" 2>&1 || stop "$*: $(tail -3 "$work/timed.txt")"
    took=$(since "$begin")
}

# A store of the example Tally on $data, in $up.
start_tally() {
    "$bin/tally" up --workers 0 --data "$data" >"$work/tally.txt" 2>&1 </dev/null &
    up=$!
    for _ in $(seq 100); do
        grep -q serving "$work/tally.txt" && break
        sleep 0.1
    done
    # What changes at the beginning only, and what changes all the time.
    counted old
    send_tally '{"add":{"name":"load"}}'
}

send_tally() { printf '%s\n' "$@" | "$bin/tally" send --data "$data" - >"$work/sent.txt" 2>&1 || stop "no input: $(cat "$work/sent.txt")"; }

# Something new that is counted in one turn, and never again.
counted() { send_tally "{\"add\":{\"name\":\"$1\"}}" "{\"count\":{\"name\":\"$1\",\"by\":3}}"; }

# Turns of a load, for a while.
load_tally() {
    "$bin/tally" load --json --data "$data" --saturate --window 1024 --clients 4 --processes 2 --subscribers 0 --duration "$1" \
        --input '{"count":{"name":"load","by":1}}' >"$work/load.json" 2>"$work/load.log" || stop "no load: $(tail -3 "$work/load.log")"
}

# A store that has so many turns behind it, and rests.
long_past() {
    local head=0
    start_tally "$data"
    while [ "$head" -lt "${PAST_TURNS:-10000000}" ]; do
        load_tally 4s
        head=$(past_head "$data")
        say "$head turns"
    done
}

part_past() {
    local data=$work/past head took median_rows rate newest
    programs tally
    long_past
    head=$(past_head "$data")
    for _ in 1 2 3 4 5; do
        timed "$bin/tally" journal list --data "$data" --last 100
        echo "$took" >>"$work/past.rows"
    done
    median_rows=$(median <"$work/past.rows")
    row "the newest 100 rows of $head turns, \`journal list\`" "$(calculate "$median_rows * 1000" 0)" ms "" "" "$(verdict 'at most 300' "$median_rows <= 0.3")"
    counted newest
    newest=$(past_head "$data")
    timed "$bin/tally" why --data "$data" state.counts.newest
    row "\`why\`, of the last turn" "$(calculate "$took * 1000" 0)" ms "" "" "$(verdict 'at most 500' "$took <= 0.5")"
    while [ $(($(past_head "$data") - newest)) -lt 50000 ]; do load_tally 100ms; done
    timed "$bin/tally" why --data "$data" state.counts.newest
    row "\`why\`, of $(($(past_head "$data") - newest)) turns before" "$(calculate "$took * 1000" 0)" ms "" "" "$(verdict 'at most 500' "$took <= 0.5")"
    timed "$bin/tally" why --data "$data" state.counts.old
    row "\`why\`, of the first turns" "$took" s "" "" "$(verdict 'at most 30' "$took <= 30")"
    local begin=$EPOCHREALTIME
    "$bin/tally" bisect --data "$data" 'no count is negative' >"$work/timed.txt" 2>&1 || true
    took=$(since "$begin")
    grep -q 'none of the turns' "$work/timed.txt" || stop "bisect: $(cat "$work/timed.txt")"
    rate=$(calculate "$head / $took" 0)
    row "\`bisect\`, by an invariant" "$rate" /s "" "" "$(verdict 'at least 500,000' "$rate >= 500000")"
    local traced=$((head < 2000000 ? head : 2000000))
    begin=$EPOCHREALTIME
    "$bin/tally" trace --data "$data" --to "$traced" 2>"$work/timed.txt" | wc -c >"$work/trace.bytes" || stop "trace: $(cat "$work/timed.txt")"
    rate=$(calculate "$traced / $(since "$begin")" 0)
    row "\`trace\`" "$rate" /s "" "" "$(verdict 'at least 100,000' "$rate >= 100000")"
    Benchmarks/explorer.py "$bin/tally" "$data" >"$work/explorer.txt" || stop "no explorer"
    rate=$(figure first_rows_milliseconds "$work/explorer.txt")
    row "the explorer's first 100 rows, without an index" "$rate" ms "" "" "$(verdict 'at most 300' "$rate <= 300")"
    row "turns that it indexes" "$(figure indexed_turns_per_second "$work/explorer.txt")" /s "" "" ""
    rate=$(figure state_p95_milliseconds "$work/explorer.txt")
    row "the state of any turn, p95" "$rate" ms "" "" "$(verdict 'at most 400' "$rate <= 400")"
    rate=$(figure resident_mebibytes "$work/explorer.txt")
    row "the explorer's memory at its most" "$rate" MiB "" "" "$(verdict 'at most 150' "$rate <= 150")"
    kill "$up" && wait "$up" || true
    up=
}
