# What a store costs while nobody sends anything.

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

# Of all its threads, those included that have ended meanwhile, in a hundredth of a second.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

memory() { awk -v name="$2:" '$1 == name { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }

part_idle() {
    local idle_cpu idle_memory idle_own
    programs counter
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
    idle_cpu=$(calculate "$((after - before)) / $(getconf CLK_TCK) / 10 * 100")
    idle_memory=$(memory "$store" VmRSS) idle_own=$(memory "$store" RssAnon)
    kill "$up"
    wait "$up" || true
    up=
    row "idle store: processor time, of one core" "$idle_cpu" % "" "" "$(verdict 'under 0.5' "$idle_cpu < 0.5")"
    row "idle store: resident memory" "$idle_memory" MiB "" "" "$(verdict 'under 30' "$idle_memory < 30")"
    row "of that, what is not mapped from files" "$idle_own" MiB "" "" ""
}

