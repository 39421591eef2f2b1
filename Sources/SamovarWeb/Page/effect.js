// One effect: what the store knows of it, and its attempts. Whatever comes from a store is shown as text.

/** The name of the effect in an address such as `#effects/17/0`; null if there is none. */
export function effectInAddress(hash) {
  return hash.match(/^#effects\/(\d+\/\d+)$/)?.[1] ?? null;
}

const columns = ["attempt", "worker", "handedOut", "startedBy", "ended", "seconds", "how"];

/** @param tools what draws elements in places: `place`, `setText`, `cut`, `drawValue`. */
export function drawEffect(main, answer, tools) {
  const state = answer.state === "unknown" ? "closed, or never ordered" : answer.state;
  tools.setText(tools.place(main, 0, "h2"), `Effect ${answer.effect}: ${state}`);
  const back = tools.place(main, 1, "a");
  back.href = "#effects";
  tools.setText(back, "all effects");
  const facts = tools.place(main, 2, "section", "facts");
  tools.setText(tools.place(facts, 0, "h3"), "What it is");
  tools.drawValue(facts, 1, answer.open ?? answer.dead ?? { effect: answer.effect });
  tools.cut(facts, 2);
  drawAttempts(tools.place(main, 3, "section", "attempts"), answer, tools);
  tools.cut(main, 4);
}

function drawAttempts(section, answer, tools) {
  const attempts = answer.attempts ?? [];
  const count = answer.attemptCount ?? 0;
  tools.setText(tools.place(section, 0, "h3"), `${count} ${count === 1 ? "attempt" : "attempts"} since ${answer.remembersSince}`);
  tools.setText(tools.place(section, 1, "p", "quiet"), "Memory of the store: a restart forgets them.");
  const table = tools.place(tools.place(section, 2, "div", "scroll"), 0, "table");
  const head = tools.place(tools.place(table, 0, "thead"), 0, "tr");
  columns.forEach((column, index) => tools.setText(tools.place(head, index, "th"), column));
  const body = tools.place(table, 1, "tbody");
  attempts.forEach((attempt, number) => {
    const row = tools.place(body, number, "tr");
    columns.forEach((column, index) => {
      const value = column === "how" && attempt.claimed ? `${attempt.how}, claimed` : attempt[column];
      tools.setText(tools.place(row, index, "td"), value == null ? "–" : String(value));
    });
  });
  tools.cut(body, attempts.length);
  tools.cut(section, 3);
}
