"use strict";
// Draws the charts of the page. Errors are left on <body data-error> for tests and readers.
addEventListener("error", (event) => { document.body.dataset.error = event.message; });
addEventListener("unhandledrejection", (event) => { document.body.dataset.error = event.reason; });

const dark = matchMedia("(prefers-color-scheme: dark)");

function theme() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const axis = {
    labelColor: color("--faint"), titleColor: color("--faint"), tickColor: color("--line"),
    domainColor: color("--line"), gridColor: color("--line"), gridOpacity: 0.6,
    labelFontSize: 11, titleFontSize: 11, titleFontWeight: 400,
  };
  return {
    background: null, font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null }, axis,
    legend: { labelColor: color("--text"), titleColor: color("--faint"), labelFontSize: 11 },
    title: { color: color("--faint"), fontSize: 12, fontWeight: 600 },
  };
}

function draw(holder, spec) {
  const config = { renderer: "svg", actions: false, config: theme() };
  return vegaEmbed(holder, fitted(structuredClone(spec), holder.clientWidth), config)
    .then(() => { holder.dataset.drawn = "yes"; });
}

// A concatenation has no container width of its own: each of its parts gets the page's.
function fitted(spec, width) {
  for (const part of spec.vconcat || []) part.width = Math.max(200, width - 150);
  return spec;
}

const charts = [...document.querySelectorAll("script[data-chart]")].map((script) => ({
  holder: document.getElementById(script.dataset.chart), spec: JSON.parse(script.textContent),
}));

// One after the other from the top, giving way to the reader between two.
async function drawInTurn() {
  for (const chart of charts) {
    await draw(chart.holder, chart.spec);
    await new Promise((resume) => setTimeout(resume));
  }
}
drawInTurn();

const drawAll = () => Promise.all(charts.map((c) => draw(c.holder, c.spec)));
dark.addEventListener("change", drawAll);
addEventListener("beforeprint", drawAll);
