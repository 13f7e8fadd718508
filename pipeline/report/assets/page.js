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
  const options = {
    actions: false, renderer: "svg", defaultStyle: false, config,
    tooltip: { disableDefaultStyle: true },
    loader: { http: false, file: false },
  };

  const draw = (place) => {
    if (place.dataset.drawn) return Promise.resolve();
    place.dataset.drawn = "started";
    // Vega names the element it draws in anew, so it gets one inside that keeps our words.
    return vegaEmbed(place.firstElementChild, island(place.dataset.spec), options)
      .then(() => { place.dataset.drawn = "yes"; })
      .catch((error) => { place.classList.add("failed"); fault(error); });
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
  const compare = (a, b) => {
    const [x, y] = [a.dataset.key, b.dataset.key];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    const [p, q] = [Number(x), Number(y)];
    return Number.isNaN(p) || Number.isNaN(q) ? x.localeCompare(y) : p - q;
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
      rows.sort((a, b) => sign * compare(a.cells[column], b.cells[column]));
      table.tBodies[0].append(...rows);
    });
  }

  // -- index: filter
  const filter = document.getElementById("filter");
  if (filter) {
    const rows = [...document.querySelectorAll("tbody tr")];
    const shown = document.getElementById("shown");
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} runs`;
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
