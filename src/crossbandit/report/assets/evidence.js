// The charts of checked statements: lines with 95 % bars, or stacked bars; bounds are dashed.

const compact = (value) => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(0).replace("-", "−") : tickText(value));
const precise = (value) => (value !== 0 && Math.abs(value) < 0.01 ? value.toExponential(2) : Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 4 })).replace("-", "−");

// Bars need places, not numbers: each x stands one step from the next.
function placed(chart) {
  const places = [...new Set(chart.series.flatMap((one) => one.x))].sort((a, b) => a - b);
  const ordinal = chart.stacked || chart.xNames !== null;
  return {
    places,
    ordinal,
    position: ordinal ? (x) => places.indexOf(x) : (x) => x,
    label: (x) => chart.xNames?.[x] ?? compact(x),
  };
}

// What is positive is stacked upwards from zero, what is negative downwards, place by place.
function stack(chart) {
  const ends = new Map();
  return chart.series.map((one) =>
    one.y.map((y, j) => {
      if (!chart.stacked || one.reference) return [0, y];
      const at = `${one.x[j]} ${y < 0}`, from = ends.get(at) ?? 0;
      ends.set(at, from + y);
      return [from, from + y];
    }),
  );
}

function axis({ places, ordinal, position, label }, chart, width) {
  const domain = ordinal ? [-0.5, places.length - 0.5] : [places[0], places.at(-1)];
  const few = ordinal || places.length <= 6;
  const ticks = few ? places : chart.xLog ? logTicks(domain) : linearTicks(domain, Math.min(6, width / 90));
  return { domain, log: chart.xLog && !ordinal, inset: ordinal ? 0 : 10, title: chart.x, ticks: ticks.map((tick) => [position(tick), label(tick)]) };
}

function evidenceChart(host, chart) {
  const read = readable(host);
  const x = placed(chart), edges = stack(chart);
  return () => {
    const values = chart.series.flatMap((one, i) => edges[i].flatMap((edge, j) => [...(chart.stacked ? edge : edge.slice(1)), edge[1] + (one.half?.[j] ?? 0)]));
    const { picture, px, py, box } = frame(host, {
      x: axis(x, chart, host.clientWidth),
      y: { domain: extent(values, chart.yLog), log: chart.yLog, title: chart.y, text: compact },
    });
    const at = (place) => px(x.position(place));
    for (const [i, one] of chart.series.entries()) {
      const group = svg("g", { class: one.reference ? "" : color(i) }, picture);
      const kept = [...one.x.keys()].filter((j) => one.y[j] !== null && (!chart.yLog || one.y[j] > 0));
      if (chart.stacked && !one.reference) {
        const wide = 0.6 * (at(x.places[1] ?? x.places[0]) - at(x.places[0]) || 60);
        for (const j of kept) {
          const [from, to] = edges[i][j].map(py);
          svg("rect", { x: at(one.x[j]) - wide / 2, width: wide, y: Math.min(from, to), height: Math.abs(from - to), class: "layer" }, group);
        }
        continue;
      }
      const points = kept.map((j) => [at(one.x[j]), py(one.y[j])]);
      if (points.length) svg("path", { d: path(points), class: one.reference ? "reference" : "curve" }, group);
      if (!one.reference) for (const j of kept) mark(group, chart, one, i, j, at(one.x[j]), py);
    }
    read({ picture, box, places: x.places.map(at), describe: (index) => describeValues(chart, x, x.places[index]) });
  };
}

function mark(group, chart, one, i, j, x, py) {
  const half = one.half?.[j];
  if (half) {
    const low = py(chart.yLog ? Math.max(one.y[j] - half, one.y[j] / 1e3) : one.y[j] - half), high = py(one.y[j] + half);
    svg("path", { d: `M${x},${low}V${high}M${x - 4},${low}h8M${x - 4},${high}h8`, class: "bar" }, group);
  }
  if (one.x.length <= 30) svg("path", { d: shape(i, 4), transform: `translate(${x},${py(one.y[j])})`, class: "mark" }, group);
}

function describeValues(chart, x, place) {
  const rows = chart.series.flatMap((one, i) => {
    const j = one.x.indexOf(place);
    if (j < 0 || one.y[j] === null) return [];
    const half = one.half?.[j];
    return [{ method: i, label: one.name, cells: [precise(one.y[j]) + (half ? ` ± ${precise(half)}` : "")] }];
  });
  return { title: `${chart.x} ${x.label(place)}`, head: [chart.y], rows };
}

function legend(chart) {
  const dash = () => {
    const picture = svg("svg", { viewBox: "0 0 18 12", width: 18, height: 12, class: "key", "aria-hidden": "true" });
    svg("path", { d: "M0,6H18", class: "reference" }, picture);
    return picture;
  };
  const items = chart.series.map((one, i) => html("li", {}, one.reference ? dash() : key(i), one.name));
  return html("ul", { className: "legend" }, ...items);
}

for (const [i, chart] of data.charts.entries()) {
  const host = document.getElementById(`chart-${i}`);
  host.after(legend(chart));
  add(host, evidenceChart(host, chart));
}
