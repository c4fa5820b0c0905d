"use strict";
(() => {
  const matrix = document.getElementById("gaps-matrix");
  // a cell without a key sorts by the number that its text begins with
  const value = cell => {
    const text = cell.dataset.key ?? cell.textContent.trim().replaceAll(",", ""), number = parseFloat(text);
    return Number.isNaN(number) ? text : number;
  };
  const order = (a, b, up) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;  // what has no number stands last, up or down
    return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
  };
  // rows and columns keep their sizes while rows move: the browser lays out only the rows on the screen
  const hold = table => {
    if (table.classList.contains("held")) return;
    const rows = [...table.rows], heights = rows.map(row => row.getBoundingClientRect().height);
    const width = e => `${e.getBoundingClientRect().width}px`, all = width(table);
    const columns = [...table.tHead.rows[0].cells].filter(h => !h.hidden).map(width).join(" ");
    rows.forEach((row, i) => { row.style.containIntrinsicBlockSize = `auto ${heights[i]}px`; });
    table.style.width = all; table.style.setProperty("--columns", columns); table.classList.add("held");
  };
  const release = () => document.querySelectorAll("table.held").forEach(table => {
    table.classList.remove("held"); table.removeAttribute("style");
  });
  addEventListener("resize", release); addEventListener("beforeprint", release);
  const sort = (table, k, head) => {
    hold(table);
    const up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
    const rows = [...body.rows].map((row, at) => [value(row.cells[k]), at, row]);
    rows.sort((a, b) => order(a[0], b[0], up) || a[1] - b[1]);
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows.map(r => r[2]));
  };
  for (const table of [matrix, ...document.querySelectorAll("table.sortable")]) {
    [...table.tHead.rows[0].cells].forEach((head, k) => {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, k, head));
      head.replaceChildren(button);
    });
  }
  const filters = [...document.querySelectorAll("select[data-filter]")], count = document.getElementById("count");
  const filter = () => {
    let shown = 0;
    for (const row of matrix.tBodies[0].rows) {
      row.hidden = filters.some(f => f.value !== "" && row.dataset[f.dataset.filter] !== f.value);
      if (!row.hidden) shown += 1;
    }
    release();
    count.textContent = `${shown} of ${matrix.tBodies[0].rows.length} rows`;
  };
  filters.forEach(f => f.addEventListener("change", filter));
  const chooser = document.getElementById("chooser");
  [...matrix.tHead.rows[0].cells].forEach((head, k) => {
    if (k === 0) return;
    const label = document.createElement("label"), box = document.createElement("input");
    const show = () => { release(); for (const row of matrix.rows) row.cells[k].hidden = !box.checked; };
    box.type = "checkbox"; box.checked = !("idle" in head.dataset);
    box.addEventListener("change", show); if (!box.checked) show();
    label.append(box, " " + head.textContent); chooser.append(label);
  });
  const chosen = document.getElementById("sort");
  [...matrix.tHead.rows[0].cells].forEach((head, k) => chosen.append(new Option(head.textContent, k)));
  chosen.addEventListener("change", () => {
    const head = matrix.tHead.rows[0].cells[+chosen.value];
    head.removeAttribute("aria-sort"); sort(matrix, +chosen.value, head);
  });
  document.getElementById("controls").hidden = false;
  filter();
  const open = () => {
    const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = at; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (at) at.scrollIntoView();
  };
  addEventListener("hashchange", open); if (location.hash) open();
  addEventListener("beforeprint", () => document.querySelectorAll("#columns details").forEach(d => { d.dataset.was = d.open; d.open = true; }));
  addEventListener("afterprint", () => document.querySelectorAll("#columns details").forEach(d => { d.open = d.dataset.was === "true"; }));
  document.querySelectorAll("button.download").forEach(button => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = button.closest("figure").querySelector("img").src; link.download = button.dataset.name; link.click();
    });
  });
})();
