# What 10,000 clients cost that have sent one input each and stay, beside a bare ROUTER with as many peers.
. Benchmarks/parts/receipts.sh

resident() { sed -nE 's/.*"name":"store"[^}]*"highestResidentBytes":([0-9]+).*/\1/p' "$work/load.json" | grep .; }

part_crowd() {
    local few highest
    programs counter
    yardstick crowd
    ulimit -n "$(ulimit -Hn)"
    if [ "$(ulimit -n)" -lt 20000 ]; then
        say "10,000 clients need 20,000 descriptors, here are $(ulimit -n): left out"
        row "10,000 clients: memory of the store" "not measured" "" "" "" "20,000 descriptors are needed"
        return
    fi
    timeout 90 "$work/crowd" "ipc://$work/crowd.sock" 10000 >"$work/crowd.txt" || stop "the ROUTER could not hold 10,000 peers"
    figure kib_per_peer "$work/crowd.txt" >"$work/peer.kib"
    load --rate 1000 --clients 10 --processes 10 --subscribers 0 --duration 10s
    few=$(resident)
    # These have no connection for views.
    if ! (SAMOVAR_STORE_CLIENTS=10000 load --rate 1000 --clients 10000 --processes 10 --subscribers 0 --duration 10s); then
        row "10,000 clients: memory of the store" "" MiB "" "" "under 1,024, missed: they could not all be served"
        return
    fi
    [ "$(loaded inputs applied)" -ge 10000 ] || stop "only $(loaded inputs applied) of 10,000 clients were heard"
    highest=$(resident)
    say "The store had $((few >> 20)) MiB with 10 clients and $((highest >> 20)) MiB with 10,000"
    echo "$(calculate "($highest - $few) / 1024 / 9990")" >"$work/client.kib"
    row "10,000 clients: memory of the store" "$((highest >> 20))" MiB "" "" "$(verdict 'under 1,024' "$highest < 1073741824")"
    compare "10,000 clients: memory of each; peer of a raw ROUTER" KiB most "" "$work/client.kib" "$work/peer.kib" "$work/peer.kib"
}
