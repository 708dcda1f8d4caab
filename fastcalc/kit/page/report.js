"use strict";
(() => {
  const rows = [...document.querySelectorAll("section:has(#filter) .rows tbody tr")];

  // What is shown in place of the value of the record is what is sorted by.
  const value = (row, place) => row.cells[place].dataset.s ?? row.cells[place].dataset.v;
  function sort(table, heads, place) {
    const head = heads[place], down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sorted = [...table.tBodies[0].rows].sort((a, b) => {
      const [x, y] = [value(a, place), value(b, place)];
      if (x === "" || y === "") return (x === "") - (y === "");  // what has no value is last
      const way = x - y || (isNaN(x - y) ? x.localeCompare(y) : 0);
      return down ? -way : way;
    });
    table.tBodies[0].append(...sorted);
  }
  document.querySelectorAll(".rows").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => head.firstChild.addEventListener("click", () => sort(table, heads, place)));
  });

  const filter = document.getElementById("filter"), count = document.getElementById("count");
  function sift() {
    const words = filter.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = words.length > 0 && !words.every((word) => text.includes(word));
    });
    const left = rows.filter((row) => !row.hidden).length;
    count.textContent = words.length ? `${left} of ${rows.length} rows` : "";
  }
  if (filter) filter.addEventListener("input", sift);

  document.querySelectorAll(".columns input").forEach((box) => {
    box.addEventListener("change", () => {
      document.querySelectorAll("#rows tr").forEach((row) => { row.cells[box.value].hidden = !box.checked; });
    });
  });

  const tip = document.getElementById("tip");
  let on = null;
  function hide(within) {
    if (within && !(on && within.contains(on))) return;  // another's, which came since

    tip.hidden = true;
    if (on) on.classList.remove("on");
    on = null;
  }
  function show(mark, text) {
    hide();
    on = mark;
    mark.classList.add("on");
    tip.textContent = text;
    tip.hidden = false;
    put();
  }
  function put() {
    const at = on.getBoundingClientRect(), size = tip.getBoundingClientRect();
    const left = Math.min(Math.max(at.left + at.width / 2 - size.width / 2, 4), innerWidth - size.width - 4);
    const above = at.top - size.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  }
  document.querySelectorAll(".charts svg").forEach((chart) => {
    const points = [...chart.querySelectorAll(".point")].map((mark) => {
      const title = mark.querySelector("title"), text = title.textContent;
      title.remove();  // the browser's own would come on top
      return { mark, text };
    });
    if (!points.length) { chart.removeAttribute("tabindex"); return; }
    let place = -1;
    const go = (next) => { place = next; show(points[place].mark, points[place].text); };
    chart.addEventListener("pointermove", (event) => {
      const far = points.map(({ mark }) => {
        const at = mark.getBoundingClientRect();
        return Math.hypot(at.x + at.width / 2 - event.clientX, at.y + at.height / 2 - event.clientY);
      });
      const least = Math.min(...far);
      if (least < 32) go(far.indexOf(least)); else hide(chart);
    });
    chart.addEventListener("pointerleave", () => hide(chart));
    chart.addEventListener("focus", () => { if (chart.matches(":focus-visible")) go(Math.max(place, 0)); });
    chart.addEventListener("blur", () => hide(chart));
    chart.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!way) return;
      event.preventDefault();
      go((place + way + points.length) % points.length);
    });
  });
  document.querySelectorAll(".whole i").forEach((part) => {
    const text = part.title;
    part.removeAttribute("title");
    part.setAttribute("role", "img");
    part.setAttribute("aria-label", text);
    for (const event of ["pointerenter", "focus"]) part.addEventListener(event, () => show(part, text));
    for (const event of ["pointerleave", "blur"]) part.addEventListener(event, () => hide(part));
  });
  addEventListener("scroll", () => { if (on) put(); }, { passive: true });

  const copy = document.getElementById("copy");
  copy.addEventListener("click", () => {
    const command = document.getElementById("command"), range = document.createRange();
    range.selectNodeContents(command);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    const done = () => { copy.textContent = "Copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(command.textContent).then(done, () => {});
    else if (document.execCommand("copy")) done();
  });
})();
