# Judges figures beside their yardstick. Each line is a round: figure, yardstick and, if there is one, floor, with tabs between them.
#
#   awk -v demand=least -v target=0.8 -f judge.awk     the figure shall be at least 0.8 of the yardstick, as a rate is
#   awk -v demand=most -v target=3 -f judge.awk        or at most three times as much, as a time is
#
# The floor is what a part of the same work takes with nothing around it, so no figure can be better. One that is, by more than a twentieth
# in every round, says that the two were not measured alike: it is not met but wrong. In a single round other processes may be the reason.
#
# Printed, with tabs: median, its spread, median of the yardstick, its spread, their ratio, the spread of the ratios of each round, verdict.
# The exit code is 1 if something is missing or no number above 0.
BEGIN { FS = OFS = "\t" }

function is_measured(text) { return text ~ /^[0-9.eE+]+$/ && text > 0 }

function median(values, count,    sorted, place, number) {
    for (number = 1; number <= count; number++) {
        for (place = number; place > 1 && sorted[place - 1] > values[number]; place--) sorted[place] = sorted[place - 1]
        sorted[place] = values[number]
    }
    return (sorted[int((count + 1) / 2)] + sorted[int(count / 2) + 1]) / 2
}

function shown(value) { return sprintf(value < 10 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value) }

function spread(values, count,    number, least, most) {
    least = most = values[1]
    for (number = 2; number <= count; number++) {
        if (values[number] < least) least = values[number]
        if (values[number] > most) most = values[number]
    }
    return shown(least) "–" shown(most)
}

!is_measured($1) || !is_measured($2) || (NF > 2 && !is_measured($3)) { failed = 1; exit 1 }

{
    figures[NR] = $1 + 0
    yardsticks[NR] = $2 + 0
    ratios[NR] = $1 / $2
    if (NF > 2) {
        floored++
        if (demand == "least" ? $1 > 1.05 * $3 : $1 < 0.95 * $3) beyond++
    }
}

END {
    if (failed || NR == 0 || (floored && floored != NR)) exit 1
    figure = median(figures, NR)
    yardstick = median(yardsticks, NR)
    ratio = figure / yardstick
    if (beyond == NR) outcome = "cannot be"
    else if (target != "") outcome = (demand == "least" ? ratio >= target : ratio <= target) ? "met" : "missed"
    verdict = target == "" ? outcome : "at " demand " " target " ×, " outcome
    print shown(figure), spread(figures, NR), shown(yardstick), spread(yardsticks, NR), sprintf("%.2f", ratio), spread(ratios, NR), verdict
}
