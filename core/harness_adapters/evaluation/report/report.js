"use strict";
// Clicking a column's heading sorts its table; cells without a number come last.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const rows = [...body.rows];
      rows.sort((one, other) => compare(one.cells[column], other.cells[column], sign));
      body.append(...rows);
    });
  });
}

function compare(one, other, sign) {
  const [a, b] = [one.dataset.sort, other.dataset.sort];
  if (a !== undefined && b !== undefined) return sign * (Number(a) - Number(b));
  if (a !== undefined) return -1;
  if (b !== undefined) return 1;
  return sign * one.textContent.localeCompare(other.textContent, undefined, { numeric: true });
}
