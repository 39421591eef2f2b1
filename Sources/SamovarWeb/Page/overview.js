// The Overview: rates and latencies of the last five minutes, and where the store keeps what it knows. The charts are made from `status`, which comes
// once a second, and are kept in this page alone. Whatever comes from a store is shown as text.

const seconds = 300;
/** What was told, the oldest first. */
const samples = [];
let timeline = null;

/** Call it with each status that comes, whatever page is shown. */
export function noteStatus(status) {
  if (!status || status.problem || !status.rates) return;
  if (status.timeline !== timeline) samples.length = 0;
  timeline = status.timeline;
  const at = performance.now() / 1000;
  const queues = (status.queues ?? []).filter((queue) => queue.attempt);
  const sample = {
    at, rates: status.rates, commit: status.commit?.p99 ?? null,
    attempts: Object.fromEntries(queues.map((queue) => [queue.name, queue.attempt.p99])),
  };
  // A status that is told again, because the store went away or came back, is no new one.
  if (samples.length > 0 && at - samples.at(-1).at < 0.5) samples.pop();
  samples.push(sample);
  while (samples[0].at < at - seconds || samples.length > 2 * seconds) samples.shift();
}

// MARK: Quantities

function digits(number) {
  return number >= 100 ? number.toFixed(0) : String(Number(number.toFixed(number >= 10 ? 1 : 2)));
}

export function bytes(number) {
  if (typeof number !== "number") return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) [number, unit] = [number / 1024, unit + 1];
  return `${digits(number)} ${units[unit]}`;
}

export function duration(number) {
  if (typeof number !== "number") return "–";
  if (number < 0.001) return `${digits(number * 1e6)} µs`;
  return number < 1 ? `${digits(number * 1000)} ms` : `${digits(number)} s`;
}

const rate = (number) => (typeof number === "number" ? `${digits(number)}/s` : "–");

// MARK: Charts

/** The most lines that one chart has: more are no help. */
const lines = 5;

function svg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** Seconds without a sample that are a gap: status comes once a second, and a store that is busy may miss some. */
const gap = 5;

/** What a line is drawn along; values and samples that are missing leave a gap. */
function path(series, top, now) {
  let text = "";
  let isDown = false;
  let last = -Infinity;
  for (const sample of samples) {
    const value = series.value(sample);
    if (typeof value !== "number" || sample.at - last > gap) isDown = false;
    last = sample.at;
    if (typeof value !== "number") continue;
    const x = (seconds - (now - sample.at)).toFixed(1);
    const y = (99 - (98 * value) / top).toFixed(1);
    // One value alone is a dot.
    text += isDown ? `L${x} ${y}` : `M${x} ${y}h.1`;
    isDown = true;
  }
  return text;
}

function drawChart(tools, parent, index, title, shown, all) {
  const series = all.slice(0, lines);
  const figure = tools.place(parent, index, "figure");
  tools.setText(tools.place(figure, 0, "figcaption"), title);
  const values = series.flatMap((one) => samples.map(one.value)).filter((value) => typeof value === "number");
  const top = Math.max(...values, Number.MIN_VALUE);
  const now = performance.now() / 1000;
  tools.setText(tools.place(figure, 1, "p", "quiet"), values.length > 0 ? `up to ${shown(Math.max(...values))}` : "nothing yet");
  const frame = tools.place(figure, 2, "div", "chart");
  let drawing = frame.firstElementChild;
  if (!drawing) {
    drawing = svg("svg", { viewBox: `0 0 ${seconds} 100`, preserveAspectRatio: "none", role: "img" });
    frame.append(drawing);
  }
  drawing.setAttribute("aria-label", `${title}: ` + series.map((one) => `${one.name} ${shown(one.value(samples.at(-1)))}`).join(", "));
  drawing.replaceChildren(...series.map((one, number) => svg("path", { class: `line${number}`, d: path(one, top, now) })));
  const legend = tools.place(figure, 3, "p", "legend");
  series.forEach((one, number) => {
    tools.setText(tools.place(legend, number, "span", `mark line${number}`), `${one.name} ${shown(one.value(samples.at(-1)))}`);
  });
  tools.cut(legend, series.length);
}

function drawCharts(tools, section) {
  tools.setText(tools.place(section, 0, "h2"), "The last 5 minutes");
  const charts = tools.place(section, 1, "div", "charts");
  drawChart(tools, charts, 0, "Rates", rate, [
    { name: "turns", value: (sample) => sample.rates.turns },
    { name: "inputs", value: (sample) => sample.rates.inputs },
    { name: "effects closed", value: (sample) => sample.rates.effectsClosed },
  ]);
  drawChart(tools, charts, 1, "Commits, p99", duration, [{ name: "commit", value: (sample) => sample.commit }]);
  const queues = [...new Set(samples.flatMap((sample) => Object.keys(sample.attempts)))];
  drawChart(tools, charts, 2, "Attempts, p99 by queue", duration,
    queues.map((name) => ({ name, value: (sample) => sample.attempts[name] })));
  tools.cut(charts, 3);
  tools.cut(section, 2);
}

// MARK: Facts

function drawFacts(tools, section, title, facts) {
  tools.setText(tools.place(section, 0, "h2"), title);
  const list = tools.place(section, 1, "dl");
  facts.forEach(([name, text], number) => {
    tools.setText(tools.place(list, 2 * number, "dt"), name);
    tools.setText(tools.place(list, 2 * number + 1, "dd"), text);
  });
  tools.cut(list, 2 * facts.length);
  tools.cut(section, 2);
}

/** @param tools what draws elements in places: `place`, `setText`, `cut`, `drawValue`. */
export function drawOverview(main, status, tools) {
  if (samples.length > 0) drawCharts(tools, tools.place(main, 0, "section", "recent"));
  else tools.setText(tools.place(main, 0, "p", "quiet"), "This store tells no rates.");
  const process = status.process ?? {};
  // A store that stands still tells little, and one that has just begun nothing of its process.
  const told = (value, text) => (value === undefined ? "–" : text(value));
  const snapshot = told(status.snapshotTurn, (turn) => (turn > 0 ? `turn ${turn} of ${status.snapshotTime}` : "none yet"));
  drawFacts(tools, tools.place(main, 1, "section", "storage"), "Storage", [
    ["durability", String(status.durability ?? "–")],
    ["journal", told(process.journalBytes, (size) => (size === null ? "in a database" : bytes(size)))],
    ["growth", `${bytes(status.rates?.journalBytes)}/s`],
    ["newest snapshot", status.snapshots && status.snapshots !== "on" ? String(status.snapshots) : snapshot],
    ["trimmed up to", told(status.trimmedTurn, (turn) => (turn > 0 ? `turn ${turn}` : "nothing is trimmed"))],
    ["free on the disk", bytes(process.freeBytes)],
    ["sessions", String(status.sessions ?? "–")],
  ]);
  const rest = tools.place(main, 2, "section", "status");
  tools.setText(tools.place(rest, 0, "h2"), "All that the store says");
  tools.drawValue(rest, 1, status);
  tools.cut(rest, 2);
  tools.cut(main, 3);
}
