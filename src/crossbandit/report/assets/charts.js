// What the charts of every page are made of; each page has a script of its own that follows.
// Everything is drawn from the JSON in the page: nothing is loaded, nothing is sent.
const data = JSON.parse(document.getElementById("data").textContent);
const live = document.getElementById("live");
const shown = new Set(data.methods.keys());
const charts = [];
const COLORS = 7;

// ------------------------------------------------------------------------------ small tools

const number = (value, digits = 2) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
const signed = (share) => {
  const text = Math.abs(100 * share).toFixed(1);
  return (text === "0.0" ? "" : share < 0 ? "−" : "+") + text + " %";
};
const color = (method) => `m${method % COLORS}`;

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

// Each method has a shape as well as a colour; when the colours begin again, the shapes have moved on.
const shapes = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  (r) => `M${-r * 0.88},${-r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`,
  (r) => `M0,${-r * 1.15}L${r * 1.1},${r * 0.8}H${-r * 1.1}z`,
  (r) => `M0,${-r * 1.25}L${r * 1.1},0L0,${r * 1.25}L${-r * 1.1},0z`,
  (r) => `M0,${r * 1.15}L${r * 1.1},${-r * 0.8}H${-r * 1.1}z`,
  (r) => `M${-r},${-r / 3}h${r * 0.67}v${-r * 0.67}h${r * 0.67}v${r * 0.67}h${r * 0.67}v${r * 0.67}h${-r * 0.67}v${r * 0.67}h${-r * 0.67}v${-r * 0.67}h${-r * 0.67}z`,
  (r) => `M${-r},${-r}L0,${-r / 3}L${r},${-r}L${r / 3},0L${r},${r}L0,${r / 3}L${-r},${r}L${-r / 3},0z`,
];
const shape = (method, r) => shapes[(method + Math.floor(method / COLORS)) % shapes.length](r);

function key(method) {
  const picture = svg("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12, class: `key ${color(method)}`, "aria-hidden": "true" });
  svg("path", { d: shape(method, 4.6), fill: "currentColor" }, picture);
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
  let low = Math.min(...kept), high = Math.max(...kept);
  if (log) return [low / 1.12, high * 1.12];
  low = Math.min(0, low);
  const margin = 0.06 * (high - low || 1);
  return [low < 0 ? low - margin : low, high + margin];
}

function linearTicks([low, high], count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) ticks.push(i * step || 0); // never -0
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

const tickText = (value) => {
  const size = Math.abs(value);
  return value.toLocaleString("en", { maximumFractionDigits: size >= 10 || size === 0 ? 1 : 3 }).replace("-", "−");
};

// ------------------------------------------------------------------------------ a chart's frame

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
  const yTicks = y.ticks ?? (y.log ? logTicks(y.domain) : linearTicks(y.domain, height / 60));
  const yText = y.text ?? tickText;
  const left = 12 + widest(yTicks.map(yText));
  const box = { left, right: width - right, top: 22, bottom: height - 42 };
  const px = scale(x.log, x.domain, [box.left + (x.inset ?? 0), box.right - (x.inset ?? 0)]);
  const py = scale(y.log, y.domain, [box.bottom, box.top]);
  text(picture, 0, 10, y.title);
  for (const tick of yTicks) {
    svg("line", { x1: box.left, x2: box.right, y1: py(tick), y2: py(tick), class: "grid" }, picture);
    text(picture, box.left - 8, py(tick) + 4, yText(tick), { "text-anchor": "end" });
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

function names(picture, box, ends) {
  ends.sort((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const end of ends) last = end.at = Math.max(end.y, last + 16);
  const over = last - box.bottom;
  let next = Infinity;
  if (over > 0) for (const end of ends.reverse()) next = end.at = Math.min(end.at, box.bottom, next - 16);
  for (const { at, label, className } of ends) text(picture, box.right + 12, at + 4, label, { class: `name ${className}` });
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
const widest = (labels) => Math.max(0, ...labels.map((label) => ruler.measureText(label).width));

const isRoomy = (host) => host.clientWidth > 480;
const nameRoom = (labels) => 16 + widest(labels);

// ------------------------------------------------------------------------------ reading values

// Pointer and arrow keys move over the places of a chart; a box beside them shows the values.
function readable(host) {
  const tip = html("div", { className: "tip", hidden: true });
  host.append(tip);
  const state = { places: [], index: -1, line: null };
  const clear = () => { tip.hidden = true; state.line?.remove(); state.index = -1; };
  const show = (index, aloud) => {
    const { picture, places, box, describe } = state;
    if (!places.length) return;
    if (index === state.index && !tip.hidden) return;
    state.index = index;
    state.line?.remove();
    state.line = svg("line", { x1: places[index], x2: places[index], y1: box.top, y2: box.bottom, class: "crosshair" });
    picture.prepend(state.line);
    const { title, head, rows } = describe(index);
    tip.replaceChildren(html("b", { textContent: title }), tipTable(head, rows));
    tip.hidden = false;
    const [x, y] = besides(places[index], host.clientWidth, tip.offsetWidth, box);
    tip.style.transform = `translate(${x}px, ${y}px)`;
    if (aloud) live.textContent = `${title}: ${rows.map((row) => [row.label, ...row.cells].join(" ")).join("; ")}`;
  };
  const nearest = (event) => {
    const at = event.clientX - host.getBoundingClientRect().left;
    let best = 0;
    state.places.forEach((place, i) => { if (Math.abs(place - at) < Math.abs(state.places[best] - at)) best = i; });
    show(best, false);
  };
  host.addEventListener("pointermove", nearest);
  host.addEventListener("pointerdown", nearest);
  // A finger leaves when it is lifted: what it asked for stays until the next touch elsewhere.
  host.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
  document.addEventListener("pointerdown", (event) => { if (!host.contains(event.target)) clear(); });
  host.addEventListener("blur", clear);
  host.addEventListener("keydown", (event) => {
    const last = state.places.length - 1, step = Math.max(1, Math.round(last / 40));
    const to = { ArrowRight: state.index + step, ArrowLeft: state.index < 0 ? last : state.index - step, Home: 0, End: last }[event.key];
    if (event.key === "Escape") clear();
    if (to === undefined) return;
    event.preventDefault();
    show(Math.max(0, Math.min(last, to)), true);
  });
  return (next) => { clear(); Object.assign(state, next); };
}

// To the right of a place, or to the left, or else below the chart: never over the place itself.
function besides(place, width, needed, box) {
  if (place + 14 + needed <= width) return [place + 14, box.top];
  if (place - 14 - needed >= 0) return [place - 14 - needed, box.top];
  return [Math.max(0, Math.min(width - needed, place - needed / 2)), box.bottom + 26];
}

function tipTable(head, rows) {
  const headRow = html("tr", {}, html("th", {}), ...head.map((name) => html("th", { className: "n", textContent: name })));
  const body = rows.map((row) => html("tr", {}, html("th", {}, key(row.method), row.label), ...row.cells.map((cell) => html("td", { className: "n", textContent: cell }))));
  return html("table", {}, ...(head.length > 1 ? [html("thead", {}, headRow)] : []), html("tbody", {}, ...body));
}

const plusMinus = (mean, half) => (half === null ? number(mean) : `${number(mean)} ± ${number(half)}`);

// ------------------------------------------------------------------------------ lines

const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

// Lines over an axis of numbers, with bands; `choose` returns what to draw: { places, series, x, y, title }.
function linesChart(host, choose) {
  const read = readable(host);
  return ({ log }) => {
    const { places, series, x, y, title, digits = 1, diagonal = false } = choose();
    const visible = series.filter((one) => shown.has(one.method));
    const last = places.at(-1);
    const values = visible.flatMap((one) => one.mean.flatMap((mean, i) => (log && places[i] < last / 100 ? [] : [mean + (one.half?.[i] ?? 0), log ? mean : mean - (one.half?.[i] ?? 0)])));
    const domain = [log ? Math.max(places[0], last / 100) : 0, last];
    const ticks = (log ? logTicks(domain) : linearTicks(domain, Math.min(6, host.clientWidth / 90))).map((tick) => [tick, tickText(tick)]);
    const { picture, px, py, box } = frame(host, {
      x: { domain, log, title: x, ticks },
      y: { domain: extent(values, log), log, title: y },
      right: isRoomy(host) ? nameRoom(series.map((one) => data.methods[one.method])) : 14,
    });
    const kept = [...places.keys()].filter((i) => places[i] >= domain[0]);
    const clip = `clip-${host.id}`;
    svg("rect", { x: box.left, y: box.top - 8, width: box.right - box.left, height: box.bottom - box.top + 8 }, svg("clipPath", { id: clip }, picture));
    if (diagonal) svg("path", { d: path([[px(0), py(0)], [px(last), py(last)]]), class: "reference", "clip-path": `url(#${clip})` }, picture);
    const ends = [...visible].reverse().map((one) => drawLine(svg("g", { class: color(one.method), "clip-path": `url(#${clip})` }, picture), one, kept, places, px, py, log));
    if (isRoomy(host)) names(picture, box, ends);
    read({ picture, box, places: kept.map((i) => px(places[i])), describe: (index) => describePlace(visible, kept[index], title(places[kept[index]]), y, digits) });
  };
}

function drawLine(group, one, kept, places, px, py, log) {
  const safe = log ? (value) => Math.max(value, 1e-3) : (value) => value;
  const line = kept.map((i) => [px(places[i]), py(safe(one.mean[i]))]);
  if (one.half) {
    const edge = (sign) => kept.map((i) => [px(places[i]), py(safe(one.mean[i] + sign * one.half[i]))]);
    svg("path", { d: path([...edge(1), ...edge(-1).reverse()]) + "z", class: "band" }, group);
  }
  svg("path", { d: path(line), class: "curve" }, group);
  return { y: line.at(-1)[1], label: data.methods[one.method], className: color(one.method) };
}

function describePlace(visible, i, title, what, digits) {
  const cell = (one) => (one.half ? `${number(one.mean[i], digits)} ± ${number(one.half[i], digits)}` : number(one.mean[i], digits));
  const rows = visible.map((one) => ({ mean: one.mean[i], method: one.method, label: data.methods[one.method], cells: [cell(one)] }));
  return { title, head: [what], rows: rows.sort((a, b) => b.mean - a.mean) };
}

// ------------------------------------------------------------------------------ controls

function draw(chart) {
  if (chart.width > 100) chart.render({ log: chart.scale?.log ?? false });
}

// Buttons of which one is pressed: it sets `state[name]`, for the charts that were given the state.
function choices(host, options, state, name) {
  const buttons = options.map(([label, value]) => {
    const button = html("button", { className: "button", type: "button", textContent: label });
    button.setAttribute("aria-pressed", String(value === state[name]));
    button.addEventListener("click", () => {
      state[name] = value;
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      charts.filter((chart) => chart.scale === state).forEach(draw);
    });
    return button;
  });
  host.append(...buttons);
  return state;
}

const scaleSwitch = (host, log) => choices(host, [["log", true], ["linear", false]], { log }, "log");

function methodButtons() {
  for (const host of document.querySelectorAll(".methods")) {
    for (const [method, label] of data.methods.entries()) {
      const button = html("button", { className: "button", type: "button" }, key(method), label);
      button.dataset.method = method;
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => toggle(method));
      host.append(button);
    }
  }
}

function toggle(method) {
  if (!shown.delete(method)) shown.add(method);
  for (const button of document.querySelectorAll(`[data-method="${method}"]`)) button.setAttribute("aria-pressed", String(shown.has(method)));
  charts.forEach(draw);
}

function themeButton() {
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch {}
  });
}

// ------------------------------------------------------------------------------ begin

// A chart is drawn as soon as it has a size, and again whenever its width changes.
const sizes = new ResizeObserver((changes) => {
  for (const { target, contentRect } of changes) {
    const chart = charts.find((one) => one.host === target);
    if (chart.width === contentRect.width) continue;
    chart.width = contentRect.width;
    draw(chart);
  }
});

function add(host, render, scale) {
  const chart = { host, render, scale, width: 0 };
  charts.push(chart);
  sizes.observe(host);
  return chart;
}

themeButton();
methodButtons();
for (const cell of document.querySelectorAll("[data-key]")) cell.prepend(key(Number(cell.dataset.key)));
