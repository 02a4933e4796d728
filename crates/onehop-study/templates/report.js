// Sorts the rows of a table by the column whose heading is pressed.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const descends = heading.ariaSort === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descends ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent.trim();
      const isText = heading.classList.contains("text");
      const compare = (one, other) => {
        const numbers = [parseFloat(text(one)), parseFloat(text(other))];
        if (isText || numbers.every(Number.isNaN)) return text(one).localeCompare(text(other), "en", { numeric: true });
        // Cells without a figure stand last in both orders.
        if (numbers.some(Number.isNaN)) return Number.isNaN(numbers[0]) === descends ? -1 : 1;
        return numbers[0] - numbers[1];
      };
      const rows = [...body.rows].sort((one, other) => (descends ? compare(other, one) : compare(one, other)));
      body.append(...rows);
    });
  });
}
