// The report in a browser: theme, navigation, tips, linked rows, tables, thresholds, figures.

const THEME_KEY = "suffice-theme";
const SVG = "http://www.w3.org/2000/svg";
const root = document.documentElement;

function elements(selector, within = document) {
  return Array.from(within.querySelectorAll(selector));
}

function byId(id) {
  return document.getElementById(id);
}

function appendElement(tag, text, parent) {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.appendChild(element);
  return element;
}

// ---- light and dark

// a page that is opened as a file or in a frame may have no storage
function storedTheme() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // without storage, the theme lasts until the page is closed
  }
}

function isDark() {
  if (root.dataset.theme) {
    return root.dataset.theme === "dark";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  const theme = storedTheme();
  if (theme) {
    root.dataset.theme = theme;
  }
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    storeTheme(root.dataset.theme);
  });
}

// ---- code to copy

function setUpCopyButtons() {
  for (const button of elements("button.copy")) {
    button.addEventListener("click", () => copyCode(button));
  }
}

async function copyCode(button) {
  const code = button.parentNode.querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(code);
  } catch {
    return; // no clipboard: the reader can still select the text
  }
  button.textContent = "copied";
  setTimeout(() => {
    button.textContent = "copy";
  }, 1500);
}

// ---- the link to the visible section

function setUpNavigation() {
  const links = new Map();
  for (const link of elements("nav a")) {
    links.set(link.hash.slice(1), link);
    link.addEventListener("click", () => unfold(link.hash.slice(1)));
  }
  unfold(location.hash.slice(1));
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting && links.has(entry.target.id)) {
          markAsCurrent(links.get(entry.target.id), links);
        }
      }
    },
    { rootMargin: "-10% 0px -75% 0px" },
  );
  for (const section of elements("section[id], details.section[id]")) {
    observer.observe(section);
  }
}

function unfold(id) {
  const section = byId(id);
  if (section?.tagName === "DETAILS") {
    section.open = true;
  }
}

function markAsCurrent(current, links) {
  for (const link of links.values()) {
    link.removeAttribute("aria-current");
  }
  current.setAttribute("aria-current", "true");
  // on a narrow screen the links are one line that scrolls
  const list = current.closest("ol");
  const offset = current.getBoundingClientRect().left - list.getBoundingClientRect().left;
  list.scrollLeft += offset - 32;
}

// ---- tooltips with the values under the pointer

function setUpTips() {
  document.addEventListener("pointermove", showTip);
  document.addEventListener("pointerdown", showTip);
}

function showTip(event) {
  const tip = byId("tip");
  const target = event.target.closest?.("[data-tip]");
  tip.hidden = !target;
  if (!target) {
    return;
  }
  tip.textContent = target.dataset.tip;
  const rightmost = root.clientWidth - tip.offsetWidth - 4;
  const left = Math.max(4, Math.min(event.clientX + 12, rightmost));
  const below = event.clientY + 16;
  const above = event.clientY - tip.offsetHeight - 10;
  const fitsBelow = event.clientY + tip.offsetHeight + 24 <= innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${fitsBelow ? below : above}px`;
}

// ---- selecting a row in one place selects it in all tables and figures

function setUpRowSelection() {
  document.addEventListener("click", (event) => {
    const target = event.target.closest?.("[data-row]");
    if (target) {
      toggleRow(target.dataset.row);
    }
  });
  for (const row of elements("tr[data-row]")) {
    row.tabIndex = 0;
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggleRow(row.dataset.row);
      }
    });
  }
}

function toggleRow(name) {
  for (const element of elements("[data-row]")) {
    const isPicked = element.dataset.row === name && !element.classList.contains("picked");
    element.classList.toggle("picked", isPicked);
    if (isPicked && element.tagName === "use") {
      element.parentNode.appendChild(element); // drawn last, above the other dots
    }
    if (element.tagName === "TR") {
      element.setAttribute("aria-selected", isPicked);
    }
  }
}

// ---- sorting tables by a column, and filtering them by typed text

const ROWS_WITH_FILTER = 6;

function setUpTables() {
  for (const table of elements("table.data")) {
    const nRows = table.tBodies[0].rows.length;
    if (nRows > 1) {
      addSortButtons(table);
    }
    if (nRows >= ROWS_WITH_FILTER) {
      addFilter(table);
    }
  }
}

function addSortButtons(table) {
  const headings = elements("thead th", table);
  headings.forEach((heading, column) => {
    if (!heading.textContent) {
      return;
    }
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    heading.appendChild(button);
    button.addEventListener("click", () => {
      const wasAscending = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) {
        other.removeAttribute("aria-sort");
      }
      heading.setAttribute("aria-sort", wasAscending ? "descending" : "ascending");
      sortRows(table.tBodies[0], column, wasAscending ? -1 : 1);
    });
  });
}

function sortRows(body, column, direction) {
  const rows = Array.from(body.rows);
  rows.sort((a, b) => direction * compare(cellValue(a, column), cellValue(b, column)));
  body.append(...rows);
}

function cellValue(row, column) {
  const cell = row.cells[column];
  return "value" in cell.dataset ? Number.parseFloat(cell.dataset.value) : cell.textContent;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    const byPresence = Number.isNaN(a) - Number.isNaN(b); // missing numbers come last
    return byPresence || a - b;
  }
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function addFilter(table) {
  const frame = table.closest(".scroll");
  const caption = frame.previousElementSibling.textContent;
  const box = document.createElement("input");
  box.type = "search";
  box.placeholder = "filter rows";
  box.className = "filter";
  box.setAttribute("aria-label", `filter rows of: ${caption}`);
  frame.parentNode.insertBefore(box, frame);
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase();
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}

// ---- a shadow at the side where a table continues

function setUpShadows() {
  for (const frame of elements(".wide")) {
    frame.addEventListener("scroll", updateShadows);
  }
  for (const details of elements("details")) {
    details.addEventListener("toggle", updateShadows);
  }
  addEventListener("resize", updateShadows);
  updateShadows();
}

function updateShadows() {
  for (const frame of elements(".wide")) {
    const goesOn = frame.scrollLeft + frame.clientWidth < frame.scrollWidth - 2;
    frame.parentNode.classList.toggle("more", goesOn);
  }
}

// ---- choosing the threshold from which a class is predicted

function setUpThreshold() {
  const slider = byId("slider");
  if (!slider) {
    return;
  }
  const curve = {
    thresholds: JSON.parse(slider.dataset.thresholds),
    hits: JSON.parse(slider.dataset.hits),
    falseAlarms: JSON.parse(slider.dataset.alarms),
    nPositive: Number(slider.dataset.positives),
    nNegative: Number(slider.dataset.negatives),
  };
  const range = byId("threshold");
  const update = () => showThreshold(curve, Number(range.value));
  for (const input of [range, byId("cost-miss"), byId("cost-alarm")]) {
    input.addEventListener("input", update);
  }
  byId("cheapest").addEventListener("click", () => {
    range.value = cheapest(curve);
    update();
  });
  update();
}

function costAt(curve, i) {
  const costOfMiss = Number(byId("cost-miss").value);
  const costOfAlarm = Number(byId("cost-alarm").value);
  return costOfMiss * (curve.nPositive - curve.hits[i]) + costOfAlarm * curve.falseAlarms[i];
}

function cheapest(curve) {
  let best = 0;
  for (let i = 1; i < curve.thresholds.length; i++) {
    if (costAt(curve, i) < costAt(curve, best)) {
      best = i;
    }
  }
  return best;
}

function showThreshold(curve, i) {
  const threshold = curve.thresholds[i];
  const hits = curve.hits[i];
  const falseAlarms = curve.falseAlarms[i];
  const recall = hits / curve.nPositive;
  const precision = hits / (hits + falseAlarms); // NaN if no row is predicted positive
  byId("threshold").setAttribute("aria-valuetext", String(threshold));
  byId("t-threshold").textContent = threshold > 1 ? "more than 1" : String(threshold);
  byId("t-hits").textContent = countText(hits);
  byId("t-missed").textContent = countText(curve.nPositive - hits);
  byId("t-alarms").textContent = countText(falseAlarms);
  byId("t-precision").textContent = percentText(precision);
  byId("t-recall").textContent = percentText(recall);
  byId("t-cost").textContent = countText(costAt(curve, i));
  moveDot("roc", falseAlarms / curve.nNegative, recall);
  moveDot("precision", recall, precision);
}

function countText(value) {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}

// the same format as suffice.core.text.numbers.percent
function percentText(share) {
  if (Number.isNaN(share)) {
    return "–";
  }
  return `${percentNumber(100 * share)}\u00a0%`;
}

function percentNumber(percent) {
  if (percent === 0 || percent === 100) {
    return String(percent);
  }
  if (percent < 1e-3) {
    return "< 0.001";
  }
  if (percent < 0.05) {
    return String(Number(percent.toPrecision(2)));
  }
  if (percent < 99.95) {
    return percent.toFixed(1);
  }
  if (percent < 99.995) {
    return String(Number(percent.toPrecision(4)));
  }
  return "> 99.99";
}

// the frame of a figure begins at (54, 8); it is 374 wide and 248 high
function moveDot(figure, x, y) {
  const svg = document.querySelector(`#f-${figure} svg`);
  let dot = svg.querySelector(".now");
  if (!dot) {
    dot = document.createElementNS(SVG, "circle");
    dot.setAttribute("class", "now");
    dot.setAttribute("r", 5.5);
    svg.appendChild(dot);
  }
  const axis = svg.querySelector("[data-top]");
  const highest = axis ? Number(axis.dataset.top) : 1;
  const isShown = !Number.isNaN(y);
  dot.setAttribute("cx", 54 + 374 * x);
  dot.setAttribute("cy", isShown ? 256 - (248 * y) / highest : 0);
  dot.setAttribute("visibility", isShown ? "visible" : "hidden");
}

// ---- saving figures as files, in the colours of the current theme

const DRAWN_PROPERTIES = [
  "fill",
  "stroke",
  "opacity",
  "fill-opacity",
  "stroke-width",
  "stroke-dasharray",
  "font",
];

function setUpSaveButtons() {
  for (const svg of elements("figure:not(.multiples) svg:not(.legend svg)")) {
    const figure = svg.closest("figure");
    const button = appendElement("button", "save SVG", figure);
    button.className = "save";
    button.addEventListener("click", () => saveFigure(svg, `${figure.id.slice(2)}.svg`));
  }
}

function saveFigure(svg, fileName) {
  const copy = svg.cloneNode(true);
  const shown = elements("*", svg);
  elements("*", copy).forEach((element, i) => {
    const style = getComputedStyle(shown[i]);
    for (const property of DRAWN_PROPERTIES) {
      element.style.setProperty(property, style.getPropertyValue(property));
    }
  });
  const markers = document.querySelector("defs").cloneNode(true);
  copy.insertBefore(markers, copy.firstChild);
  copy.setAttribute("xmlns", SVG);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
  link.download = fileName;
  link.click();
}

// ---- opening folded parts for printing

function setUpPrinting() {
  addEventListener("beforeprint", () => {
    for (const details of elements("details")) {
      details.open = true;
    }
  });
}

root.classList.add("js");
setUpTheme();
setUpCopyButtons();
setUpNavigation();
setUpTips();
setUpRowSelection();
setUpTables();
setUpShadows();
setUpThreshold();
setUpSaveButtons();
setUpPrinting();
