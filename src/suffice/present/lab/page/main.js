// What buttons do, what Python answers, and the beginning.
import { range } from "./linalg.js";
import { contributions } from "./models.js";
import { View, raster } from "./drawing.js";
import { SCENES, START, short } from "./scenes.js";
import { AnsweredModel, asked, post } from "./server.js";
import { all, bench, change, find, judge, load, open, paint, remember, repaint, restart, say } from "./bench.js";
import { equations, errors, row, tell } from "./telling.js";
import { changed, choose, display, draw, edited, keepPast, pointer, pressed } from "./controls.js";

const server = JSON.parse(find("#server").textContent), root = document.documentElement; // the page's own Python, or null
let running = 0;
const steps = (n) => { const on = range(n).map(() => bench.descent?.step()).includes(true); repaint(); return on; };
const stop = () => { clearInterval(running); running = 0; };
const turn = (by) => {
  const names = Object.keys(SCENES);
  load(names[(names.indexOf(bench.scene) + by + names.length) % names.length]);
  remember();
};

const ACTIONS = {
  undo: () => bench.past.length && edited(bench.past.pop()),
  clear: () => { keepPast(); edited([]); },
  draw: () => draw(bench.state.seed + 1),
  step: () => steps(1),
  many: () => steps(20),
  run: () => { if (running) stop(); else running = setInterval(() => steps(1) || stop(), 60); },
  reset: () => { stop(); restart(); repaint(); },
  descend: () => change({ descent: bench.state.descent ? null : { method: "gd", rate: 0.1, start: [0, 0, 0] } }),
  previous: () => turn(-1),
  next: () => turn(1),
  again: () => { load(bench.scene); remember(); },
  link: () => navigator.clipboard?.writeText(location.href).then(() => say("The link is copied."), () => say("Copy the address.")),
  theme: () => { root.dataset.theme = getComputedStyle(root).colorScheme.includes("dark") ? "light" : "dark"; repaint(); },
};

// ---- Python
/** Ask Python for the model of these points, and show it if they are still the same. */
async function ask(fit) {
  const { model: name, window } = bench.state, { x, y, K } = fit, n = 100;
  try {
    const numbers = await post(`${server.at}fit`, { name, x, y, at: asked(x, window, n) });
    if (fit === bench.fit) judge(fit, new AnsweredModel(numbers, x, K, window, n));
    repaint();
  } catch (error) { say(error.message); }
}
/** Show rows of a table: points of two columns, or of one, and the class. */
function showTable(table) {
  const line = table.points[0].length === 2, points = table.points.map((p) => (line ? [p[0], 0, p[1]] : p));
  const ends = (j) => {
    const values = points.map((p) => p[j]), [low, high] = [Math.min(...values), Math.max(...values)];
    return [low - 0.06 * (high - low || 1), high + 0.06 * (high - low || 1)];
  };
  Object.assign(bench, { table, truth: null, chosen: null });
  const labels = START.labels.map((label, k) => table.labels[k] ?? label), { names, columns } = table;
  const window = [...ends(0), ...(line ? [0, 1] : ends(1))];
  change({ points, window, labels, names, K: table.labels.length, dimension: line ? 1 : 2, painted: true, descent: null });
  const isShown = (name, i) => name === (columns.includes(names[i]) ? names[i] : columns[i]);
  const options = (i) => columns.map((name) => new Option(name, name, false, isShown(name, i)));
  ["#axis-x", "#axis-y"].forEach((id, i) => find(id).replaceChildren(...options(i)));
  find("#columns").hidden = false;
  find("#title").textContent = "Your own table";
  for (const id of ["#text", "#table-said"]) find(id).textContent = table.said;
}
/** Return an action that posts a request and shows the answer, or the library's own words. */
const posting = (path, body, show) => async () => {
  find("#table-said").textContent = "Python is at work…";
  try {
    show(await post(server.at + path(), body()));
  } catch (error) { find("#table-said").textContent = error.message; }
};
function showErrors({ models, said }) {
  const rows = models.map(([name, ...losses]) => row(name, ...losses.map((v) => v?.toFixed(4) ?? "–")));
  find("#judged").replaceChildren(row("model", "error", "± s.e.", "log-loss"), ...rows);
  find("#table-said").textContent = said;
}
const upload = () => find("#file").files[0];
const tablePath = () => `table?${new URLSearchParams({ name: upload()?.name ?? "", target: find("#target").value })}`;
Object.assign(ACTIONS, {
  upload: posting(tablePath, () => upload() ?? new Blob(), showTable),
  axes: posting(() => "view", () => ({ axes: [find("#axis-x").value, find("#axis-y").value] }), showTable),
  discriminant: posting(() => "view", () => ({ axes: "discriminant" }), showTable),
  judge: posting(() => "errors", () => (find("#all-columns").checked ? {} : { x: bench.fit.x, y: bench.fit.y }), showErrors),
});

// ---- the beginning
Object.assign(bench, { ask, told: () => { tell(); all("[data-key]").forEach(display); } });
find("#scene").addEventListener("change", (event) => { load(event.target.value); remember(); });
all("[data-key]").forEach((e) => e.addEventListener("input", () => changed(e)));
all("[data-do]").forEach((e) => e.addEventListener("click", () => ACTIONS[e.dataset.do]()));
all("[data-brush]").forEach((e) => e.addEventListener("click", () => choose(+e.dataset.brush)));
const plane = find("#plane");
["down", "move", "up", "cancel", "leave"].forEach((what) => plane.addEventListener(`pointer${what}`, pointer));
plane.addEventListener("keydown", pressed);
plane.addEventListener("contextmenu", (event) => event.preventDefault());
find("#surface").addEventListener("pointerdown", (event) => {
  const { descent, state } = bench, view = new View(event.target, descent.window()), start = [0, 0, 0];
  [view.x(event.offsetX), view.y(event.offsetY)].forEach((v, i) => { start[descent.axes[i]] = short(v); });
  change({ descent: { ...state.descent, start } });
});
new ResizeObserver(repaint).observe(plane);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
addEventListener("hashchange", open);
choose(0);
open();
if (server?.table) {
  load("lda");
  showTable(server.table);
}

// what tests and other pages may ask
globalThis.lab = {
  bench, load, change, paint, errors, equations, contributions,
  /** Return posteriors and actions on n × n cell centres of the window. */
  grid: (n) => raster(bench.fit.model, bench.fit.rule, bench.state.window, n),
};
