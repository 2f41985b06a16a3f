// A plotly figure that is drawn once and then changed in place: nothing blinks, and what the reader zoomed to stays.
// plotly.js comes from this server, once a page, when the first figure asks for it.

// ── What does not need a browser ─────────────────────────────────────────────────────────────────────────────────

/** What `literal` in sheet.py wrote for plotly, as the text it was. */
export function unescaped(text) {
  return String(text).replace(/&lt;|&gt;|&#36;|&amp;/g, (entity) => ({ "&lt;": "<", "&gt;": ">", "&#36;": "$", "&amp;": "&" })[entity]);
}

/** Numbers as plotly takes them, packed (little-endian float32 in base64) or listed, as a list. */
export function listed(numbers) {
  if (!numbers || numbers.bdata === undefined) return [...(numbers ?? [])];
  const bytes = Uint8Array.from(atob(numbers.bdata), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

const number = (value) => (Number.isFinite(value) ? Number(exact(value).replaceAll("−", "-")) : "");

/** A figure's numbers as rows of cells: a table for a heat map, else curve, step, value. */
export function tableOf({ data, layout }, words) {
  const map = data.find((trace) => trace.type === "heatmap");
  if (map) {
    const label = (axis, i) => unescaped(layout[axis]?.ticktext?.[(layout[axis].tickvals ?? []).indexOf(i)] ?? i);
    const [rows, cols] = map.z.shape.split(",").map(Number);
    const z = listed(map.z);
    return [
      [words.row, ...Array.from({ length: cols }, (_, col) => label("xaxis", col))],
      ...Array.from({ length: rows }, (_, row) => [label("yaxis", row), ...z.slice(row * cols, (row + 1) * cols).map(number)]),
    ];
  }
  const rows = [[words.curve, "x", "y"]];
  for (const trace of data) {
    const [x, y] = [listed(trace.x), listed(trace.y)];
    x.forEach((at, i) => rows.push([unescaped(trace.name ?? ""), number(at), number(y[i])]));
  }
  return rows;
}

// ── The browser's part ───────────────────────────────────────────────────────────────────────────────────────────

/** plotly.js, asked for once a page; asked for again after it did not come. */
function plotly(address) {
  const asked = (globalThis.playgroundPlotly ??= new Promise((done, failed) => {
    if (globalThis.Plotly) return done(globalThis.Plotly);
    const tag = html("script", { src: address, async: true });
    tag.addEventListener("load", () => done(globalThis.Plotly));
    tag.addEventListener("error", () => {
      globalThis.playgroundPlotly = undefined;
      tag.remove();
      failed(new Error(address));
    });
    document.head.append(tag);
  }));
  return asked;
}

export default function plotLive({ data, parentElement }) {
  const view = kept(parentElement, () => {
    const plot = html("div", { class: "plot", role: "img" });
    const corner = html("div", { class: "corner" });
    const root = html("div", { class: "pg plot-live" }, [plot, corner]);
    parentElement.append(root);
    const view = { root, plot, corner, queue: Promise.resolve(), wanted: null, held: false };
    // While the reader draws a box or moves the picture, it does not change under the hand.
    const release = () => {
      view.held = false;
      if (view.wanted) ask(view);
    };
    const hold = () => {
      view.held = true;
      for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, release, { once: true, capture: true });
    };
    plot.addEventListener("pointerdown", hold, { capture: true });
    return view;
  });
  const { root, plot } = view;
  view.data = data;
  themed(root, data.theme);
  plot.setAttribute("aria-label", data.alt);
  if (view.saves !== `${data.filename} ${data.theme.name} ${data.words.save}`) {
    view.saves = `${data.filename} ${data.theme.name} ${data.words.save}`;
    view.corner.replaceChildren(saving(view));
  }
  ask(view);
  if (!view.watch) {
    view.watch = new ResizeObserver(() => {
      if (!plot.data || !plot.isConnected) return;
      if (view.isSlim === isSlim(view)) globalThis.Plotly.Plots.resize(plot);
      else ask(view);
    });
    view.watch.observe(root);
  }
  return () =>
    // Streamlit cleans up before it gives new data too; only what has left the page is thrown away.
    setTimeout(() => {
      if (root.isConnected) return;
      view.watch?.disconnect();
      view.watch = null;
      if (plot.data) globalThis.Plotly?.purge(plot);
    });
}

/** Whether there is another layout for a place as narrow as this. */
function isSlim({ root, data }) {
  return data.narrow !== null && root.clientWidth > 0 && root.clientWidth < data.slim;
}

/** Have the present data drawn: one after another, and what a drawing outlasted is left out. */
function ask(view) {
  const { figure, narrow } = view.data;
  view.isSlim = isSlim(view);
  const layout = view.isSlim ? narrow : figure.layout;
  // Room is taken before plotly has come, so that nothing moves when it does.
  view.root.style.minHeight = `${layout.height}px`;
  view.wanted = structuredClone({ data: figure.data, layout }); // plotly unpacks and completes what it is given
  view.queue = view.queue.then(() => drawn(view)).catch(() => missed(view));
}

async function drawn(view) {
  const Plotly = await plotly(view.data.plotly);
  const { wanted, plot, root } = view;
  if (wanted === null || view.held || !root.isConnected) return;
  view.wanted = null;
  // Another revision is another picture, which begins unzoomed: "show all" then shows all of it.
  const isSame = plot.data && plot.layout.uirevision === wanted.layout.uirevision;
  await Plotly[isSame ? "react" : "newPlot"](plot, wanted.data, wanted.layout, configOf(view.data.words));
  root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1);
}

function missed(view) {
  if (!view.plot.data) view.plot.replaceChildren(html("p", { class: "missed" }, view.data.words.failed));
}

function configOf(words) {
  return {
    displaylogo: false,
    displayModeBar: "hover",
    // Left are zoom, pan and reset. A list of lists would look new to plotly each time, and be drawn from nothing.
    modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "toggleSpikelines"],
    // Plotly would offer to send the picture to a server of its own.
    showSendToCloud: false,
    plotlyServerURL: "",
    doubleClick: "reset",
    scrollZoom: false,
    locale: "page",
    locales: {
      page: {
        dictionary: { Zoom: words.box, Pan: words.pan, "Reset axes": words.reset, "Double-click to zoom back out": words.hint },
        format: {},
      },
    },
  };
}

function saving(view) {
  const picture = async (format) => {
    const { theme } = view.data;
    const { clientWidth: width, clientHeight: height } = view.plot;
    const layout = { ...view.plot.layout, paper_bgcolor: theme.background, width, height };
    const address = await globalThis.Plotly.toImage({ data: view.plot.data, layout }, { format, width, height, scale: format === "png" ? 2 : 1 });
    return (await fetch(address)).blob();
  };
  const { words, theme, filename: name, alt } = view.data;
  return saveMenu({
    words,
    theme,
    name,
    label: alt,
    files: [
      [words.png, "png", () => picture("png")],
      [words.svg, "svg", () => picture("svg")],
      [words.csv, "csv", async () => new Blob(["\ufeff", csv(tableOf(view.data.figure, words))], { type: "text/csv" })],
    ],
  });
}
