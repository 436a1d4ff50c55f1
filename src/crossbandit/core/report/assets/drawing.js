// Small tools, scales, axes and the box that shows values. Everything is drawn from the JSON in the
// page: nothing is loaded, nothing is sent.
const data = JSON.parse(document.getElementById("data").textContent);
const live = document.getElementById("live");
const shown = new Set(data.names);
const COLORS = 7;

// ------------------------------------------------------------------------------ numbers

const minus = (text) => text.replace("-", "−");
const fixed = (value, digits) => minus(value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const precise = (value) => minus(value !== 0 && Math.abs(value) < 0.01 ? value.toExponential(2) : Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 4 }));
const percent = (share) => {
  const text = Math.abs(100 * share).toFixed(1);
  return (text === "0.0" ? "" : share < 0 ? "−" : "+") + text + " %";
};
const tickText = (value) => {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return minus(Number(value.toPrecision(3)).toExponential());
  return minus(value.toLocaleString("en", { maximumFractionDigits: size >= 10 || size === 0 ? 2 : 5 }));
};
const tickPercent = (share) => `${tickText(Math.round(1e6 * share) / 1e4)} %`;

// How a chart writes its values.
const signed = (chart) => chart.series.some((one) => one.y.some((y) => y < 0));
const valueText = (chart) => (chart.percent ? (signed(chart) ? percent : (share) => percent(share).replace("+", "")) : chart.digits === null ? precise : (value) => fixed(value, chart.digits));

// ------------------------------------------------------------------------------ elements

function svg(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

function html(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function text(parent, x, y, content, attributes = {}) {
  svg("text", { x, y, ...attributes }, parent).textContent = content;
}

const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

// Each series has a shape as well as a colour; when the colours repeat, the shapes are others.
const shapes = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  (r) => `M${-r * 0.88},${-r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`,
  (r) => `M0,${-r * 1.15}L${r * 1.1},${r * 0.8}H${-r * 1.1}z`,
  (r) => `M0,${-r * 1.25}L${r * 1.1},0L0,${r * 1.25}L${-r * 1.1},0z`,
  (r) => `M0,${r * 1.15}L${r * 1.1},${-r * 0.8}H${-r * 1.1}z`,
  (r) => `M${-r},${-r / 3}h${r * 0.67}v${-r * 0.67}h${r * 0.67}v${r * 0.67}h${r * 0.67}v${r * 0.67}h${-r * 0.67}v${r * 0.67}h${-r * 0.67}v${-r * 0.67}h${-r * 0.67}z`,
  (r) => `M${-r},${-r}L0,${-r / 3}L${r},${-r}L${r / 3},0L${r},${r}L0,${r / 3}L${-r},${r}L${-r / 3},0z`,
];
const shape = (index, r) => shapes[(index + Math.floor(index / COLORS)) % shapes.length](r);
const color = (index) => `m${index % COLORS}`;

function key(index) {
  const picture = svg("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12, class: `key ${color(index)}`, "aria-hidden": "true" });
  svg("path", { d: shape(index, 4.6), fill: "currentColor" }, picture);
  return picture;
}

function dash() {
  const picture = svg("svg", { viewBox: "0 0 18 12", width: 18, height: 12, class: "key", "aria-hidden": "true" });
  svg("path", { d: "M0,6H18", class: "reference" }, picture);
  return picture;
}

// ------------------------------------------------------------------------------ scales, ticks

function scale(log, [low, high], [start, stop]) {
  const place = log ? Math.log : (value) => value;
  const from = place(low), span = place(high) - from || 1;
  return (value) => start + ((place(value) - from) / span) * (stop - start);
}

function extent(values, log) {
  const kept = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (kept.length === 0) return log ? [1, 10] : [0, 1];
  let low = Infinity, high = -Infinity;
  for (const value of kept) { low = Math.min(low, value); high = Math.max(high, value); }
  if (log) return [low / 1.12, high * 1.12];
  low = Math.min(0, low);
  high = Math.max(0, high) || (low ? 0 : 1); // zeros alone get an axis to 1
  const margin = 0.06 * (high - low || 1);
  return [low < 0 ? low - margin : low, high + margin];
}

function linearTicks([low, high], count) {
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * Math.abs(high); i++) ticks.push(i * step || 0); // never -0
  return ticks;
}

function logTicks([low, high]) {
  const between = (factors) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const factor of factors) ticks.push(factor * 10 ** power);
    }
    return ticks.filter((tick) => tick >= low && tick <= high);
  };
  const coarse = between([1, 2, 5]);
  return coarse.length > 8 ? between([1]) : coarse.length < 3 ? between([1, 1.5, 2, 3, 4, 5, 7]) : coarse;
}

// ------------------------------------------------------------------------------ times

// The time of a place, by the reader's clock: with the day if a chart covers more than one, with
// seconds if it covers less than an hour or `step` seconds are less than a minute.
function timeText(seconds, covered, step = covered < 3600 ? 1 : 60) {
  const time = new Date(1000 * seconds);
  const day = time.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  if (step >= 86400) return day;
  const clock = time.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) });
  return covered > 86400 ? `${day} ${clock}` : clock;
}

// Round times: whole minutes, hours and days of the reader's clock.
function timeTicks([low, high], count) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const days = Math.ceil((high - low) / Math.max(count, 1) / 86400);
  const step = steps.find((size) => size * Math.max(count, 1) >= high - low) ?? 86400 * days;
  const shift = 60 * new Date(1000 * low).getTimezoneOffset();
  const ticks = [];
  for (let i = Math.ceil((low - shift) / step); i * step + shift <= high; i++) ticks.push(i * step + shift);
  return ticks;
}

// ------------------------------------------------------------------------------ the frame of a chart

function canvas(host) {
  host.querySelector(":scope > svg")?.remove();
  const { width, height } = host.getBoundingClientRect();
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  host.prepend(picture);
  return { picture, width, height };
}

// Returns the drawing, its scales and its box; the axes are drawn.
function frame(host, { x, y, right = 14 }) {
  const { picture, width, height } = canvas(host);
  const yTicks = y.log ? logTicks(y.domain) : linearTicks(y.domain, height / 60);
  const left = 12 + widest(yTicks.map(y.text));
  const box = { left, right: width - right, top: 22, bottom: height - 42 };
  const px = scale(x.log, x.domain, [box.left + x.inset, box.right - x.inset]);
  const py = scale(y.log, y.domain, [box.bottom, box.top]);
  text(picture, 0, 10, y.title);
  for (const tick of yTicks) {
    svg("line", { x1: box.left, x2: box.right, y1: py(tick), y2: py(tick), class: "grid" }, picture);
    text(picture, box.left - 8, py(tick) + 4, y.text(tick), { "text-anchor": "end" });
  }
  svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "axis" }, picture);
  xTicks(picture, x, px, box);
  text(picture, (box.left + box.right) / 2, height - 4, x.title, { "text-anchor": "middle" });
  return { picture, px, py, box };
}

// Labels that would run into their neighbour are left out; their ticks stay.
function xTicks(picture, x, px, box) {
  let taken = -Infinity;
  for (const [value, label] of x.ticks) {
    const at = px(value), half = widest([label]) / 2;
    svg("line", { x1: at, x2: at, y1: box.bottom, y2: box.bottom + 5, class: "axis" }, picture);
    if (at - half < taken) continue;
    text(picture, at, box.bottom + 19, label, { "text-anchor": "middle" });
    taken = at + half + 6;
  }
}

// Names beside the ends of lines, moved apart where lines end close together.
function endLabels(picture, box, ends) {
  ends.sort((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const end of ends) last = end.at = Math.max(end.y, last + 16);
  let next = Infinity;
  if (last > box.bottom) for (const end of ends.reverse()) next = end.at = Math.min(end.at, box.bottom, next - 16);
  for (const { at, label, className } of ends) text(picture, box.right + 12, at + 4, label, { class: `name ${className}` });
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
const widest = (labels) => Math.max(0, ...labels.map((label) => ruler.measureText(label).width));

const isRoomy = (host) => host.clientWidth > 480;

// ------------------------------------------------------------------------------ reading values

// Pointer and arrow keys move over the places of a chart; a box beside them shows the values.
function readable(host) {
  const tip = html("div", { className: "tip", hidden: true });
  host.append(tip);
  const state = { places: [], index: -1, line: null };
  const clear = () => { tip.hidden = true; state.line?.remove(); state.index = -1; };
  const show = (index, aloud) => {
    const { picture, places, box, vertical, describe } = state;
    if (!places.length || (index === state.index && !tip.hidden)) return;
    state.index = index;
    state.line?.remove();
    const at = places[index];
    state.line = svg("line", vertical ? { x1: 0, x2: host.clientWidth, y1: at, y2: at, class: "crosshair" } : { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "crosshair" });
    picture.prepend(state.line);
    const { title, head, rows } = describe(index);
    tip.replaceChildren(html("b", { textContent: title }), tipTable(head, rows));
    tip.hidden = false;
    const [x, y] = vertical ? [Math.max(0, host.clientWidth - tip.offsetWidth), at + 14] : besides(at, host.clientWidth, tip.offsetWidth, box);
    tip.style.transform = `translate(${x}px, ${y}px)`;
    if (aloud) live.textContent = `${title}: ${rows.map((row) => [row.label, ...row.cells].join(" ")).join("; ")}`;
  };
  const nearest = (event) => {
    const bounds = host.getBoundingClientRect();
    const at = state.vertical ? event.clientY - bounds.top : event.clientX - bounds.left;
    let best = 0;
    state.places.forEach((place, i) => { if (Math.abs(place - at) < Math.abs(state.places[best] - at)) best = i; });
    show(best, false);
  };
  host.addEventListener("pointermove", nearest);
  host.addEventListener("pointerdown", nearest);
  // A finger leaves when it is lifted: the box stays until the next touch elsewhere.
  host.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
  document.addEventListener("pointerdown", (event) => { if (!host.contains(event.target)) clear(); });
  host.addEventListener("blur", clear);
  host.addEventListener("keydown", (event) => {
    const last = state.places.length - 1, step = Math.max(1, Math.round(last / 40));
    const on = state.index + step, back = state.index < 0 ? last : state.index - step;
    const to = { ArrowRight: on, ArrowDown: on, ArrowLeft: back, ArrowUp: back, Home: 0, End: last }[event.key];
    if (event.key === "Escape") clear();
    if (to === undefined || (!state.vertical && /Up|Down/.test(event.key))) return;
    event.preventDefault();
    show(Math.max(0, Math.min(last, to)), true);
  });
  // A chart that is drawn anew keeps showing the values that its reader looks at.
  return (next) => {
    const index = tip.hidden ? -1 : Math.min(state.index, next.places.length - 1);
    clear();
    Object.assign(state, { vertical: false }, next);
    if (index >= 0) show(index, false);
  };
}

// To the right of a place, or to the left, or else below the chart: never over the place itself.
function besides(place, width, needed, box) {
  if (place + 14 + needed <= width) return [place + 14, box.top];
  if (place - 14 - needed >= 0) return [place - 14 - needed, box.top];
  return [Math.max(0, Math.min(width - needed, place - needed / 2)), box.bottom + 26];
}

function tipTable(head, rows) {
  const headRow = html("tr", {}, html("th", {}), ...head.map((name) => html("th", { className: "n", textContent: name })));
  const body = rows.map((row) => html("tr", {}, html("th", {}, row.index === null ? dash() : key(row.index), row.label), ...row.cells.map((cell) => html("td", { className: "n", textContent: cell }))));
  return html("table", {}, ...(head.length > 1 ? [html("thead", {}, headRow)] : []), html("tbody", {}, ...body));
}
