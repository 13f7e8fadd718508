"use strict";
// Sorts the table of runs by a click on a column's head, and hides rows that the filter excludes.
const table = document.querySelector("table.sortable");
const body = table && table.tBodies[0];

function key(row, column) {
  const cell = row.cells[column];
  if (!cell.classList.contains("number")) return cell.textContent;
  return cell.dataset.value === undefined ? -Infinity : Number(cell.dataset.value);
}

if (table) {
  table.querySelectorAll("th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      const order = (a, b) => {
        const [one, other] = [key(a, column), key(b, column)];
        return one < other ? -sign : one > other ? sign : 0;
      };
      body.append(...[...body.rows].sort(order));
    });
  });
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
