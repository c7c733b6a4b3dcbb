"use strict";
(() => {
  const one = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // What is packed: base64 of gzip.
  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(one(id).textContent), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  one("download").addEventListener("click", async () => {
    const address = URL.createObjectURL(new Blob([await unpacked("evidence")], { type: "application/json" }));
    const link = Object.assign(document.createElement("a"), { href: address, download: "dataloader.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });

  // Theme: of the system until another one is asked for. A page opened as a file may have no storage.
  const themes = ["system", "light", "dark"];
  const kept = (value) => {
    try {
      if (value !== undefined) localStorage.setItem("pytest-dataloader-theme", value);
      return localStorage.getItem("pytest-dataloader-theme");
    } catch {
      return null;
    }
  };
  function wear(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    one("theme").textContent = `Theme: ${theme}`;
  }
  let theme = themes.includes(kept()) ? kept() : "system";
  wear(theme);
  one("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    kept(theme);
    wear(theme);
  });

  // The table of verdicts.
  const body = one("table").tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));
  function filter() {
    const words = one("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdict = one("verdict").value;
    const check = one("check").value;
    let shown = 0;
    for (const { row, text } of rows) {
      row.hidden = !(
        (!verdict || row.dataset.verdict === verdict) &&
        (!check || row.dataset.check === check) &&
        words.every((word) => text.includes(word))
      );
      shown += !row.hidden;
    }
    one("shown").textContent = `${shown} of ${rows.length}`;
  }
  one("filter").addEventListener("input", filter);
  one("filter").addEventListener("submit", (event) => event.preventDefault());
  filter();

  const order = new Intl.Collator(undefined, { numeric: true }).compare;
  for (const button of all("#table [data-sort]")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const down = head.getAttribute("aria-sort") === "ascending";
      all("#table th").forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = ({ row }) => {
        const cell = row.cells[Number(button.dataset.sort)];
        return cell.dataset.rank ?? cell.textContent;
      };
      const sorted = [...rows].sort((left, right) => order(key(left), key(right)) * (down ? -1 : 1));
      body.append(...sorted.map(({ row }) => row));
    });
  }

  // Loaders open where a link leads to them.
  function follow() {
    const target = location.hash && one(location.hash.slice(1));
    if (target && target.matches("details.loader")) {
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    }
  }
  addEventListener("hashchange", follow);
  for (const link of all("#table a")) link.addEventListener("click", () => setTimeout(follow));
  for (const [id, open] of [["open", true], ["close", false]]) {
    one(id)?.addEventListener("click", () => all("details.loader").forEach((each) => (each.open = open)));
  }

  // Remedies are copied, of those with code the code; a page opened as a file may have no clipboard of its own.
  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const remedy = button.previousElementSibling;
      const text = remedy.querySelector("code") ?? remedy;
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        getSelection().selectAllChildren(text);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
    });
  }

  // Charts: read, and drawn, once they come into view; the others when the browser is idle, so that all can be printed.
  const known = new Map();
  async function figureOf(chart) {
    const loader = chart.closest(".charts").dataset.loader;
    if (!known.has(loader)) known.set(loader, unpacked(`figures-${loader}`).then(JSON.parse));
    return (await known.get(loader))[Number(chart.dataset.figure)];
  }
  let plotly = null;
  function library() {
    plotly ??= unpacked("plotly").then((text) => {
      const script = document.createElement("script");
      script.nonce = nonce;
      script.textContent = text;
      document.head.append(script);
      return window.Plotly;
    });
    return plotly;
  }
  const nonce = document.currentScript.nonce;
  const coarse = matchMedia("(pointer: coarse)").matches;
  async function draw(place) {
    const figure = await figureOf(place.closest(".chart"));
    const layout = {
      height: figure.height,
      margin: { l: 48, r: 12, t: 8, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif", size: 12 },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" },
      hoverlabel: { bgcolor: "#24292f", bordercolor: "#24292f", namelength: -1 },
      dragmode: false,
      ...figure.layout,
    };
    for (const axis of ["xaxis", "yaxis"]) layout[axis] = { automargin: true, zeroline: false, ...layout[axis] };
    if (coarse) layout.dragmode = false; // or nobody could scroll past it
    const Plotly = await library();
    await Plotly.newPlot(place, figure.data, layout, { responsive: true, displayModeBar: false });
    place.dataset.drawn = "";
  }
  let queue = Promise.resolve();
  function drawOnce(place) {
    if ("begun" in place.dataset) return queue;
    place.dataset.begun = "";
    queue = queue.then(() => draw(place)).catch((error) => {
      place.textContent = `This chart could not be drawn: ${error}`;
    });
    return queue;
  }
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        drawOnce(target);
      }
    },
    { rootMargin: "200px" },
  );
  for (const place of all(".plot")) {
    place.style.minHeight = `${place.dataset.height}px`;
    seen.observe(place);
  }
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
  const waiting = all("details.loader[open] .plot");
  function drawNext() {
    const place = waiting.shift();
    if (place) drawOnce(place).then(() => idle(drawNext));
  }
  idle(drawNext);
  for (const loader of all("details.loader")) {
    loader.addEventListener("toggle", () => {
      if (!loader.open) return;
      waiting.push(...all(".plot", loader));
      idle(drawNext);
    });
  }

  // The figures of a chart as a table, made when it is opened.
  function tabled(figure) {
    const [x, y] = figure.axes;
    const table = document.createElement("table");
    const add = (cells, kind, parent) => {
      const row = parent.insertRow();
      for (const text of cells) row.append(Object.assign(document.createElement(kind), { textContent: text }));
    };
    const based = figure.data.some((trace) => trace.base);
    const plain = (text) => new DOMParser().parseFromString(String(text).replaceAll("<br>", ", "), "text/html").body.textContent;
    add(["", x, y, ...(based ? ["began at, ms"] : []), ...(figure.data.some((trace) => trace.text) ? ["of"] : [])], "th", table.createTHead());
    const rows = table.createTBody();
    for (const trace of figure.data) {
      trace.x.forEach((value, at) => {
        const more = [...(based ? [trace.base?.[at] ?? ""] : []), ...(trace.text ? [plain(trace.text[at])] : [])];
        add([trace.name, value, trace.y[at], ...more], "td", rows);
      });
    }
    return table;
  }
  for (const details of all(".data")) {
    details.addEventListener("toggle", async () => {
      const place = details.querySelector(".wide");
      if (details.open && !place.firstChild) place.replaceChildren(tabled(await figureOf(details.closest(".chart"))));
    });
  }

  // Paper is narrower than a screen.
  const drawn = () => all(".plot[data-drawn]");
  addEventListener("beforeprint", () => drawn().forEach((place) => window.Plotly.relayout(place, { width: 680 })));
  addEventListener("afterprint", () => drawn().forEach((place) => window.Plotly.relayout(place, { width: null, autosize: true })));

  follow();
})();
