// The live page: a stream of events fills the table of bidders and what is shown of one of them.
// All text is set as text, so that no name can become a part of the page.

const byId = (id) => document.getElementById(id);
const QUIET = 10_000; // milliseconds without an event, after which the connection counts as lost
const SLOWEST = 10_000; // between two attempts to connect
const page = { chosen: null, rows: [], stream: null, updated: null, delay: 500, state: "", token: "", alerts: 0 };
try { page.token = sessionStorage.getItem("token") ?? ""; } catch {}

// ------------------------------------------------------------------------------ bidders at a glance

function spark(values) {
  const [width, height] = [104, 26];
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return picture;
  const low = Math.min(...known), high = Math.max(...known);
  const px = scale(false, [0, values.length - 1], [2, width - 2]), py = scale(false, [low, high], [height - 3, 3]);
  svg("path", { d: path(values.flatMap((value, i) => (value === null ? [] : [[px(i), py(value)]]))), class: "curve" }, picture);
  return picture;
}

function meter(limit) {
  const fill = html("i", {}), held = html("i", { className: "held" }), plan = html("b", {});
  const width = (share) => `${100 * Math.min(share, 1)}%`;
  fill.style.width = width(limit.share);
  held.style.width = width(limit.share + limit.held); // what is reserved follows what is spent
  plan.style.left = `${100 * Math.min(limit.plan ?? 0, 1)}%`;
  return html("div", { className: "meter" }, held, fill, ...(limit.plan === null ? [] : [plan]));
}

const STATES = { learning: "met", waiting: "not-judged", paused: "not-judged", behind: "not-met" };
const badge = (state) => html("span", { className: `status ${STATES[state] ?? "not-judged"}`, textContent: state });

function cell(className, label, ...children) {
  const made = html("td", { className }, ...children);
  if (label) made.dataset.label = label;
  return made;
}

function row(one) {
  const link = html("a", { href: `#${encodeURIComponent(one.name)}`, textContent: one.name });
  const head = html("th", { scope: "row" }, link);
  const spend = one.limit ? [...(one.limit.share === null ? [] : [meter(one.limit)]), html("small", { textContent: one.limit.text })] : [one.spend];
  const lag = html("span", { className: one.late ? "overdue" : "", textContent: one.lag });
  const alerts = one.alerts ? html("span", { className: "count", textContent: one.alerts }) : html("span", { className: "quiet", textContent: "0" });
  const made = html("tr", {}, head,
    cell("state", "", badge(one.state)),
    cell("n", "Win rate", one.win),
    cell("n", "Surplus", one.surplus),
    cell("trend", "", spark(one.spark)),
    cell(one.limit ? "spend" : "spend free", "Spend", ...spend),
    cell(one.late ? "n" : "n calm", "Lag", lag),
    cell(one.alerts ? "n" : "n calm", "Alerts", alerts));
  if (one.name === page.chosen) made.setAttribute("aria-current", "true");
  made.addEventListener("click", (event) => { if (!event.target.closest("a")) choose(one.name); });
  return made;
}

// Rows that have not changed stay: a reader may be about to click on them.
function showRows() {
  const wanted = byId("filter").value.trim().toLowerCase();
  const shownRows = page.rows.filter((one) => one.name.toLowerCase().includes(wanted));
  const body = byId("rows");
  const old = new Map([...body.children].map((element) => [element.dataset.row, element]));
  const made = shownRows.map((one) => {
    const text = JSON.stringify([one, one.name === page.chosen]);
    const element = old.get(text) ?? row(one);
    element.dataset.row = text;
    return element;
  });
  if (made.some((element, i) => body.children[i] !== element) || made.length !== body.children.length) {
    const focused = body.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    body.replaceChildren(...made);
    if (focused) [...body.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
  }
  byId("none").hidden = page.rows.length > 0;
  byId("list").hidden = page.rows.length === 0;
  byId("list").classList.toggle("short", page.rows.length <= 6);
  byId("find").hidden = page.rows.length <= 8;
}

// ------------------------------------------------------------------------------ one bidder

function tile([label, value, note]) {
  return html("div", {}, html("dt", { textContent: label }), html("dd", {}, value, html("small", { textContent: note })));
}

// When the period of a budget ends, by the reader's clock.
const until = (limit) => (limit.ends ? ` The period ends at ${timeText(limit.ends, Math.abs(limit.ends - Date.now() / 1000))}.` : "");

function showDetail(detail) {
  byId("name").replaceChildren(detail.name, " ", badge(detail.state));
  byId("about").textContent = detail.about;
  byId("alerts").replaceChildren(...detail.alerts.map((text) => html("li", { textContent: text })));
  byId("tiles").replaceChildren(...detail.tiles.map(tile));
  byId("limits").replaceChildren(...detail.limits.map((limit) => html("div", { className: "limit" }, limit.words + until(limit), ...(limit.share === null ? [] : [meter(limit)]))));
  byId("diagnosis").textContent = detail.diagnosis;
  byId("refusals").replaceChildren(...refusals(detail.refusals));
  for (const figure of document.querySelectorAll("figure[id]")) figure.hidden = !detail.places.includes(figure.id.slice(7));
  byId("detail").hidden = false; // before charts are drawn, which need a size
  for (const [place, chart] of Object.entries(detail.charts)) showChart(place, chart);
}

function showChart(place, chart) {
  const host = byId(place);
  const figure = byId(`figure-${place}`), empty = figure.querySelector(".empty");
  host.hidden = chart === null;
  empty.hidden = chart !== null;
  const known = charts.get(place);
  if (known?.legend) known.legend.hidden = chart === null;
  if (chart !== null) put(place, [chart]);
}

function refusals(pairs) {
  if (!pairs.length) return [];
  const rows = pairs.map(([cause, count]) => html("tr", {}, html("th", { scope: "row", textContent: cause }), html("td", { className: "n", textContent: count })));
  return [html("h3", { textContent: "Outcomes that were refused, by cause" }), html("table", {}, html("tbody", {}, ...rows))];
}

// The bidder that the address names; null if it names none.
function named() {
  try { return decodeURIComponent(location.hash.slice(1)) || null; } catch { return null; }
}

function choose(name) {
  location.hash = encodeURIComponent(name);
}

function follow() {
  const name = named();
  const chosen = page.rows.some((one) => one.name === name) ? name : page.rows[0]?.name ?? null;
  if (chosen === page.chosen) return;
  page.chosen = chosen;
  showRows();
  const list = byId("list"), current = list.querySelector("[aria-current]");
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 3; // not the whole page
  connect();
}

// ------------------------------------------------------------------------------ the stream

function say(state, words) {
  const badges = { live: "met", disconnected: "not-met" };
  byId("connection").className = `status ${badges[state] ?? "not-judged"}`;
  byId("connection").textContent = state;
  byId("updated").textContent = words;
  document.body.classList.toggle("stale", state === "disconnected");
  if (state !== page.state && page.state) live.textContent = `${state}. ${words}`;
  page.state = state;
}

const clock = (time) => time.toLocaleTimeString("en-GB");

function update(event) {
  page.updated = new Date();
  page.delay = 500;
  say("live", `updated ${clock(page.updated)}`);
  page.rows = event.rows;
  byId("overview").hidden = false;
  byId("summary").textContent = event.summary;
  const alerts = event.rows.reduce((sum, one) => sum + one.alerts, 0);
  if (alerts > page.alerts) live.textContent = event.summary; // for screen readers
  page.alerts = alerts;
  showRows();
  if (event.detail && event.detail.name === page.chosen) showDetail(event.detail);
  if (!page.rows.some((one) => one.name === page.chosen)) {
    byId("detail").hidden = true;
    page.chosen = null;
    if (page.rows.length) follow();
  }
}

async function read(response, signal) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const lost = setTimeout(() => signal.abort("quiet"), QUIET);
    const { value, done } = await reader.read().finally(() => clearTimeout(lost));
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) if (event.startsWith("data: ")) update(JSON.parse(event.slice(6)));
  }
}

// Ends the stream that is open, and opens one for the chosen bidder; again and again if it ends.
async function connect() {
  page.stream?.abort("another");
  const signal = new AbortController();
  page.stream = signal;
  const headers = page.token ? { Authorization: `Bearer ${page.token}` } : {};
  const address = page.chosen === null ? "events" : `events?bidder=${encodeURIComponent(page.chosen)}`;
  let words = "";
  try {
    const response = await fetch(address, { headers, signal: signal.signal, cache: "no-store" });
    if (response.status === 401 || response.status === 403) return ask(response.status);
    byId("access").hidden = true;
    if (response.ok) await read(response, signal);
    else words = `The service answers ${response.status}. `;
  } catch (error) {
    if (page.stream !== signal) return;
  }
  if (page.stream !== signal) return;
  const last = page.updated ? `last update ${clock(page.updated)}` : "no update yet";
  say("disconnected", `${words}${last}, trying again`);
  setTimeout(() => { if (page.stream === signal) connect(); }, page.delay);
  page.delay = Math.min(2 * page.delay, SLOWEST);
}

function ask(status) {
  say("access token needed", "");
  byId("overview").hidden = byId("detail").hidden = true;
  byId("refused").textContent = page.token || status === 403 ? "The service does not accept this token." : "";
  byId("access").hidden = false;
}

byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  page.token = byId("token").value.trim();
  try { sessionStorage.setItem("token", page.token); } catch {}
  connect();
});
byId("filter").addEventListener("input", showRows);
addEventListener("hashchange", () => { follow(); byId("name").focus({ preventScroll: true }); byId("detail").scrollIntoView(); });
// Nobody looks at a page that is hidden: the service need not work for it.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) connect();
  else { page.stream?.abort("hidden"); page.stream = null; }
});

page.chosen = named();
connect();
