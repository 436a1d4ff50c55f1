// Charts in their places, and the controls that belong to them.

const charts = new Map();

function draw(place) {
  const chart = charts.get(place);
  if (chart.width <= 100) return;
  const which = chart.views[chart.view];
  (which.shape === "rows" ? drawRows : drawFramed)(chart.host, which, chart.log, chart.read);
  chart.legend?.replaceWith((chart.legend = legend(which)));
}

// A chart is drawn as soon as it has a size, and again whenever its width changes.
const sizes = new ResizeObserver((changes) => {
  for (const { target, contentRect } of changes) {
    const chart = charts.get(target.id);
    if (chart.width === contentRect.width) continue;
    chart.width = contentRect.width;
    draw(target.id);
  }
});

// Puts charts into their place on the page, or new data into charts that are there.
function put(place, views) {
  const host = document.getElementById(place), known = charts.get(place);
  if (!host || !views.length) return;
  if (known) {
    known.views = views;
    known.view = Math.min(known.view, views.length - 1);
    draw(place);
    return;
  }
  const chart = { host, views, view: 0, log: views[0].xLog || views[0].yLog, width: 0, read: readable(host), legend: null };
  charts.set(place, chart);
  if (data.names.length === 0) host.after((chart.legend = legend(views[0])));
  sizes.observe(host);
}

for (const [place, views] of Object.entries(data.charts)) put(place, views);

const press = (buttons, pressed) => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button === pressed)));

for (const group of document.querySelectorAll("[data-scale]")) {
  const places = group.dataset.scale.split(" "), buttons = [...group.querySelectorAll("button")];
  group.hidden = !places.some((place) => charts.get(place)?.views.some((chart) => chart.canSwitch)); // nothing to switch
  buttons.forEach((button) => button.addEventListener("click", () => {
    press(buttons, button);
    for (const place of places) { charts.get(place).log = button.value === "log"; draw(place); }
  }));
}

function view(place, index) {
  charts.get(place).view = index;
  draw(place);
}

for (const control of document.querySelectorAll("[data-view]")) {
  const place = control.dataset.view, buttons = [...control.querySelectorAll("button")];
  if (control.tagName === "SELECT") {
    control.addEventListener("change", () => view(place, Number(control.value)));
    charts.get(place).view = Number(control.value); // a browser may remember an earlier choice
  }
  buttons.forEach((button) => button.addEventListener("click", () => { press(buttons, button); view(place, Number(button.value)); }));
}

for (const button of document.querySelectorAll("[data-name]")) {
  const name = data.names[Number(button.dataset.name)];
  button.addEventListener("click", () => {
    if (!shown.delete(name)) shown.add(name);
    for (const alike of document.querySelectorAll(`[data-name="${button.dataset.name}"]`)) alike.setAttribute("aria-pressed", String(shown.has(name)));
    for (const place of charts.keys()) draw(place);
  });
}

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch {}
});

for (const element of document.querySelectorAll("[data-key]")) element.prepend(key(Number(element.dataset.key)));
