# The journal in PostgreSQL: an append beside a raw insert, receipts beside those of a journal in the data folder, and what a standby costs and how
# far it is behind. The server is started here, with its own settings for durability, beside the data folders of `clicks load`.
. Benchmarks/parts/receipts.sh
. Benchmarks/parts/idle.sh

# Of Debian's packages, or on the PATH.
server_programs() {
    local program
    program=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -1) || program=$(command -v initdb) || return 1
    dirname "$program"
}

# Sets $database, the process, and $database_folder, which has its sockets, too: their paths must be short.
start_server() {
    local programs settings owner=()
    programs=$(server_programs)
    database_folder=$(mktemp -d /tmp/samovar-bench-XXXXXX)
    # The server refuses to be root.
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$database_folder"
        owner=(setpriv --reuid postgres --regid postgres --clear-groups --)
    fi
    (cd "$database_folder" && "${owner[@]}" "$programs/initdb" -D data -E UTF8 --locale=C -A trust -U samovar) >"$work/initdb.txt" 2>&1 ||
        stop "no server: $(cat "$work/initdb.txt")"
    # In the place of the shell, so that the signal that ends it is for the server.
    (cd "$database_folder" && exec "${owner[@]}" "$programs/postgres" -D data -c listen_addresses= -c "unix_socket_directories=$database_folder") \
        >"$work/postgres.txt" 2>&1 </dev/null &
    database=$!
    for _ in $(seq 200); do
        if ask 'SELECT 1' >/dev/null 2>&1; then break; fi
        sleep 0.05
    done
    settings=$(ask "SELECT current_setting('fsync') || ' ' || current_setting('synchronous_commit')") || stop "no server: $(cat "$work/postgres.txt")"
    [ "$settings" = "on on" ] || stop "fsync and synchronous_commit are $settings"
}

ask() { psql -h "$database_folder" -U samovar -d postgres -AtXqc "$1"; }

# The address of a journal by its schema.
journal_at() { echo "postgresql://samovar@/postgres?host=$database_folder&schema=$1"; }

# A new journal, in $journal.
new_journal() {
    journals=$((journals + 1))
    journal=$(journal_at "j$journals")
    "$own/Clicks" journal init --journal "$journal" >"$work/init.txt" 2>&1 || stop "no journal: $(cat "$work/init.txt")"
}

drop_journal() { ask "DROP SCHEMA IF EXISTS j$journals CASCADE" 2>/dev/null; }

start_standby() {
    "$own/Clicks" store --standby --data "$work/standby" --journal "$journal" --log-level info >"$work/standby.txt" 2>&1 </dev/null &
    follower=$!
}

# It ends, and its log tells the lag.
end_standby() {
    kill "$follower"
    wait "$follower" || true
    follower=
    rm -rf "${work:?}/standby"
}

# A load test of a store that it starts, with a journal of its own or in $journal.
clicks() { "$own/Clicks" load --json --workers 0 --subscribers 0 "$@" >"$work/load.json" 2>"$work/load.log" </dev/null & up=$!; }

end_clicks() {
    wait "$up" || stop "Clicks load failed: $(tail -5 "$work/load.log")"
    up=
}

# Sets $rate.
saturated() {
    clicks --saturate --window 1024 --clients 4 --processes 2 --duration 4s "$@"
    end_clicks
    rate=$(loaded throughput | cut -d . -f 1)
}

append_rates() {
    local number=$1 size count
    for size in 1 16 64 256; do
        count=$((size < 64 ? 400 : 12800 / size * 2))
        timeout 120 "$own/Appends" "$(journal_at "a$size")" "$size" "$count" >"$work/appends.txt" || stop "Appends failed"
        figure fenced_per_second "$work/appends.txt" >>"$work/fenced.$size"
        figure raw_per_second "$work/appends.txt" >>"$work/raw.$size"
        ask "DROP SCHEMA a$size CASCADE" 2>/dev/null
        say "Round $number, $size KiB: $(tail -1 "$work/fenced.$size") appends/s beside $(tail -1 "$work/raw.$size") raw inserts/s"
    done
}

receipt_rates() {
    saturated
    echo "$rate" >>"$work/clicks.sqlite"
    new_journal
    saturated --journal "$journal"
    echo "$rate" >>"$work/clicks.alone"
    drop_journal
    new_journal
    start_standby
    saturated --journal "$journal"
    echo "$rate" >>"$work/clicks.followed"
    end_standby
    drop_journal
    say "Round $1: $(tail -1 "$work/clicks.sqlite") receipts/s on SQLite, $(tail -1 "$work/clicks.alone") on PostgreSQL, $rate with a standby"
}

# The end of the journal.
head_of() { ask "SELECT head FROM j$journals.partitions"; }

# Offers $offered inputs a second to a store, with a standby or without, and measures five seconds on the way. Sets $cost, the processor time of the
# store for each turn in microseconds, and with a standby $lag, its p99 in milliseconds. Fails if the store did not take what was offered.
offer() {
    local kind=$1 store followed ticks_before ticks_after head_before head_after turns
    new_journal
    if [ "$kind" = followed ]; then start_standby; fi
    clicks --rate "$offered" --clients 8 --processes 2 --duration 8s --journal "$journal"
    for _ in $(seq 200); do
        sleep 0.1
        if [ "$(head_of)" -gt "$offered" ]; then break; fi
    done
    store=$(store_of "$up")
    [ -n "$store" ] || stop "the load test has no store: $(cat "$work/load.log")"
    # Where a store that was behind has caught up and ended, the figures are of no use.
    ticks_before=$(ticks "$store" 2>/dev/null) head_before=$(head_of)
    sleep 5
    ticks_after=$(ticks "$store" 2>/dev/null) head_after=$(head_of)
    if [ "$kind" = followed ]; then
        # Before the store ends, so that it does not take over.
        end_standby
        lag=$(sed -nE 's/.* lag-p99=([0-9]+)ms .*/\1/p' "$work/standby.txt" | sort -n | tail -1 | grep .) ||
            stop "the standby has told no lag: $(cat "$work/standby.txt")"
        # What it has not read is in no lag.
        followed=$(sed -nE 's/.* lag-p99=.* turn=([0-9]+).*/\1/p' "$work/standby.txt" | tail -1)
        [ "$followed" -gt $((head_after - offered)) ] || stop "the standby has read $followed of $head_after turns"
    fi
    end_clicks
    drop_journal
    turns=$((head_after - head_before))
    if [ -z "$ticks_before" ] || [ -z "$ticks_after" ] || [ "$turns" -lt $((offered * 5 * 95 / 100)) ]; then
        say "Only $turns turns in 5 s of $offered inputs/s"
        return 1
    fi
    cost=$(calculate "($ticks_after - $ticks_before) / $(getconf CLK_TCK) / $turns * 1e6" 4)
}

# On a machine that others use, too, a store does not always get what it needs.
offer_repeatedly() {
    for _ in 1 2 3; do
        if offer "$1"; then return; fi
    done
    stop "the store did not take $offered inputs/s in three attempts"
}

part_postgresql() {
    local number kind journal journals=0 rate offered cost lag size
    if ! server_programs >/dev/null || ! command -v psql >/dev/null; then
        say "There is no PostgreSQL on this machine: left out"
        row "the journal in PostgreSQL" "not measured" "" "" "" "a server is needed"
        return
    fi
    benchmarks Appends Clicks
    start_server
    for number in $(seq "$rounds"); do append_rates "$number"; done
    for size in 16 64 256; do
        compare "fenced appends of $size KiB in PostgreSQL; raw inserts" /s least 0.75 "$work/fenced.$size" "$work/raw.$size" "$work/raw.$size"
    done
    compare "the same of 1 KiB" /s least "" "$work/fenced.1" "$work/raw.1" "$work/raw.1"
    for number in $(seq "$rounds"); do receipt_rates "$number"; done
    compare "receipts, 4 clients, journal in PostgreSQL; in SQLite" /s least 0.5 "$work/clicks.alone" "$work/clicks.sqlite"
    compare "the same with a standby; without" /s least "" "$work/clicks.followed" "$work/clicks.alone"
    offered=$(median <"$work/clicks.alone" | awk '{ print int($1 < 100000 ? $1 / 2 : 100000) }')
    say "Offering $offered inputs/s"
    for number in $(seq "$rounds"); do
        for kind in alone followed; do
            offer_repeatedly "$kind"
            echo "$cost" >>"$work/cost.$kind"
        done
        echo "$lag" >>"$work/lag"
        echo 250 >>"$work/lag.limit"
        say "Round $number: $(tail -1 "$work/cost.alone") µs a turn, $cost with a standby, which is $lag ms behind (p99)"
    done
    end_server
    compare "standby's lag, p99, at $offered turns/s; its limit" ms most 1 "$work/lag" "$work/lag.limit"
    compare "processor time of a turn with a standby; without" µs most 1.05 "$work/cost.followed" "$work/cost.alone"
}
