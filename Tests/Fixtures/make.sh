#!/usr/bin/env bash
# Makes a fixture: the data folder of a store that has lived a little, packed. Run it from the root of a checkout of the build
# whose journals are to be kept, after `swift build --build-tests`, and give it another name with each new format:
#
#   Tests/Fixtures/make.sh counter counter-1      must pass `counter verify` with every later build
#   Tests/Fixtures/make.sh fickle fickle-1        must fail `FickleProgram verify`: each process orders something else
set -euo pipefail
fixtures=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BUILD:-.build/debug}
folder=$(mktemp -d /tmp/samovar-fixture-XXXXXX)
trap 'rm -rf "$folder"' EXIT
export SAMOVAR_RUNTIME_DIR="$folder/run" SAMOVAR_LOG_LEVEL=error
data="$folder/data"

# Begins a store and waits until it serves: `begin up --workers 1`.
begin() {
    "$program" "$@" --data "$data" >/dev/null &
    running=$!
    until "$program" status --data "$data" >/dev/null 2>&1; do sleep 0.1; done
}
send() { "$program" send "$@" --data "$data" >/dev/null || true; }
end() {
    kill "$1" "$running"
    wait "$running" || true
}

case "$1" in
    counter)
        program="$build/counter"
        begin up --workers 1
        printf '{"increment":{}}\n%.0s' {1..20} | send -
        send incrementAsync --wait settled
        send '{"nonsense":{}}'
        # Killed with a job under way and an input refused for it.
        send incrementAsync
        send incrementAsync
        kill -KILL "$(pgrep -P "$running" -f "counter store")"
        send decrement
        send incrementAsync --wait settled
        end -INT
        # A job that nobody does, dropped by an operator, and one that stays open.
        begin up --workers 0
        send incrementAsync
        effect=$("$program" effects --data "$data" --json | grep -o '"[0-9]*/0"' | tr -d '"' | head -n 1 || true)
        if [ -n "$effect" ]; then "$program" effects --data "$data" --drop "$effect" >/dev/null; fi
        send increment
        end -INT
        ;;
    fickle)
        program="$build/FickleProgram"
        begin store
        send '{"add":{"names":["Ada","Alan","Barbara","Donald","Edsger","Frances","Grace","John","Kathleen","Niklaus","Robin","Tony"]}}'
        send visit
        send greet
        end -KILL
        ;;
esac
sleep 0.5
rm -f "$data/lock"
tar -C "$data" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - . | gzip -9n >"$fixtures/$2.tar.gz"
ls -l "$fixtures/$2.tar.gz"
