# What the page costs a store: while nobody looks, with ten tabs, and while its explorer indexes ten million turns. Only the process of the store is
# counted, which is what others wait for.
. Benchmarks/parts/receipts.sh
. Benchmarks/parts/idle.sh
. Benchmarks/parts/past.sh

# Processor time of all threads of a process so far, those included that have ended, in seconds.
processor_time() { calculate "$(ticks "$1") / $(getconf CLK_TCK)" 2; }

# Sets $cost, in a hundredth of one core, of the store over some seconds.
share_of() {
    local store=$1 seconds=$2 before begin
    before=$(processor_time "$store") begin=$EPOCHREALTIME
    sleep "$seconds"
    cost=$(calculate "($(processor_time "$store") - $before) / $(since "$begin") * 100" 3)
}

# The page's server of a data folder, in $page, and its address in $address.
start_page() {
    "$bin/tally" web --port 0 --data "$1" >"$work/web.txt" 2>&1 </dev/null &
    page=$!
    for _ in $(seq 100); do
        address=$(grep -oE 'http://127[^ ]+' "$work/web.txt") && return
        sleep 0.1
    done
    stop "no page: $(cat "$work/web.txt")"
}

end_page() { kill "$page" && wait "$page" || true; }

# Starts a command in the background that reads what is written to $feed, in $fed; what it prints is in a file.
feed_to() {
    local printed=$1
    shift
    rm -f "$work/feed"
    mkfifo "$work/feed"
    "$@" <"$work/feed" >"$printed" 2>&1 &
    fed=$!
    exec {feed}>"$work/feed"
}

# It has nothing more to read, and ends.
end_feed() {
    exec {feed}>&-
    wait "$fed" || stop "$1 has failed: $(tail -1 "$2")"
}

# Waits until a command has printed a line.
printed() {
    for _ in $(seq 100); do
        grep -q "$1" "$2" && return
        sleep 0.1
    done
    stop "no $1: $(tail -1 "$2")"
}

# The store at a fixed load, alternately without a page, with one that nobody looks at, and with ten tabs. The load is low: what 1,000 inputs a
# second cost varies by more than the bound from one minute to the next.
page_at_rest() {
    local data=$work/page store load bytes number seconds=${PAGE_SECONDS:-20} rate=${PAGE_RATE:-200}
    start_tally
    store=$(store_of "$up")
    "$bin/tally" load --json --data "$data" --rate "$rate" --clients 4 --subscribers 0 --duration "$((rounds * (seconds + 2) * 3 + 30))s" \
        --input '{"count":{"name":"load","by":1}}' >"$work/load.json" 2>"$work/load.log" </dev/null &
    load=$!
    sleep 3
    for number in $(seq "$rounds"); do
        share_of "$store" "$seconds"
        echo "$cost" >>"$work/page.none"
        start_page "$data"
        sleep 1
        share_of "$store" "$seconds"
        echo "$cost" >>"$work/page.idle"
        feed_to "$work/tabs.txt" Benchmarks/tabs.py "$address" 10
        printed open "$work/tabs.txt"
        share_of "$store" "$seconds"
        echo "$cost" >>"$work/page.tabs"
        end_feed "tabs.py" "$work/tabs.txt"
        bytes=$(figure received_bytes "$work/tabs.txt")
        [ "$bytes" -gt $((seconds * 10 * 100)) ] || stop "ten tabs have received $bytes bytes in $seconds s"
        end_page
        say "Round $number: of the store $(tail -1 "$work/page.none") % of a core, with a page $(tail -1 "$work/page.idle"), with ten tabs $cost"
    done
    kill "$load" && wait "$load" || true
    kill "$up" && wait "$up" || true
    up=
    added "a page that nobody looks at: of the store's process, $rate inputs/s" "$work/page.idle" 0.5
    added "a page with ten tabs: of the store's process, $rate inputs/s" "$work/page.tabs" 2
}

# A row of what a file has more than page.none, the median over the rounds.
added() {
    local figure
    paste "$2" "$work/page.none" | awk '{ print $1 - $2 }' >"$work/page.more"
    figure=$(median <"$work/page.more")
    printf '%s\t%.2f\t%s\t%%\t%.2f\t%s\t\t\t%s\n' "$1" "$figure" "$(spread "$work/page.more")" "$(median <"$work/page.none")" \
        "$(spread "$work/page.none")" "$(verdict "at most $3" "$figure <= $3")" >>"$work/table"
}

# From the least to the most of a file.
spread() { sort -n "$1" | awk 'NR == 1 { least = $1 } END { printf "%.2f–%.2f", least, $1 }'; }

# A load of half of what the store can do, for a while; sets $cost, the store's processor time for a turn in microseconds, $late, the p99.9 of
# receipts, and $burnt, the share of a processor that another process took meanwhile, if one is named.
half_load() {
    local load turns before head other=${1:-} took
    "$bin/tally" load --json --data "$data" --rate "$half" --clients 8 --processes 2 --subscribers 0 --duration 7s \
        --input '{"count":{"name":"load","by":1}}' >"$work/load.json" 2>"$work/load.log" </dev/null &
    load=$!
    sleep 2
    before=$(processor_time "$store") head=$(past_head "$data")
    if [ -n "$other" ]; then took=$(processor_time "$other"); fi
    sleep 4
    if [ -n "$other" ]; then burnt=$(calculate "($(processor_time "$other") - $took) / 4" 4); fi
    before=$(calculate "$(processor_time "$store") - $before") turns=$(($(past_head "$data") - head))
    wait "$load" || stop "no load: $(tail -3 "$work/load.log")"
    [ "$turns" -gt $((half * 36 / 10)) ] || say "Only $turns turns in 4 s of $half/s"
    cost=$(calculate "$before / $turns * 1e6" 4)
    late=$(loaded applied p99.9)
}

# Alternately alone, while the explorer indexes, and beside a process of idle priority that burns as much as the explorer.
page_that_indexes() {
    local data=$work/past store burner burnt number half
    long_past
    store=$(store_of "$up")
    load_tally 4s
    half=$(calculate "$(loaded throughput) / 2" 0)
    say "Half of the full load are $half inputs/s"
    for number in $(seq "$rounds"); do
        half_load
        echo "$cost" >>"$work/indexing.none"
        mkdir "$work/explore"
        feed_to "$work/explorer.txt" "$bin/tally" explore --data "$data" --folder "$work/explore"
        echo '{"path":"/api/v1/turns","query":{"count":"100"}}' >&"$feed"
        half_load "$fed"
        echo "$cost" >>"$work/indexing.cost"
        echo "$late" >>"$work/indexing.late"
        echo '{"path":"/api/v1/density"}' >&"$feed"
        printed '"isWhole":false' "$work/explorer.txt"
        end_feed "the explorer" "$work/explorer.txt"
        rm -rf "$work/explore"
        chrt --idle 0 Benchmarks/burn.py "$burnt" &
        burner=$!
        half_load
        echo "$late" >>"$work/burning.late"
        kill "$burner" && wait "$burner" || true
        say "Round $number: $(tail -1 "$work/indexing.none") µs a turn, while indexing $(tail -1 "$work/indexing.cost"); p99.9 $(tail -1 "$work/indexing.late") µs, beside a burner of $burnt $late"
    done
    kill "$up" && wait "$up" || true
    up=
    compare "the store's processor time for a turn, while the explorer indexes; without" µs most 1.03 "$work/indexing.cost" "$work/indexing.none"
    compare "receipts' p99.9 at half of the full load, while it indexes; a burner of idle priority" µs most 2 "$work/indexing.late" "$work/burning.late"
}

part_page() {
    programs tally
    page_at_rest
    page_that_indexes
}
