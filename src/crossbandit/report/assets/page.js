"use strict";
// Draws the charts from the JSON beside this script. Nothing is loaded, nothing is sent.
(() => {
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

  // Each method has a shape as well as a colour.
  const shapes = [
    (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
    (r) => `M${-r * 0.88},${-r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`,
    (r) => `M0,${-r * 1.15}L${r * 1.1},${r * 0.8}H${-r * 1.1}z`,
    (r) => `M0,${-r * 1.25}L${r * 1.1},0L0,${r * 1.25}L${-r * 1.1},0z`,
    (r) => `M0,${r * 1.15}L${r * 1.1},${-r * 0.8}H${-r * 1.1}z`,
    (r) => `M${-r},${-r / 3}h${r * 0.67}v${-r * 0.67}h${r * 0.67}v${r * 0.67}h${r * 0.67}v${r * 0.67}h${-r * 0.67}v${r * 0.67}h${-r * 0.67}v${-r * 0.67}h${-r * 0.67}z`,
    (r) => `M${-r},${-r}L0,${-r / 3}L${r},${-r}L${r / 3},0L${r},${r}L0,${r / 3}L${-r},${r}L${-r / 3},0z`,
  ];
  const shape = (method, r) => shapes[method % shapes.length](r);

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
    return [low, high + 0.06 * (high - low || 1)];
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

  // ------------------------------------------------------------------------------ final regret

  const interval = ({ regret, half }) => [regret - (half ?? 0), regret + (half ?? 0)];

  function sweepChart(host, sweep) {
    const read = readable(host);
    return ({ log }) => {
      const entries = sweep.entries.filter((entry) => shown.has(entry.method));
      const useLog = log && sweep.log;
      const values = entries.flatMap(interval);
      const places = sweep.settings.map((setting) => setting.value);
      const labels = sweep.methods.map((method) => data.methods[method]);
      if (sweep.reference) labels.push("square root");
      const { picture, px, py, box } = frame(host, {
        x: { domain: [Math.min(...places), Math.max(...places)], log: useLog, inset: 14, title: sweep.axis, ticks: sweep.settings.map((s) => [s.value, s.label]) },
        y: { domain: extent(values, useLog), log: useLog, title: "final regret" },
        right: isRoomy(host) ? nameRoom(labels) : 14,
      });
      const ends = [];
      if (sweep.reference) reference(picture, sweep, entries, px, py, ends);
      for (const method of sweep.methods) {
        const column = entries.filter((entry) => entry.method === method);
        if (!column.length) continue;
        drawColumn(picture, sweep, column, method, px, py);
        ends.push({ y: py(column.at(-1).regret), label: data.methods[method], className: color(method) });
      }
      if (isRoomy(host)) names(picture, box, ends);
      read({ picture, box, places: places.map(px), describe: (index) => describeSetting(sweep, entries, index, isRoomy(host)) });
    };
  }

  function reference(picture, sweep, entries, px, py, ends) {
    const column = entries.filter((entry) => entry.method === sweep.methods[0]);
    if (column.length < 2) return;
    const start = sweep.settings[column[0].setting].value, stop = sweep.settings[column.at(-1).setting].value;
    const root = (x) => column[0].regret * Math.sqrt(x / start);
    const steps = Array.from({ length: 41 }, (_, i) => start * (stop / start) ** (i / 40));
    svg("path", { d: path(steps.map((x) => [px(x), py(root(x))])), class: "reference" }, picture);
    ends.push({ y: py(root(stop)), label: "square root", className: "" });
  }

  function drawColumn(picture, sweep, column, method, px, py) {
    const group = svg("g", { class: color(method) }, picture);
    const at = (entry) => [px(sweep.settings[entry.setting].value), py(entry.regret)];
    svg("path", { d: path(column.map(at)), class: "curve" }, group);
    for (const entry of column) {
      const [x, y] = at(entry);
      if (entry.half !== null) {
        const low = py(Math.max(entry.regret - entry.half, 1e-9)), high = py(entry.regret + entry.half);
        svg("path", { d: `M${x},${low}V${high}M${x - 4},${low}h8M${x - 4},${high}h8`, class: "bar" }, group);
      }
      svg("path", { d: shape(method, 4.5), transform: `translate(${x},${y})`, class: "mark" }, group);
    }
  }

  const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

  function describeSetting(sweep, entries, index, roomy) {
    const here = entries.filter((entry) => entry.setting === index).sort((a, b) => b.regret - a.regret);
    const published = here.some((entry) => entry.paper !== null);
    const beside = (entry) => (entry.paper === null ? ["–", "–"] : [number(entry.paper), signed(entry.difference)]);
    const kept = published ? (roomy ? [0, 1] : [1]) : []; // a phone has room for the difference only
    return {
      title: `${sweep.symbol} = ${sweep.settings[index].label}`,
      head: ["regret", ...kept.map((i) => ["paper", "difference"][i])],
      rows: here.map((entry) => ({
        method: entry.method,
        label: data.methods[entry.method],
        cells: [plusMinus(entry.regret, entry.half), ...kept.map((i) => beside(entry)[i])],
      })),
    };
  }

  // Environments without a place on an axis of numbers stand one below the other.
  function rowsChart(host, sweep) {
    return ({ log }) => {
      const entries = sweep.entries.filter((entry) => shown.has(entry.method));
      const { picture, width, height } = canvas(host);
      const useLog = log && entries.every((entry) => interval(entry)[0] > 0);
      const domain = extent(entries.flatMap(interval), useLog);
      const box = { left: 8, right: width - 24, top: 8, bottom: height - 42 };
      const px = scale(useLog, domain, [box.left, box.right]);
      const step = (box.bottom - box.top) / sweep.settings.length;
      for (const tick of useLog ? logTicks(domain) : linearTicks(domain, width / 110)) {
        svg("line", { x1: px(tick), x2: px(tick), y1: box.top, y2: box.bottom, class: "grid" }, picture);
        text(picture, px(tick), box.bottom + 19, tickText(tick), { "text-anchor": "middle" });
      }
      text(picture, (box.left + box.right) / 2, height - 4, "final regret", { "text-anchor": "middle" });
      for (const [i, setting] of sweep.settings.entries()) {
        text(picture, 0, box.top + i * step + 12, setting.label, { class: "row" });
        svg("line", { x1: 0, x2: width, y1: box.top + (i + 1) * step, y2: box.top + (i + 1) * step, class: "axis" }, picture);
      }
      for (const entry of entries) drawInRow(picture, entry, px, box.top + (entry.setting + 0.5) * step + 8);
    };
  }

  function drawInRow(picture, entry, px, y) {
    const group = svg("g", { class: color(entry.method) }, picture);
    const [low, high] = interval(entry).map(px);
    svg("path", { d: `M${low},${y}H${high}`, class: "bar" }, group);
    const mark = svg("path", { d: shape(entry.method, 5), transform: `translate(${px(entry.regret)},${y})`, class: "mark" }, group);
    svg("title", {}, mark).textContent = `${data.methods[entry.method]}: ${plusMinus(entry.regret, entry.half)}`;
  }

  // ------------------------------------------------------------------------------ regret over time

  function curveChart(host, choose) {
    const read = readable(host);
    return ({ log }) => {
      const { rounds, series } = data.curves[choose.value];
      const visible = series.filter((one) => shown.has(one.method));
      const last = rounds.at(-1);
      const values = visible.flatMap((one) => one.mean.flatMap((mean, i) => (log && rounds[i] < last / 100 ? [] : [mean + (one.half?.[i] ?? 0), log ? mean : mean - (one.half?.[i] ?? 0)])));
      const domain = [log ? Math.max(rounds[0], last / 100) : 0, last];
      const ticks = (log ? logTicks(domain) : linearTicks(domain, Math.min(6, host.clientWidth / 90))).map((tick) => [tick, tickText(tick)]);
      const { picture, px, py, box } = frame(host, {
        x: { domain, log, title: "round", ticks },
        y: { domain: extent(values, log), log, title: "regret" },
        right: isRoomy(host) ? nameRoom(series.map((one) => data.methods[one.method])) : 14,
      });
      const kept = [...rounds.keys()].filter((i) => rounds[i] >= domain[0]);
      const clip = `clip-${host.id}`;
      svg("rect", { x: box.left, y: box.top - 8, width: box.right - box.left, height: box.bottom - box.top + 8 }, svg("clipPath", { id: clip }, picture));
      const ends = visible.map((one) => drawCurve(svg("g", { class: color(one.method), "clip-path": `url(#${clip})` }, picture), one, kept, rounds, px, py, log));
      if (isRoomy(host)) names(picture, box, ends);
      read({ picture, box, places: kept.map((i) => px(rounds[i])), describe: (index) => describeRound(visible, rounds, kept[index]) });
    };
  }

  function drawCurve(group, one, kept, rounds, px, py, log) {
    const safe = log ? (value) => Math.max(value, 1e-3) : (value) => value;
    const line = kept.map((i) => [px(rounds[i]), py(safe(one.mean[i]))]);
    if (one.half) {
      const edge = (sign) => kept.map((i) => [px(rounds[i]), py(safe(one.mean[i] + sign * one.half[i]))]);
      svg("path", { d: path([...edge(1), ...edge(-1).reverse()]) + "z", class: "band" }, group);
    }
    svg("path", { d: path(line), class: "curve" }, group);
    return { y: line.at(-1)[1], label: data.methods[one.method], className: color(one.method) };
  }

  function describeRound(visible, rounds, i) {
    const rows = visible.map((one) => ({ mean: one.mean[i], method: one.method, label: data.methods[one.method], cells: [one.half ? `${number(one.mean[i], 1)} ± ${number(one.half[i], 1)}` : number(one.mean[i], 1)] }));
    return { title: `round ${number(rounds[i], 0)}`, head: ["regret"], rows: rows.sort((a, b) => b.mean - a.mean) };
  }

  // ------------------------------------------------------------------------------ other loss tables

  function spreadChart(host, sweep, spreads) {
    const read = readable(host);
    const all = data.spreads.flatMap((one) => [one.here, ...one.others.map(([, share]) => share)]);
    const most = Math.max(data.tolerance, ...all.map(Math.abs)) * 1.1;
    return () => {
      const visible = spreads.filter((one) => shown.has(one.method));
      const { picture, px, py, box } = frame(host, {
        x: { domain: [-0.5, sweep.settings.length - 0.5], title: sweep.axis, ticks: sweep.settings.map((s, i) => [i, s.label]) },
        y: { domain: [-most, most], title: "difference from the paper", ticks: linearTicks([-most, most], 6), text: (share) => `${tickText(Math.round(1000 * share) / 10)} %` },
      });
      const band = svg("rect", { x: box.left, width: box.right - box.left, y: py(data.tolerance), height: py(-data.tolerance) - py(data.tolerance), class: "tolerance" });
      picture.prepend(band);
      svg("line", { x1: box.left, x2: box.right, y1: py(0), y2: py(0), class: "zero" }, picture);
      const column = (px(1) - px(0)) / (sweep.methods.length + 1);
      for (const one of visible) {
        const x = px(one.setting) + column * (sweep.methods.indexOf(one.method) - (sweep.methods.length - 1) / 2);
        const group = svg("g", { class: color(one.method) }, picture);
        for (const [, share] of one.others) svg("path", { d: `M${x - 5},${py(share)}h10`, class: "tick" }, group);
        svg("path", { d: shape(one.method, 4.5), transform: `translate(${x},${py(one.here)})`, class: "mark" }, group);
      }
      read({ picture, box, places: sweep.settings.map((_, i) => px(i)), describe: (index) => describeSpread(sweep, visible, index) });
    };
  }

  function describeSpread(sweep, visible, index) {
    const here = visible.filter((one) => one.setting === index);
    const range = (one) => [Math.min, Math.max].map((pick) => signed(pick(...one.others.map(([, share]) => share)))).join(" to ");
    return {
      title: `${sweep.symbol} = ${sweep.settings[index].label}`,
      head: ["this table", "other tables"],
      rows: here.map((one) => ({ method: one.method, label: data.methods[one.method], cells: [signed(one.here), range(one)] })),
    };
  }

  // ------------------------------------------------------------------------------ controls

  function draw(chart) {
    if (chart.width > 100) chart.render({ log: chart.scale?.log ?? false });
  }

  // A switch between logarithmic and linear axes, for the charts that it is given to.
  function scaleSwitch(host, log) {
    const state = { log };
    const buttons = [["log", true], ["linear", false]].map(([name, value]) => {
      const button = html("button", { className: "button", type: "button", textContent: name });
      button.setAttribute("aria-pressed", String(value === log));
      button.addEventListener("click", () => {
        state.log = value;
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        charts.filter((chart) => chart.scale === state).forEach(draw);
      });
      return button;
    });
    host.append(...buttons);
    return state;
  }

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
  const sweepScale = scaleSwitch(document.getElementById("sweep-scale"), true);
  for (const [i, sweep] of data.sweeps.entries()) {
    const host = document.getElementById(`sweep-${i}`), spread = document.getElementById(`spread-${i}`);
    add(host, (sweep.numeric ? sweepChart : rowsChart)(host, sweep), sweepScale);
    if (spread) add(spread, spreadChart(spread, sweep, data.spreads.filter((one) => one.sweep === i)));
  }
  const over = document.getElementById("curves"), choose = document.getElementById("point");
  const curves = add(over, curveChart(over, choose), scaleSwitch(document.getElementById("curve-scale"), false));
  choose.addEventListener("change", () => draw(curves));
})();
