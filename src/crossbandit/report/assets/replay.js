// The charts of a replayed log: surplus or regret over time, and bids by value.

const shownSum = choices(document.getElementById("what"), [["regret", "regret"], ["surplus", "surplus"]], { what: "regret" }, "what");

function overTime() {
  const best = data.series[data.comparator].mean;
  const regret = (one) => ({ ...one, mean: one.mean.map((sum, i) => best[i] - sum) });
  return {
    places: data.auctions,
    series: shownSum.what === "regret" ? data.series.map(regret) : data.series,
    x: "auction",
    y: shownSum.what,
    title: (auction) => `after ${number(auction, 0)} auctions`,
    digits: data.digits,
  };
}

const byValue = () => ({
  places: data.values,
  series: data.bids,
  x: "value",
  y: "bid",
  title: (value) => `value ${tickText(value)}`,
  digits: 3,
  diagonal: true,
});

const timeHost = document.getElementById("over-time"), bidsHost = document.getElementById("bids");
add(timeHost, linesChart(timeHost, overTime), shownSum);
add(bidsHost, linesChart(bidsHost, byValue));
