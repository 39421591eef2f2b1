# Receipts of inputs that are on disk, for four processes that each keep a window full.

# A load test, whose result is in $work/load.json. It judges itself: exit code 70 if an input was lost, twice or out of order.
load() {
    timeout 120 "$bin/counter" load --json --workers 0 "$@" >"$work/load.json" 2>"$work/load.log" || {
        tail -5 "$work/load.log" >&2
        stop "counter load $* failed"
    }
}

# The number after a name in the result, in the object after another name if two are given.
loaded() {
    local pattern=".*\"$1\":"
    [ $# = 1 ] || pattern=".*\"$1\":[{][^}]*\"$2\":"
    sed -nE "s/$pattern(-?[0-9.eE+]+)[],}].*/\1/p" "$work/load.json" | grep . || stop "there is no $* in the result of load"
}

part_receipts() {
    local number
    programs counter
    for number in $(seq "$rounds"); do
        measure_echo receipts
        load --saturate --window 1024 --clients 4 --processes 4 --subscribers 0 --duration 3s
        say "Round $number: $(loaded throughput | cut -d . -f 1) receipts/s beside an echo of $echo_rate/s"
        loaded throughput >>"$work/receipts"
    done
    compare "receipts of durable inputs, 4 client processes; raw echo" /s least 0.5 "$work/receipts" "$work/receipts.echo"
}
