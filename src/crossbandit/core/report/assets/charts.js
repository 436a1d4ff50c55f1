// Charts: lines with bars or bands, stacked bars, rows, and symbols with dashes.

// A series' colour: that of its name where the page names its series, else by its place.
const indexOf = (chart, one) => (data.names.includes(one.name) ? data.names.indexOf(one.name) : chart.series.filter((other) => !other.reference).indexOf(one));
const isShown = (one) => shown.has(one.name) || !data.names.includes(one.name);
const xs = (chart, one) => one.x ?? chart.places;
const half = (one, i) => one.half?.[i] ?? 0;
const ends = (one, i) => (one.ends?.[i]?.includes(null) ? null : one.ends?.[i]) ?? [one.y[i] - half(one, i), one.y[i] + half(one, i)];

// What is positive is stacked upwards from zero, what is negative downwards, place by place.
function stack(chart, series) {
  const ends = new Map();
  return series.map((one) => one.y.map((y, i) => {
    if (chart.shape !== "stacked" || one.reference || y === null) return [0, y];
    const at = `${xs(chart, one)[i]} ${y < 0}`, from = ends.get(at) ?? 0;
    ends.set(at, from + y);
    return [from, from + y];
  }));
}

// Where the places of a chart stand: at their numbers, or one step apart.
function axis(chart, host, log) {
  const { places } = chart;
  const ordinal = chart.shape === "stacked" || chart.shape === "marks" || chart.xNames !== null;
  const position = ordinal ? (x) => places.indexOf(x) : (x) => x;
  const last = places.at(-1), dense = places.length > 30;
  const label = (x) => chart.xNames?.[x] ?? (chart.xTime ? timeText(x, last - places[0]) : tickText(x));
  // The first hundredth of a long curve would fill half of a logarithmic axis.
  const low = dense && !chart.xTime ? (log ? Math.max(places[0], last / 100) : Math.min(0, places[0])) : places[0];
  const domain = ordinal ? [-0.5, places.length - 0.5] : [low, last];
  const few = ordinal || places.length <= 6;
  const ticks = chart.ticks ?? (chart.xTime ? timeTicks(domain, Math.min(6, host.clientWidth / 90)) : few ? places : log ? logTicks(domain) : linearTicks(domain, Math.min(6, host.clientWidth / 90)));
  const inset = ordinal || dense ? 0 : 14;
  return { position, label, domain, log: log && !ordinal, inset, low: ordinal ? -Infinity : low, title: chart.x, ticks: ticks.map((tick) => [position(tick), chart.xTime ? timeText(tick, last - places[0], ticks[1] - ticks[0]) : label(tick)]) };
}

function framedChart(host, chart, logs) {
  const series = chart.series.filter(isShown);
  const log = chart.canSwitch ? logs : null;
  const xLog = log ?? chart.xLog, yLog = log ?? chart.yLog;
  const x = axis(chart, host, xLog), edges = stack(chart, series);
  // Charts of one group have one axis of values.
  const alike = chart.group ? Object.values(data.charts).map((views) => views[0]).filter((other) => other.group === chart.group) : [chart];
  const values = alike.flatMap((other) => other.series.filter(isShown).flatMap((one) => one.y.flatMap((y, i) => {
    if (y === null || xs(other, one)[i] < x.low) return [];
    const [low, high] = ends(one, i);
    return [yLog && other.bands ? y : low, high, ...(one.others?.[i] ?? [])];
  })));
  if (chart.shape === "stacked") values.push(...edges.flat(2));
  if (chart.tolerance !== null) values.push(1.1 * chart.tolerance, -1.1 * chart.tolerance);
  const named = chart.shape === "lines" && data.names.length > 0 && isRoomy(host);
  const drawn = frame(host, {
    x,
    y: { domain: extent(values, yLog), log: yLog, title: chart.y, text: chart.percent ? tickPercent : tickText },
    right: named ? 16 + widest(chart.series.map((one) => one.name)) : 14,
  });
  return { ...drawn, x, yLog, series, edges, named, at: (place) => drawn.px(x.position(place)) };
}

function drawFramed(host, chart, logs, read) {
  const drawn = framedChart(host, chart, logs);
  const { picture, py, box, x, series } = drawn;
  if (chart.tolerance !== null) {
    const [top, bottom] = [py(chart.tolerance), py(-chart.tolerance)];
    picture.prepend(svg("rect", { x: box.left, width: box.right - box.left, y: top, height: bottom - top, class: "tolerance" }));
    svg("line", { x1: box.left, x2: box.right, y1: py(0), y2: py(0), class: "zero" }, picture);
  }
  const clip = `clip-${host.id}`;
  svg("rect", { x: box.left - 8, y: box.top - 8, width: box.right - box.left + 16, height: box.bottom - box.top + 8 }, svg("clipPath", { id: clip }, picture));
  const ends = [];
  for (const one of [...series].reverse()) {
    const group = svg("g", { class: one.reference ? "" : color(indexOf(chart, one)), "clip-path": `url(#${clip})` }, picture);
    const kept = [...one.y.keys()].filter((i) => one.y[i] !== null && xs(chart, one)[i] >= x.low && (!drawn.yLog || one.y[i] > 0));
    if (!kept.length) continue;
    if (chart.shape === "stacked" && !one.reference) drawLayers(group, chart, one, kept, drawn);
    else if (chart.shape === "marks") drawMarks(group, chart, one, kept, drawn);
    else drawLine(group, chart, one, kept, drawn);
    // A line that ends elsewhere has no end beside which its name could stand.
    if (xs(chart, one)[kept.at(-1)] === chart.places.at(-1)) ends.push({ y: py(one.y[kept.at(-1)]), label: one.name, className: one.reference ? "" : color(indexOf(chart, one)) });
  }
  if (drawn.named) endLabels(picture, box, ends);
  const places = chart.places.filter((place) => place >= x.low);
  read({ picture, box, places: places.map(drawn.at), describe: (index) => describe(chart, series, places[index], x.label(places[index]), isRoomy(host)) });
}

function drawLine(group, chart, one, kept, { at, py, yLog }) {
  const place = (i) => at(xs(chart, one)[i]);
  const low = (i) => py(yLog ? Math.max(ends(one, i)[0], one.y[i] / 1e3) : ends(one, i)[0]);
  const high = (i) => py(ends(one, i)[1]);
  if (chart.bands && (one.half || one.ends)) {
    svg("path", { d: path([...kept.map((i) => [place(i), high(i)]), ...kept.map((i) => [place(i), low(i)]).reverse()]) + "z", class: "band" }, group);
  }
  svg("path", { d: path(kept.map((i) => [place(i), py(one.y[i])])), class: one.reference ? "reference" : one.dashed ? "curve dashed" : "curve" }, group);
  if (one.reference || chart.bands && kept.length > 30 || chart.xTime && kept.length > 1) return;
  for (const i of kept) {
    const x = place(i);
    if (!chart.bands && (half(one, i) || one.ends)) svg("path", { d: `M${x},${low(i)}V${high(i)}M${x - 4},${low(i)}h8M${x - 4},${high(i)}h8`, class: "bar" }, group);
    if (kept.length <= 30) svg("path", { d: shape(indexOf(chart, one), 4.5), transform: `translate(${x},${py(one.y[i])})`, class: "mark" }, group);
  }
}

function drawLayers(group, chart, one, kept, { at, py, edges, series }) {
  const [first, second] = chart.places;
  const wide = 0.6 * (second === undefined ? 100 : at(second) - at(first));
  for (const i of kept) {
    const [from, to] = edges[series.indexOf(one)][i].map(py);
    svg("rect", { x: at(xs(chart, one)[i]) - wide / 2, width: wide, y: Math.min(from, to), height: Math.abs(from - to), class: "layer" }, group);
  }
}

function drawMarks(group, chart, one, kept, { at, py, px }) {
  const column = (px(1) - px(0)) / (chart.series.length + 1);
  const shift = column * (chart.series.indexOf(one) - (chart.series.length - 1) / 2);
  for (const i of kept) {
    const x = at(xs(chart, one)[i]) + shift;
    for (const value of one.others?.[i] ?? []) svg("path", { d: `M${x - 5},${py(value)}h10`, class: "tick" }, group);
    svg("path", { d: shape(indexOf(chart, one), 4.5), transform: `translate(${x},${py(one.y[i])})`, class: "mark" }, group);
  }
}

// Places without numbers stand one below the other; values run from left to right.
function drawRows(host, chart, logs, read) {
  const { picture, width, height } = canvas(host);
  const series = chart.series.filter(isShown);
  const log = chart.canSwitch ? logs : chart.yLog;
  const domain = extent(series.flatMap((one) => one.y.flatMap((y, i) => (y === null ? [] : ends(one, i)))), log);
  const box = { left: 8, right: width - 24, top: 8, bottom: height - 42 };
  const px = scale(log, domain, [box.left, box.right]);
  const step = (box.bottom - box.top) / chart.places.length;
  for (const tick of log ? logTicks(domain) : linearTicks(domain, width / 110)) {
    svg("line", { x1: px(tick), x2: px(tick), y1: box.top, y2: box.bottom, class: "grid" }, picture);
    text(picture, px(tick), box.bottom + 19, tickText(tick), { "text-anchor": "middle" });
  }
  text(picture, (box.left + box.right) / 2, height - 4, chart.y, { "text-anchor": "middle" });
  const name = (place) => chart.xNames?.[place] ?? tickText(place);
  const middle = (place) => box.top + (chart.places.indexOf(place) + 0.5) * step + 8;
  for (const [i, place] of chart.places.entries()) {
    text(picture, 0, box.top + i * step + 12, name(place), { class: "row" });
    svg("line", { x1: 0, x2: width, y1: box.top + (i + 1) * step, y2: box.top + (i + 1) * step, class: "axis" }, picture);
  }
  for (const one of [...series].reverse()) {
    const group = svg("g", { class: one.reference ? "" : color(indexOf(chart, one)) }, picture);
    for (const [i, y] of one.y.entries()) {
      if (y === null) continue;
      const at = middle(xs(chart, one)[i]), [low, high] = ends(one, i).map(px);
      svg("path", { d: `M${low},${at}H${high}`, class: one.reference ? "reference" : one.ends ? "bar wide" : "bar" }, group);
      if (!one.reference) svg("path", { d: shape(indexOf(chart, one), 5), transform: `translate(${px(y)},${at})`, class: "mark" }, group);
    }
  }
  read({ picture, box, vertical: true, places: chart.places.map(middle), describe: (index) => describe(chart, series, chart.places[index], name(chart.places[index]), isRoomy(host)) });
}

// The values at one place, the highest first; a phone has room for the last detail only.
function describe(chart, series, place, label, roomy) {
  const write = valueText(chart);
  const rows = series.flatMap((one) => {
    const i = xs(chart, one).indexOf(place);
    if (i < 0 || one.y[i] === null) return [];
    const range = one.ends && !one.ends[i].includes(null) && `${write(one.ends[i][0])} to ${write(one.ends[i][1])}`;
    const value = range ? (one.reference ? range : `${write(one.y[i])} (${range})`) : write(one.y[i]) + (half(one, i) ? ` ± ${write(one.half[i])}` : "");
    const details = one.details?.[i] ?? chart.details.map(() => "–");
    return [{ y: one.y[i], index: one.reference ? null : indexOf(chart, one), label: one.name, cells: [value, ...(roomy ? details : details.slice(-1))] }];
  });
  if (chart.shape !== "stacked") rows.sort((a, b) => b.y - a.y);
  const details = roomy ? chart.details : chart.details.slice(-1);
  return { title: chart.shape === "rows" ? label : `${chart.x} ${label}`, head: [chart.y, ...details], rows };
}

// The names of the series that the page does not name elsewhere.
function legend(chart) {
  const items = chart.series.filter((one) => !data.names.includes(one.name)).map((one) => html("li", {}, one.reference ? dash() : key(indexOf(chart, one)), one.name));
  return html("ul", { className: "legend" }, ...items);
}
