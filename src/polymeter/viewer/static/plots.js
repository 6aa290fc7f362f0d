// Draws the plots of a task with uPlot. Each stands beside its numbers: a script element with JSON, which has
//   kind          "bars" (x, y; labels of x or the width of a bin; mean), "reliability" or "means" (x, y, low, high, n)
//   x_label, y_label, ends (the ends of the x axis; null: those of x)
// Without this script, and for those who do not see it, the tables hold the same.
(() => {
  "use strict";

  const HEIGHT = 230;
  const drawn = new Map();

  function colours(node) {
    const style = getComputedStyle(node);
    const of = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
    return {
      ink: of("--ink", "#15191c"), soft: of("--soft", "#57626a"), rule: of("--rule", "#d5dcdf"),
      accent: of("--accent", "#0b6a63"), wash: of("--accent-wash", "#cfe6e2"), warm: of("--added", "#7a4a00"),
      font: `12px ${of("--sans", "sans-serif")}`,
    };
  }

  const short = (value) => (Math.abs(value) >= 10000 || (value !== 0 && Math.abs(value) < 0.001) ? value.toPrecision(2) : String(+value.toPrecision(4)));

  function axes(data, look, place) {
    const common = { stroke: look.soft, font: look.font, labelFont: look.font, labelSize: 18, grid: { stroke: look.rule, width: 1 }, ticks: { stroke: look.rule, width: 1, size: 4 } };
    const bottom = { ...common, label: data.x_label, size: 34, grid: { show: false }, values: (u, splits) => splits.map(short) };
    if (data.labels) {
      // As many labels as fit without running into each other; the table has all of them.
      bottom.splits = () => data.x;
      bottom.values = (u) => {
        const longest = Math.max(...data.labels.map((label) => label.length)) * 7 + 10;
        const every = Math.max(1, Math.ceil((longest * data.labels.length) / Math.max(u.bbox.width / devicePixelRatio, 1)));
        return data.labels.map((label, number) => (number % every ? "" : label));
      };
    }
    const left = { ...common, label: data.y_label, size: 52, values: (u, splits) => splits.map(short) };
    return [bottom, place === "share" ? { ...left, values: (u, splits) => splits.map((value) => `${Math.round(100 * value)} %`) } : left];
  }

  // A line over the plot, from values of both axes.
  function line(u, from, to, stroke, dash) {
    const { ctx } = u;
    ctx.save();
    ctx.beginPath();
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
    ctx.moveTo(u.valToPos(from[0], "x", true), u.valToPos(from[1], "y", true));
    ctx.lineTo(u.valToPos(to[0], "x", true), u.valToPos(to[1], "y", true));
    ctx.stroke();
    ctx.restore();
  }

  function bars(data, look) {
    const step = data.width || 1;
    const [low, high] = data.ends && data.width ? data.ends : [Math.min(...data.x) - step / 2, Math.max(...data.x) + step / 2];
    return {
      scales: { x: { time: false, range: () => [low, high] }, y: { range: (u, min, max) => [0, Math.max(max, 1) * 1.05] } },
      axes: axes(data, look),
      series: [{}, { stroke: look.accent, fill: look.wash, width: 1, points: { show: false }, paths: uPlot.paths.bars({ size: [data.width ? 1 : 0.7, 90], gap: data.width ? 1 : 0 }) }],
      hooks: { draw: [(u) => { if (typeof data.mean === "number") line(u, [data.mean, u.scales.y.min], [data.mean, u.scales.y.max], look.warm, [5, 3]); }] },
      data: [data.x, data.y],
    };
  }

  function points(data, look) {
    const isShare = data.kind === "reliability";
    const margin = (Math.max(...data.x) - Math.min(...data.x)) * 0.05 || 1;
    const x = isShare ? [0, 1] : [Math.min(...data.x) - margin, Math.max(...data.x) + margin];
    const least = Math.min(...data.low, ...data.y);
    const most = Math.max(...data.high, ...data.y);
    const y = isShare ? [0, 1] : [least - ((most - least) * 0.08 || 0.5), most + ((most - least) * 0.08 || 0.5)];
    const largest = Math.max(...data.n);
    const shown = axes(data, look, isShare ? "share" : "");
    if (isShare) shown[0].values = (u, splits) => splits.map((value) => `${Math.round(100 * value)} %`);
    return {
      scales: { x: { time: false, range: () => x }, y: { range: () => y } },
      axes: shown,
      series: [{}, { stroke: look.accent, width: 1.5, points: { show: false } }],
      hooks: { draw: [(u) => {
        if (isShare) line(u, [0, 0], [1, 1], look.soft, [5, 4]);
        data.x.forEach((value, place) => {
          line(u, [value, data.low[place]], [value, data.high[place]], look.accent, []);
          const { ctx } = u;
          ctx.save();
          ctx.beginPath();
          ctx.fillStyle = look.accent;
          // The area of a point grows with the number of its samples.
          const radius = (isShare ? 2.5 + 5 * Math.sqrt(data.n[place] / largest) : 3.5) * devicePixelRatio;
          ctx.arc(u.valToPos(value, "x", true), u.valToPos(data.y[place], "y", true), radius, 0, 2 * Math.PI);
          ctx.fill();
          ctx.restore();
        });
      }] },
      data: [data.x, data.y],
    };
  }

  function draw(chart) {
    const source = chart.nextElementSibling;
    if (!source || typeof uPlot === "undefined") return;
    chart.hidden = false;
    const data = JSON.parse(source.textContent);
    const before = drawn.get(chart);
    if (before) before.destroy();
    const { data: series, ...options } = (data.kind === "bars" ? bars : points)(data, colours(chart));
    const width = Math.max(chart.clientWidth, 200);
    drawn.set(chart, new uPlot({ width, height: HEIGHT, legend: { show: false }, cursor: { show: false }, padding: [8, 20, 0, 0], ...options }, series, chart));
  }

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const plot = drawn.get(target);
      const width = Math.max(target.clientWidth, 200);
      if (plot && plot.width !== width) plot.setSize({ width, height: HEIGHT });
    }
  });

  function ready(root) {
    for (const chart of root.querySelectorAll("[data-p-chart]")) {
      if (drawn.has(chart)) continue;
      draw(chart);
      resized.observe(chart);
    }
    for (const chart of drawn.keys()) if (!chart.isConnected) { resized.unobserve(chart); drawn.delete(chart); }
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const chart of [...drawn.keys()]) draw(chart); });
  document.addEventListener("htmx:load", (event) => ready(event.target));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => ready(document));
  else ready(document);
})();
