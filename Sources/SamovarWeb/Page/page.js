// The page of a store. Whatever comes from it is shown as text: nothing here makes markup of a string.

import { past } from "/past.js";
import { drawOverview, noteStatus } from "/overview.js";
import { drawEffect, effectInAddress } from "/effect.js";

const api = "/api/v1/";
const byId = (id) => document.getElementById(id);

/** What the store has told. */
const store = { turn: null, timeline: null, shown: null, status: null, isStale: true, isConnected: false, effects: null };

// MARK: Asking

async function post(path, body) {
  const answer = await fetch(api + path, {
    method: "POST", headers: { "Content-Type": "application/json", "X-Samovar": "1" }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function get(path) {
  const answer = await fetch(api + path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function say(text, style = "") {
  byId("answer").textContent = text;
  byId("answer").className = style;
}

/** Says what became of an input. */
function told(answer, what) {
  if (answer.problem !== undefined) return say(`${what}: ${answer.problem}`, "bad");
  if (answer.refused !== undefined) return say(`${what}: refused in turn ${answer.turn}: ${answer.refused}`, "warning");
  if (answer.applied !== undefined) return say(`${what}: applied in turn ${answer.applied}`, "good");
  say(`${what}: done`, "good");
}

async function doing(what, work) {
  say(`${what}: sent, no answer yet`);
  try {
    told(await work(), what);
  } catch (error) {
    say(`${what}: ${error.message}`, "bad");
  }
  draw();
}

// MARK: Elements

/**
 * An element of a kind in a place, the one that is there if it is of that kind and, if it has a key, for the same control: what has the focus
 * keeps it, and nothing becomes another control under a hand or a key.
 */
function place(parent, index, name, className = "", key = undefined) {
  const there = parent.children[index];
  if (there && there.localName === name && there.className === className && there.dataset.key === key) return there;
  const made = document.createElement(name);
  made.className = className;
  if (key !== undefined) {
    made.dataset.key = key;
    made.dataset.since = performance.now();
  }
  // Where there is no element there may be a text, which the first element takes the place of.
  if (there) there.replaceWith(made); else if (index === 0) parent.replaceChildren(made); else parent.append(made);
  return made;
}

function cut(parent, count) {
  while (parent.children.length > count) parent.lastElementChild.remove();
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// MARK: Panels

function drawNodes(parent, nodes, first = 0) {
  nodes.forEach((node, index) => drawNode(parent, first + index, node));
  cut(parent, first + nodes.length);
}

function drawNode(parent, index, node) {
  switch (node.kind) {
    case "text": return setText(place(parent, index, "p", node.style ?? ""), node.text);
    case "button": {
      const button = place(parent, index, "button", "press", node.key);
      button.type = "button";
      setText(button, node.label);
      button.onclick = () => press(node, button);
      return;
    }
    case "rows": return drawNodes(place(parent, index, "div", "rows"), node.of);
    case "columns": return drawNodes(place(parent, index, "div", "columns"), node.of);
    case "section": {
      const section = place(parent, index, "section");
      setText(place(section, 0, "h2"), node.title);
      return drawNodes(section, node.of, 1);
    }
    case "table": return drawTable(place(parent, index, "div", "scroll"), node);
    case "gauge": {
      const label = place(parent, index, "label", "gauge");
      setText(place(label, 0, "span"), node.label);
      const meter = place(label, 1, "meter");
      [meter.min, meter.max, meter.value] = [node.from, node.to, node.value ?? node.from];
      return setText(place(label, 2, "span"), `${node.value ?? "–"}${node.unit ? " " + node.unit : ""}`);
    }
    case "progress": {
      const label = place(parent, index, "label", "progress");
      setText(place(label, 0, "span"), node.label);
      const bar = place(label, 1, "progress");
      if (node.total === null) bar.removeAttribute("value");
      else [bar.max, bar.value] = [Math.max(node.total, 1), node.done];
      return setText(place(label, 2, "span"), node.total === null ? `${node.done}` : `${node.done} of ${node.total}`);
    }
    case "field": return drawField(parent, index, node);
    case "space": return void place(parent, index, "br");
    default: return setText(place(parent, index, "p", "bad"), `an unknown kind of node: ${node.kind}`);
  }
}

function drawTable(parent, node) {
  const table = place(parent, 0, "table");
  const head = place(place(table, 0, "thead"), 0, "tr");
  node.columns.forEach((column, index) => setText(place(head, index, "th", column.alignment === "right" ? "right" : ""), column.title));
  cut(head, node.columns.length);
  const body = place(table, 1, "tbody");
  node.rows.forEach((cells, number) => {
    const row = place(body, number, "tr");
    cells.forEach((cell, index) => drawNodes(place(row, index, "td", node.columns[index]?.alignment === "right" ? "right" : ""), [cell]));
    cut(row, cells.length);
  });
  cut(body, node.rows.length);
}

/** What a person types stays until it is applied, wherever its field stands. */
const typed = new Map();

function drawField(parent, index, node) {
  const form = place(parent, index, "form", "field columns", node.key);
  const label = place(form, 0, "label");
  setText(place(label, 0, "span"), node.label);
  const input = place(label, 1, "input");
  input.type = "text";
  input.inputMode = node.type === "text" ? "text" : "decimal";
  input.maxLength = 1000;
  const text = typed.get(node.key) ?? node.holds;
  if (input.value !== text) input.value = text;
  input.oninput = () => typed.set(node.key, input.value);
  setText(place(form, 1, "button"), "send");
  form.onsubmit = (event) => {
    event.preventDefault();
    press(node, form, input.value);
  };
}

/** How long what has just come to its place is not pressed: a person may have meant what stood there. */
const settling = 400;

/** Whether a control has just come to its place, which is said. */
function isSettling(element, label) {
  const isNew = performance.now() - element.dataset.since < settling && element.dataset.since > drawnFirst;
  if (isNew) say(`“${label}” has just come to this place: look, and press again`, "warning");
  return isNew;
}

function press(node, element, text) {
  if (isSettling(element, node.label)) return;
  const body = { turn: store.turn, control: node.control };
  if (text !== undefined) body.text = text;
  doing(node.label, async () => {
    const answer = await post("press", body);
    if (answer.applied !== undefined && typed.get(node.key) === text) typed.delete(node.key);
    return answer;
  });
}

// MARK: Values

const isPlain = (value) => value === null || typeof value !== "object";

function plain(value) {
  return value === null ? "–" : typeof value === "string" ? value : String(value);
}

/** A value as a list of names and values; what is nested opens. */
function drawValue(parent, index, value) {
  if (isPlain(value)) return setText(place(parent, index, "p"), plain(value));
  const list = place(parent, index, "dl");
  const pairs = Object.entries(value);
  pairs.forEach(([name, inner], number) => {
    setText(place(list, 2 * number, "dt"), name);
    const cell = place(list, 2 * number + 1, "dd", isPlain(inner) ? "" : "nested");
    if (isPlain(inner)) return setText(cell, plain(inner));
    const count = Object.keys(inner).length;
    if (count === 0) return setText(cell, Array.isArray(inner) ? "none" : "–");
    const details = place(cell, 0, "details");
    setText(place(details, 0, "summary"), `${count} ${count === 1 ? "value" : "values"}`);
    drawValue(details, 1, inner);
    cut(details, 2);
  });
  cut(list, 2 * pairs.length);
}

// MARK: Pages

const pages = {
  live(main) {
    if (!store.shown) return setText(place(main, 0, "p", "quiet"), "No view has come yet."), cut(main, 1);
    if (store.shown.problem) return setText(place(main, 0, "p", "bad"), store.shown.problem), cut(main, 1);
    if (store.shown.panel) {
      setText(place(main, 0, "h2"), store.shown.panel.title);
      return drawNodes(main, store.shown.panel.of, 1);
    }
    drawValue(main, 0, store.shown.value);
    cut(main, 1);
  },
  overview(main) {
    if (isKnown(main, store.status)) drawOverview(main, store.status, tools);
  },
  workers(main) {
    drawStatus(main, (status) => ({ workers: status.workers, queues: status.queues }));
  },
  effects(main) {
    const effects = store.effects;
    if (!isKnown(main, effects)) return;
    if (effectInAddress(location.hash)) return drawEffect(main, effects, tools);
    drawEffects(place(main, 0, "section", "open"), "open", effects.openCount, effects.open, []);
    drawEffects(place(main, 1, "section", "dead"), "dead", effects.deadCount, effects.dead, ["requeue", "drop"]);
    cut(main, 2);
  },
  ...past({ get, setText, drawValue, draw, store }),
};

/** What pages in files of their own draw with. */
const tools = { place, setText, cut, drawValue };

/** Whether there is an answer of the store that can be shown; if not, says so. */
function isKnown(main, answer) {
  if (answer && !answer.problem) return true;
  setText(place(main, 0, "p", answer ? "bad" : "quiet"), answer ? answer.problem : "Asking …");
  cut(main, 1);
  return false;
}

function drawStatus(main, part) {
  if (!isKnown(main, store.status)) return;
  drawValue(main, 0, part(store.status));
  cut(main, 1);
}

function drawEffects(section, kind, count, effects, actions) {
  setText(place(section, 0, "h2"), `${count ?? 0} ${kind}`);
  const columns = [...new Set((effects ?? []).flatMap((effect) => Object.keys(effect)))];
  const scroll = place(section, 1, "div", "scroll");
  const table = place(scroll, 0, "table");
  const head = place(place(table, 0, "thead"), 0, "tr");
  columns.forEach((column, index) => setText(place(head, index, "th"), column));
  cut(head, columns.length);
  const body = place(table, 1, "tbody");
  (effects ?? []).forEach((effect, number) => {
    const row = place(body, number, "tr");
    columns.forEach((column, index) => {
      const value = effect[column] ?? null;
      const cell = place(row, index, "td");
      if (column !== "effect") return setText(cell, isPlain(value) ? plain(value) : JSON.stringify(value));
      const link = place(cell, 0, "a");
      link.href = `#effects/${value}`;
      setText(link, value);
    });
    actions.forEach((action, index) => {
      // That of another effect is another control.
      const what = `${action} ${effect.effect}`;
      const button = place(place(row, columns.length + index, "td"), 0, "button", "", what);
      setText(button, action);
      button.onclick = () => isSettling(button, what) || doing(what, async () => {
        const answer = await post(action, { effect: effect.effect });
        refreshEffects();
        return answer;
      });
    });
    cut(row, columns.length + actions.length);
  });
  cut(body, (effects ?? []).length);
}

/** Questions of effects that have no answer yet. */
let effectsAsked = 0;

/** Asks for what the address names: all effects, or one. An answer that comes when another is shown is dropped. */
async function refreshEffects() {
  effectsAsked += 1;
  const hash = location.hash;
  const effect = effectInAddress(hash);
  let answer;
  try {
    answer = await get(effect ? `attempts?${new URLSearchParams({ effect })}` : "effects");
  } catch (error) {
    answer = { problem: error.message };
  }
  effectsAsked -= 1;
  if (location.hash !== hash) return;
  store.effects = answer;
  draw();
}

/** Its name, and what stands behind that in the address. */
function page() {
  const [name, rest] = location.hash.slice(1).split("/");
  return Object.hasOwn(pages, name) ? [name, rest] : ["live", ""];
}
let drawn = null;
/** When the page that is shown was drawn first: what stands there since then has not just come to its place. */
let drawnFirst = 0;

function draw() {
  const [name, rest] = page();
  const main = byId("main");
  const focused = document.activeElement?.closest("[data-key]")?.dataset.key;
  // One effect is another page than their list; the pages of the past see to what stands behind their name.
  const shown = name === "effects" ? location.hash : name;
  if (drawn !== shown) {
    main.replaceChildren();
    drawn = shown;
    drawnFirst = Infinity;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === "#" + name) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    if (name === "effects") {
      store.effects = null;
      refreshEffects();
    }
  }
  pages[name](main, rest);
  if (drawnFirst === Infinity && main.querySelector("[data-key]")) drawnFirst = performance.now();
  // A control that has moved keeps the focus, and one that is gone leaves it to none.
  if (focused && document.activeElement?.closest("[data-key]")?.dataset.key !== focused) {
    const control = main.querySelector(`[data-key="${focused}"]`);
    (control?.querySelector("input") ?? control ?? main).focus();
  }
  setText(byId("turn"), store.turn === null ? "" : `turn ${store.turn}`);
  const banner = byId("banner");
  const words = trouble();
  banner.hidden = words === null;
  setText(banner, words ?? "");
}

/** Phases in which commits wait. */
const outages = {
  "disk full": "The disk of the store is full: what is sent waits until there is room.",
  "database away": "The database of the store is away: what is sent waits until it is back.",
  "lease in doubt": "Another store may have the journal: what is sent waits until it is known that none has.",
};

/** What a person has to know of the store before all that is shown. */
function trouble() {
  if (!store.isConnected) return store.obstacle ?? "The page's server does not answer.";
  if (store.isStale) return "No sign of the store: what is shown may be old.";
  const outage = outages[store.status?.phase];
  if (outage) return `${outage} The past is shown as ever.`;
  const views = store.status?.views;
  if (typeof views === "string" && views !== "on") {
    return `The store makes no views any more (${views}): Live shows ${store.turn === null ? "none" : `that of turn ${store.turn}`}.`;
  }
  return null;
}

// MARK: Hearing

let pause = 250;

function listen() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}${api}live`);
  socket.onmessage = (event) => {
    pause = 250;
    store.isConnected = true;
    const message = JSON.parse(event.data);
    if (message.type === "view") {
      if (store.timeline !== message.timeline) store.effects = null;
      [store.turn, store.timeline, store.shown, store.isStale] = [message.turn, message.timeline, message.shown, false];
    } else if (message.type === "status") {
      [store.status, store.isStale] = [message.status, message.stale];
      noteStatus(store.status);
      if (!isMet && !store.isStale) meet().catch((error) => say(error.message));
      if (page()[0] === "effects" && effectsAsked === 0) refreshEffects();
    }
    draw();
  };
  socket.onclose = async () => {
    store.isConnected = false;
    store.obstacle = null;
    draw();
    // A server that was started again does not know this browser any more, and says what to do.
    const answer = await fetch(api + "about").catch(() => null);
    if (answer?.ok) {
      const about = await answer.json().catch(() => null);
      store.obstacle = about?.isFull ? "Too many browsers show this page already: close one." : null;
    } else {
      store.obstacle = (await answer?.text().catch(() => null)) ?? null;
    }
    draw();
    setTimeout(listen, pause);
    pause = Math.min(2 * pause, 5000);
  };
}

/** Whether it is known if this page has a past: a store that is away has not said who this is. */
let isMet = false;

async function meet() {
  const about = await get("about");
  document.title = about.title;
  setText(byId("title"), about.title);
  byId("past").hidden = !about.hasPast;
  isMet = about.hasPast !== null;
}

const tokenInAddress = () => new URLSearchParams(location.hash.slice(1)).get("t");

async function begin() {
  // An address with a token may be opened in a tab that shows this page already.
  addEventListener("hashchange", () => tokenInAddress() ? location.reload() : draw());
  const token = tokenInAddress();
  if (token) {
    history.replaceState(null, "", location.pathname + "#live");
    await post("token", { token });
  }
  await meet();
  listen();
}

begin().catch((error) => {
  setText(place(byId("main"), 0, "p", "bad"), error.message);
});
