// What a store was: the timeline, one turn, one state. All of it is text of the store, and nothing here makes markup of it.

const kinds = [
  "started", "applied", "streamed", "refused", "attemptFailed", "done", "dead", "requeued", "dropped", "quarantined", "workerJoined", "workerLeft",
  "sessionExpired", "drained", "divergenceAccepted", "controlled", "stateDigest",
];
const origins = ["client", "effect", "failure", "followUp", "subscription", "operator", "store"];
const rowCount = 50;
/** The newest turns are asked for again no more often. */
const followPause = 2000;
/** Effects of a turn whose attempts are asked for. */
const shownAttempts = 20;

/** The pages of the past, made of what page.js has. */
export function past({ get, setText, drawValue, draw, store }) {
  const known = { timeline: null, rows: [], first: 1, last: 0, looked: null, filter: {}, selected: null, density: null, problem: null, follows: true };
  let asked = 0;

  // MARK: Elements

  function element(name, className = "", text = "") {
    const made = document.createElement(name);
    made.className = className;
    if (text !== "") made.textContent = text;
    return made;
  }

  function link(text, hash, className = "") {
    const made = element("a", className, text);
    made.href = "#" + hash;
    return made;
  }

  function problem(main, text) {
    main.append(element("p", "bad", text));
  }

  /** Whether the store shows another timeline than this one, as far as either is known. */
  const isOther = (timeline) => timeline !== null && store.timeline !== null && timeline !== store.timeline;

  /** Asks, and forgets what was known if the store has another timeline than that came from. */
  async function ask(path) {
    const answer = await get(path);
    if (answer.timeline !== undefined) {
      if (known.timeline !== null && known.timeline !== answer.timeline) forget();
      // Of a journal that is another store's nothing is known: it would be forgotten, and the page built anew, with each message.
      if (answer.problem === undefined || !isOther(answer.timeline)) known.timeline = answer.timeline;
    }
    if (answer.problem !== undefined) throw new Error(answer.problem);
    return answer;
  }

  function forget() {
    Object.assign(known, { timeline: null, rows: [], looked: null, density: null, selected: null, last: 0, follows: true });
    built = null;
    if (location.hash.startsWith("#turn/") || location.hash.startsWith("#state/")) location.hash = "#timeline";
  }

  /** What the page shows is built once for each thing that it shows. */
  let built = null;

  function build(main, name, body) {
    if (built === name && main.childElementCount > 0) return false;
    built = name;
    main.replaceChildren();
    body();
    return true;
  }

  // MARK: Timeline

  /** As a query of an address has it, where a plus is a plus. */
  const written = (parameters) => String(new URLSearchParams(parameters)).replaceAll("+", "%20");

  function query(more) {
    const parameters = { count: rowCount };
    for (const [name, value] of Object.entries({ ...known.filter, ...more })) if (value !== "" && value !== undefined) parameters[name] = value;
    return "turns?" + written(parameters);
  }

  /** The rows that are to be loaded next; null if none are. */
  let wish = null;
  let isAsking = false;

  /** Loads rows: the newest, those before a turn, or those after one. While a question is out, of all wishes the newest is kept. */
  function load(place, select) {
    wish = { place, select };
    asked = performance.now();
    known.follows = Object.keys(place).length === 0;
    if (!isAsking) loadWished();
  }

  async function loadWished() {
    isAsking = true;
    try {
      while (wish !== null) {
        const { place, select } = wish;
        wish = null;
        await loadRows(place, select);
      }
    } finally {
      isAsking = false;
    }
  }

  /** Of an answer that comes when something else is wished nothing is shown. */
  async function loadRows(place, select) {
    try {
      const answer = await ask(query(place));
      if (wish !== null) return;
      const isUpwards = place.after !== undefined;
      // A search that has found nothing goes on, if it has not come to the newest turn.
      if (isUpwards && answer.rows.length === 0) return answer.looked < answer.last ? load({ after: answer.looked }, select) : load({}, "first");
      // What is older than these begins below the turn after which was looked.
      const looked = isUpwards ? place.after + 1 : answer.looked;
      Object.assign(known, { rows: answer.rows, looked, first: answer.first, last: answer.last, problem: null });
      if (select === "first" || select === "last") known.selected = known.rows.at(select === "first" ? 0 : -1)?.turn ?? null;
      else if (select !== undefined) known.selected = select;
    } catch (error) {
      if (wish !== null) return;
      known.problem = error.message;
    }
    drawRows();
    if (known.density === null || known.density.last !== known.last || !known.density.isWhole) loadDensity();
  }

  let densityAsked = -Infinity;
  async function loadDensity() {
    if (performance.now() - densityAsked < followPause) return;
    densityAsked = performance.now();
    try {
      known.density = await ask("density");
    } catch {
      // The rows say why.
      return;
    }
    drawScrubber();
  }

  const parts = {};

  function buildTimeline(main) {
    const form = element("form", "columns filters");
    form.onsubmit = (event) => {
      event.preventDefault();
      filter();
    };
    const choice = (name, values) => {
      const label = element("label", "", name);
      const select = element("select");
      select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
      select.value = known.filter[name] ?? "";
      select.onchange = filter;
      label.append(select);
      form.append(label);
      return select;
    };
    const field = (name, type) => {
      const label = element("label", "", name);
      const input = element("input");
      [input.type, input.value, input.maxLength] = [type, known.filter[name] ?? "", 200];
      if (type === "number") input.min = 1;
      label.append(input);
      form.append(label);
      return input;
    };
    const inputs = { kind: choice("kind", kinds), origin: choice("origin", origins), root: field("root", "number"), text: field("text", "search") };
    function filter() {
      known.filter = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
      known.selected = null;
      load({}, "first");
    }
    form.append(element("button", "", "look"));
    const newest = element("button", "", "newest");
    newest.type = "button";
    newest.onclick = () => load({}, "first");
    form.append(newest);

    const scrubber = element("div", "scrubber");
    parts.canvas = element("canvas");
    [parts.canvas.width, parts.canvas.height] = [1000, 48];
    parts.range = element("input");
    Object.assign(parts.range, { type: "range", min: 1, max: 1, step: 1, value: 1 });
    parts.range.setAttribute("aria-label", "turn");
    parts.range.oninput = () => load({ before: Number(parts.range.value) + 1 }, Number(parts.range.value));
    parts.when = element("p", "quiet when");
    scrubber.append(parts.canvas, parts.range, parts.when);

    parts.list = element("div", "scroll list");
    parts.list.tabIndex = 0;
    parts.list.setAttribute("aria-label", "turns");
    parts.older = element("button", "", "older");
    parts.older.onclick = () => load({ before: known.looked }, "first");
    parts.newer = element("button", "", "newer");
    parts.newer.onclick = () => load({ after: known.rows[0]?.turn ?? known.looked - 1 }, "last");
    const more = element("p", "columns");
    more.append(parts.newer, parts.older);
    main.append(form, scrubber, parts.list, more);
    parts.list.focus();
    drawRows();
    drawScrubber();
    load(known.follows ? {} : { before: (known.rows[0]?.turn ?? known.last) + 1 }, known.selected ?? undefined);
  }

  function drawRows() {
    if (!built?.startsWith("timeline")) return;
    const table = element("table", "turns");
    const head = element("tr");
    for (const name of ["turn", "time (UTC)", "kind", "message", "origin"]) head.append(element("th", "", name));
    const top = element("thead");
    top.append(head);
    const body = element("tbody");
    for (const row of known.rows) {
      const line = element("tr", row.kind === "refused" ? "warning" : "");
      if (row.turn === known.selected) line.setAttribute("aria-selected", "true");
      const cells = [null, row.time.replace("T", " ").replace("Z", ""), row.kind, row.text, short(row.origin)];
      cells.forEach((text, index) => {
        const cell = element("td", index === 3 ? "preview" : "");
        if (index === 0) cell.append(link(String(row.turn), "turn/" + row.turn));
        else cell.textContent = text;
        line.append(cell);
      });
      line.onclick = () => {
        known.selected = row.turn;
        drawRows();
      };
      line.ondblclick = () => (location.hash = "#turn/" + row.turn);
      body.append(line);
    }
    table.append(top, body);
    parts.list.replaceChildren(table);
    if (known.problem !== null) parts.list.prepend(element("p", "bad", known.problem));
    else if (known.rows.length === 0) {
      parts.list.append(element("p", "quiet", known.looked === null ? "Asking …" : known.looked > known.first ? `Nothing down to turn ${known.looked}.` : "No such turn."));
    }
    parts.older.disabled = known.looked === null || known.looked <= known.first;
    parts.newer.disabled = known.rows.length > 0 ? known.rows[0].turn >= known.last : parts.older.disabled;
    parts.list.querySelector("[aria-selected]")?.scrollIntoView({ block: "nearest" });
    const at = known.selected ?? known.rows[0]?.turn;
    if (at !== undefined && document.activeElement !== parts.range) setRange(at);
    const row = known.rows.find((row) => row.turn === at);
    setText(parts.when, row ? `turn ${row.turn} of ${known.last}, ${row.time}` : "");
  }

  /** Of long identities their beginnings do in a list. */
  const short = (text) => text.replaceAll(/([0-9a-f]{8})-[0-9a-f-]{27}/g, "$1…");

  function setRange(turn) {
    [parts.range.min, parts.range.max] = [known.first, Math.max(known.last, known.first)];
    parts.range.value = turn;
  }

  /** Of each bucket how many turns came in a second, on a scale of tenfolds, and how much of it was refused or a failure. */
  function drawScrubber() {
    const density = known.density;
    if (!built?.startsWith("timeline") || density === null) return;
    parts.range.step = 1;
    [parts.range.min, parts.range.max] = [density.first, density.last];
    const style = getComputedStyle(document.documentElement);
    const context = parts.canvas.getContext("2d");
    const { width, height } = parts.canvas;
    context.clearRect(0, 0, width, height);
    const count = density.refused.length;
    const rates = density.refused.map((_, index) => {
      const [from, to] = [density.times[index], density.times[index + 1]];
      // The last one has fewer turns, and ends with the newest.
      const turns = Math.min(density.each, density.last - density.first - index * density.each);
      return from === null || to === null || turns < 1 ? null : turns / Math.max((to - from) / 1000, 0.001);
    });
    const heights = rates.map((rate) => (rate === null ? null : Math.log10(1 + rate * 1000)));
    const highest = Math.max(1, ...heights.filter((value) => value !== null));
    const bar = width / count;
    heights.forEach((value, index) => {
      const tall = value === null ? 2 : Math.max(2, (value / highest) * height);
      const color = density.failed[index] > 0 ? "--bad" : density.refused[index] > 0 ? "--warning" : value === null ? "--line" : "--accent";
      context.fillStyle = style.getPropertyValue(color);
      context.fillRect(index * bar, height - tall, Math.max(bar - 0.2, 0.8), tall);
    });
  }

  function move(step) {
    const rows = known.rows;
    if (rows.length === 0) return;
    const index = rows.findIndex((row) => row.turn === known.selected);
    const next = index < 0 ? 0 : index + step;
    if (next >= rows.length) return known.looked > known.first ? load({ before: known.looked }, "first") : undefined;
    if (next < 0) return rows[0].turn < known.last ? load({ after: rows[0].turn }, "last") : undefined;
    known.selected = rows[next].turn;
    known.follows = false;
    drawRows();
  }

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button, summary")) return;
    // On a link it opens that.
    if (event.key === "Enter" && event.target.closest("a")) return;
    const [name, turn] = location.hash.slice(1).split("/");
    const keys = {
      timeline: {
        ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1), Home: () => load({}, "first"),
        End: () => load({ after: known.first - 1 }, "last"), Enter: () => known.selected !== null && (location.hash = "#turn/" + known.selected),
      },
      turn: {
        ArrowLeft: () => step("turn", turn, -1), k: () => step("turn", turn, -1), ArrowRight: () => step("turn", turn, 1), j: () => step("turn", turn, 1),
      },
      state: { ArrowLeft: () => step("state", turn, -1), ArrowRight: () => step("state", turn, 1) },
    };
    const act = keys[name]?.[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  function step(name, turn, by) {
    const next = Number(turn) + by;
    if (next >= 1 && (by < 0 || next <= Math.max(known.last, store.turn ?? 0))) location.hash = `#${name}/${next}`;
  }

  // MARK: One turn

  function heading(main, name, turn) {
    const line = element("div", "columns");
    line.append(element("h2", "", `${name === "turn" ? "Turn" : "State after turn"} ${turn}`));
    if (turn > 1) line.append(link("previous", `${name}/${turn - 1}`));
    line.append(link("next", `${name}/${turn + 1}`), link("timeline", "timeline"));
    line.append(name === "turn" ? link("state", `state/${turn}`) : link("turn", `turn/${turn}`));
    main.append(line);
  }

  function section(main, title) {
    const made = element("section");
    made.append(element("h2", "", title));
    const body = element("div", "", "…");
    made.append(body);
    main.append(made);
    return body;
  }

  /** Fills a part of the page with what is asked for, unless another page is shown by then. */
  async function fill(part, path, body) {
    try {
      const answer = await ask(path);
      if (!part.isConnected) return;
      part.replaceChildren();
      body(answer);
    } catch (error) {
      part.replaceChildren();
      problem(part, error.message);
    }
  }

  function buildTurn(main, turn) {
    heading(main, "turn", turn);
    const what = section(main, "What happened");
    const changes = section(main, "What it changed");
    const why = section(main, "Why");
    const then = section(main, "What followed");
    fill(what, `turns/${turn}`, (answer) => {
      known.last = Math.max(known.last, answer.durable);
      const facts = { kind: answer.kind, time: answer.time, origin: answer.origin, root: answer.root, [["applied", "streamed"].includes(answer.kind) ? "message" : "holds"]: answer.message };
      if (answer.sender) facts.sender = answer.sender;
      drawValue(what, 0, facts);
      for (const details of what.querySelectorAll("details")) details.open = true;
    });
    if (turn === 1) changes.replaceChildren(element("p", "quiet", "It is the first: there is nothing before it."));
    else fill(changes, `turns/${turn}/diff`, (answer) => drawChanges(changes, answer));
    fill(why, `turns/${turn}/causes`, (answer) => {
      for (const cause of answer.up) why.append(causeLine(cause.text, cause.turn));
      then.replaceChildren();
      for (const row of answer.down) then.append(causeLine(`${row.turn} (${row.name}) ${row.text}`, row.turn));
      if (answer.down.length === 0) then.append(element("p", "quiet", "Nothing."));
      if (!answer.isWhole) then.append(element("p", "quiet", "… and perhaps more."));
    }).then(() => then.textContent === "…" && then.replaceChildren());
  }

  function causeLine(text, turn) {
    const line = element("p", "cause");
    line.append(turn === undefined ? "← " + text : link("← " + text, "turn/" + turn));
    return line;
  }

  function drawChanges(part, answer) {
    if (answer.changes.length === 0) part.append(element("p", "quiet", "The state is what it was."));
    else {
      const table = element("table", "changes");
      const text = (value) => (value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value));
      for (const change of answer.changes) {
        const row = element("tr");
        row.append(element("td", "strong", change.path), element("td", "before", text(change.before)), element("td", "after", "→ " + text(change.after)));
        table.append(row);
      }
      const scroll = element("div", "scroll");
      scroll.append(table);
      part.append(scroll);
      if (answer.isCut) part.append(element("p", "quiet", "… and more."));
    }
    if (answer.orders?.length > 0) {
      part.append(element("h2", "", "What it ordered"));
      answer.orders.forEach((order, index) => {
        const body = element("div", "order");
        part.append(body);
        drawValue(body, 0, order);
        if (typeof order.effect === "string" && index < shownAttempts) drawAttemptsOf(body, order.effect);
      });
    }
  }

  /** What became of an effect so far, in a line that leads to its page. */
  async function drawAttemptsOf(body, effect) {
    const line = element("p", "attempts");
    line.append(link(`effect ${effect}`, "effects/" + effect));
    body.append(line);
    try {
      const answer = await get(`attempts?${new URLSearchParams({ effect })}`);
      const attempts = (answer.attempts ?? []).map((attempt) =>
        `${attempt.how} by ${attempt.worker ?? "a worker that left"}` + (attempt.seconds == null ? "" : ` after ${attempt.seconds} s`));
      line.append(element("span", "quiet", `: ${answer.state}; ` + (attempts.length > 0 ? attempts.join(", ") : "no attempt is remembered")));
    } catch (error) {
      line.append(element("span", "quiet", ": " + error.message));
    }
  }

  // MARK: A state

  function buildState(main, turn) {
    heading(main, "state", turn);
    const tree = element("div", "tree", "…");
    main.append(tree);
    fill(tree, `state?turn=${turn}`, (level) => drawLevel(tree, turn, level));
  }

  /** The children of a part; those that have some themselves are asked for when they are opened. */
  function drawLevel(part, turn, level) {
    if (level.problem) return problem(part, level.problem);
    if (level.kind === "value") return drawValue(part, 0, level.value);
    for (const child of level.children) {
      if (child.kind === "value") {
        const line = element("p", "leaf");
        line.append(element("span", "quiet", child.name + ": "), child.value);
        // Only the beginning of a long value is shown; the whole of it is asked for.
        if (child.value.endsWith("…")) line.append(opener(turn, child, "whole"));
        part.append(line);
      } else part.append(opener(turn, child, `${child.name} (${child.count})`));
    }
    if (level.children.length === 0 && level.count === 0) part.append(element("p", "quiet", "nothing in it"));
    const shown = (level.from ?? 0) + level.children.length;
    if (shown < level.count) {
      const more = element("button", "", `${level.count - shown} more`);
      more.onclick = () => {
        const next = element("div");
        more.replaceWith(next);
        fill(next, statePath(turn, level.path, shown), (answer) => drawLevel(next, turn, { ...answer, from: shown }));
      };
      part.append(more);
    }
  }

  const statePath = (turn, path, from = 0) => "state?" + written({ turn, path, from });

  function opener(turn, child, title) {
    const details = element("details");
    details.append(element("summary", "", title));
    const body = element("div", "", "…");
    details.append(body);
    details.ontoggle = () => {
      if (!details.open || details.dataset.asked) return;
      details.dataset.asked = "1";
      fill(body, statePath(turn, child.path), (answer) => drawLevel(body, turn, answer));
    };
    return details;
  }

  // MARK: Pages

  return {
    timeline(main) {
      if (isOther(known.timeline)) forget();
      if (build(main, "timeline", () => buildTimeline(main))) return;
      // The newest turns come by themselves as long as nobody has gone elsewhere.
      const isAtTop = known.selected === null || known.selected === known.rows[0]?.turn;
      const isOld = known.follows && isAtTop && (store.turn > known.last || known.problem !== null);
      if (isOld && performance.now() - asked > followPause) load({}, known.selected === null ? undefined : "first");
      else if (known.density?.isWhole === false) loadDensity();
    },
    turn(main, rest) {
      if (isOther(known.timeline)) return forget();
      build(main, "turn/" + rest, () => buildTurn(main, Math.max(1, Number.parseInt(rest) || 1)));
    },
    state(main, rest) {
      if (isOther(known.timeline)) return forget();
      build(main, "state/" + rest, () => buildState(main, Math.max(1, Number.parseInt(rest) || 1)));
    },
  };
}
