#!/usr/bin/env bash
# What depends on the journal, for docs/performance.md and docs/decisions.md: recovery, snapshots, pages. Takes some minutes after the build.
#
#   TURNS=1000000   the length of the journal that is recovered
#   TMPDIR          where it goes, 300 MB
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift build -c release --product JournalBenchmark ${JOBS:+-j "$JOBS"} >&2
bench=$(swift build -c release --show-bin-path)/JournalBenchmark
"$bench" recovery "${TURNS:-1000000}"
"$bench" snapshots
Benchmarks/page-size.py "${TMPDIR:-/tmp}"
