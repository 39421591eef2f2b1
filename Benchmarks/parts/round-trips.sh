# Durable effect round trips: an effect, a job in another process, and the turn that applies its answer.

round_trip() {
    local name=$1 types=$2 total=$3 output=$work/round-trip.txt
    ROUND_TRIP_TYPES=$types timeout 120 "$own/RoundTrip" up --until-idle --workers 1 --data "$work/round-trip" --log-level error \
        --seed "{\"open\":4096,\"total\":$total}" >"$output" 2>"$work/round-trip.log" || stop "RoundTrip failed: $(cat "$work/round-trip.log")"
    rm -rf "$work/round-trip"
    # The last of its views, which is printed in four lines.
    [ "$(figure answered "$output")" = "$total" ] || stop "only $(figure answered "$output") of $total $types round trips"
    lost=$((lost + $(figure missing "$output")))
    twice=$((twice + $(figure twice "$output")))
    rate=$(awk -v total="$total" -v time="$(figure microseconds "$output")" 'BEGIN { if (time <= 0) exit 1; printf "%.0f", total / time * 1e6 }')
    say "$name: $rate/s beside an echo of $echo_rate/s"
    echo "$rate" >>"$work/$types"
}

part_round_trips() {
    local number lost=0 twice=0 rate
    benchmarks RoundTrip
    for number in $(seq "$rounds"); do
        measure_echo round-trips
        round_trip "Round $number, packable types" packable "${ROUND_TRIPS:-600000}"
        round_trip "Round $number, generated code" generated "${ROUND_TRIPS:-600000}"
        round_trip "Round $number, plain types" plain "$((${ROUND_TRIPS:-600000} / 2))"
    done
    compare "durable effect round trips; raw echo, 256 under way" /s least 0.5 "$work/packable" "$work/round-trips.echo"
    compare "the same with generated code; packable types" /s least 0.95 "$work/generated" "$work/packable"
    compare "the same with plain Codable types; raw echo" /s least 0.15 "$work/plain" "$work/round-trips.echo"
    row "effects whose answer is missing, or was applied twice" "$lost, $twice" "" "" "" "$(verdict none "$lost == 0 && $twice == 0")"
}
