(() => {
  "use strict";
  const body = document.body;

  // A fault is told on the page's body, where a test or a person can find it.
  const fault = (what) => {
    body.dataset.faults = body.dataset.faults ? `${body.dataset.faults}\n${what}` : String(what);
  };
  window.addEventListener("error", (event) => fault(event.message));
  window.addEventListener("unhandledrejection", (event) => fault(event.reason));

  // -- charts: those in view first, the others when there is time
  const island = (id) => JSON.parse(document.getElementById(id).textContent);
  const places = [...document.querySelectorAll(".chart[data-spec]")];
  const config = places.length ? island("vega-config") : {};
  config.font = getComputedStyle(body).fontFamily;
  // Entries side by side would leave a narrow screen.
  if (innerWidth < 600 && config.legend) config.legend.columns = 1;
  const options = {
    actions: false, renderer: "svg", defaultStyle: false, config,
    tooltip: { disableDefaultStyle: true },
    loader: { http: false, file: false },
    logLevel: 1,  // errors; Vega-Lite warns of every logarithmic axis
  };

  const zoomers = new Map(
    [...document.querySelectorAll(".zoom")].map((zoom) => [zoom.dataset.chart, zoom]));
  const draw = (place) => {
    if (place.dataset.drawn) return Promise.resolve();
    place.dataset.drawn = "started";
    // Vega names the element it draws in anew, so it gets one inside that keeps our words.
    return vegaEmbed(place.firstElementChild, island(place.dataset.spec), options)
      .then((made) => {
        place.dataset.drawn = "yes";
        const zoom = zoomers.get(place.id);
        if (zoom) addZoom(zoom, place, made.view);
      })
      .catch((error) => { place.classList.add("failed"); fault(error); });
  };

  // Buttons for whoever has no wheel; each scales or moves the selection the axis is bound to.
  const addZoom = (zoom, place, view) => {
    const name = zoom.dataset.zoom;
    const whole = view.scale("x").domain().slice();
    const set = (from, to) => {
      const length = Math.min(to - from, whole[1] - whole[0]);
      const start = Math.max(whole[0], Math.min(from, whole[1] - length));
      view.signal(name, [start, start + length]).runAsync();
    };
    const change = (scale, move) => () => {
      const [a, b] = view.scale("x").domain();
      const [middle, half] = [(a + b) / 2 + move * (b - a), (b - a) / 2 * scale];
      set(middle - half, middle + half);
    };
    const steps = [["zoom in", change(0.5, 0)], ["zoom out", change(2, 0)],
      ["earlier", change(1, -0.25)], ["later", change(1, 0.25)],
      ["whole step", () => set(...whole)]];
    for (const [label, work] of steps) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", work);
      zoom.append(button);
    }
    const hint = document.createElement("span");
    hint.textContent = "or Ctrl and wheel; drag to move";
    zoom.append(hint);
    zoom.hidden = false;
    view.addSignalListener(name, (_, domain) => { place.dataset.domain = JSON.stringify(domain); });
  };

  const later = (work) => setTimeout(work, 20);
  const drawRest = () => {
    const next = places.find((place) => !place.dataset.drawn);
    if (next) draw(next).then(() => later(drawRest));
    else body.dataset.ready = "yes";
  };
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
      }
    }, { rootMargin: "200px" });
    places.forEach((place) => seen.observe(place));
  }
  later(drawRest);
  window.addEventListener("beforeprint", () => places.forEach(draw));

  // -- tables: sorting by any column
  // What is unknown comes last in either direction.
  const compare = (a, b, sign) => {
    const [x, y] = [a.dataset.key, b.dataset.key];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    const [p, q] = [Number(x), Number(y)];
    return sign * (Number.isNaN(p) || Number.isNaN(q) ? x.localeCompare(y) : p - q);
  };
  for (const head of document.querySelectorAll("thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const table = head.closest("table");
      const column = head.cellIndex;
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(a.cells[column], b.cells[column], sign));
      table.tBodies[0].append(...rows);
    });
  }

  // -- index: filters, all of which a row must meet
  const filter = document.getElementById("filter");
  if (filter) {
    const rows = [...document.querySelectorAll("tbody tr")];
    const shown = document.getElementById("shown");
    const chosen = [...document.querySelectorAll("select[data-field]")];
    const [from, to] = ["filter-from", "filter-to"].map((id) => document.getElementById(id));
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const { day } = row.dataset;
        row.hidden = !(words.every((word) => text.includes(word))
          && chosen.every((one) => !one.value || row.dataset[one.dataset.field] === one.value)
          && (!from.value || (day && day >= from.value))
          && (!to.value || (day && day <= to.value)));
      }
      shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} runs`;
    };
    for (const field of [filter, from, to, ...chosen]) field.addEventListener("input", apply);
  }

  // -- theme: the system's until the reader chooses, for as long as the page is open
  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => {
    theme.textContent = isDark() ? "light" : "dark";
    theme.setAttribute("aria-label", `Switch to ${theme.textContent} colours`);
  };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; tell(); });
  system.addEventListener("change", tell);
  tell();
  theme.hidden = false;

  // -- copying: through the clipboard where the browser lets a file do so, else by selecting
  const select = (place) => {
    const range = document.createRange();
    range.selectNodeContents(place);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  for (const place of document.querySelectorAll(".copied")) {
    const text = place.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copier";
    button.textContent = "copy";
    button.setAttribute("aria-label", `Copy: ${text.slice(0, 60)}`);
    if (place.tagName === "PRE") {
      place.after(button);
    } else {
      const words = document.createElement("span");
      words.append(...place.childNodes);
      place.append(words, button);
    }
    const source = place.tagName === "PRE" ? place : place.firstElementChild;
    const done = (what) => {
      button.textContent = what;
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    };
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        done("copied");
      } catch {
        select(source);
        done(document.execCommand("copy") ? "copied" : "selected");
      }
    });
  }

  // -- navigation: the section in view
  const links = new Map([...document.querySelectorAll("nav li a")].map((a) => [a.hash.slice(1), a]));
  if (links.size && "IntersectionObserver" in window) {
    const mark = (id) => {
      for (const [name, link] of links) {
        if (name === id) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
    };
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) mark(entry.target.id);
    }, { rootMargin: "-10% 0px -80% 0px" });
    for (const id of links.keys()) watch.observe(document.getElementById(id));
  }
})();
