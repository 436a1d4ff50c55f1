// The charts of a study: final regret, regret over time, other loss tables.

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

const regretOverTime = (choose) => () => {
  const { rounds, series } = data.curves[choose.value];
  return { places: rounds, series, x: "round", y: "regret", title: (round) => `round ${number(round, 0)}` };
};

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

// ------------------------------------------------------------------------------ begin

const switchHost = document.getElementById("sweep-scale");
const sweepScale = scaleSwitch(switchHost, true);
switchHost.hidden = !data.sweeps.some((sweep) => sweep.log || !sweep.numeric); // nothing to switch
for (const [i, sweep] of data.sweeps.entries()) {
  const host = document.getElementById(`sweep-${i}`), spread = document.getElementById(`spread-${i}`);
  add(host, (sweep.numeric ? sweepChart : rowsChart)(host, sweep), sweepScale);
  if (spread) add(spread, spreadChart(spread, sweep, data.spreads.filter((one) => one.sweep === i)));
}
const over = document.getElementById("curves"), choose = document.getElementById("point");
const curves = add(over, linesChart(over, regretOverTime(choose)), scaleSwitch(document.getElementById("curve-scale"), false));
choose.addEventListener("change", () => draw(curves));
