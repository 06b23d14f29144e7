// The state of the page, what follows from it, its pictures, and its address.
import { range, sum } from "./linalg.js";
import { MODELS, errorsOf } from "./models.js";
import { View, colours, contour, drawCurves, drawSurface, ellipses, mark, raster, shade } from "./drawing.js";
import { Descent } from "./descent.js";
import { SCENES, START, sampled, stated } from "./scenes.js";

const GRID = 200;
export const find = (words) => document.querySelector(words);
export const all = (words) => [...document.querySelectorAll(words)];
export const say = (text) => { find("#said").textContent = text; };
const copy = (value) => JSON.parse(JSON.stringify(value));
/** What there is now: the state that an address keeps, the fit to it, and what the pointer is at. */
export const bench = {
  scene: "", state: null, initial: null, fit: null, descent: null, truth: null, table: null, past: [],
  brush: 0, hovered: null, chosen: null, cursor: null, ask: null, told: () => {},
};
/** Fit the model to the points of the classes that have any. */
function refit() {
  const { state } = bench, { points } = state;
  const present = range(5).filter((k) => points.some((p) => p[2] === k)), K = present.length;
  const of = (values) => present.map((k) => values[k]), weights = of(state.priors), { remote } = MODELS[state.model];
  const priors = state.stated && sum(weights) > 0 ? weights.map((w) => w / sum(weights)) : null;
  const x = points.map((p) => p.slice(0, state.dimension)), y = points.map((p) => present.indexOf(p[2]));
  const rule = { temperature: state.temperature, costs: of(state.costs), reject: state.reject < 1 ? state.reject : null };
  const fit = bench.fit = { x, y, K, present, rule, model: null };
  if (K > 1 && remote) bench.ask(fit);
  else if (K > 1) judge(fit, MODELS[state.model].fit(x, y, K, { ...state, priors, tied: of(state.tied) }));
  restart();
}
/** Take a model as the one that is fitted. */
export const judge = (fit, model) => Object.assign(fit, { model }, errorsOf(model, fit.x, fit.y, fit.rule));

export function restart() {
  const { state, fit } = bench;
  bench.descent = state.descent && fit.K > 1 ? new Descent(fit.x, fit.y, state.descent) : null;
}

let waiting = 0;
/** Tell and paint before the next frame, once. */
export function repaint() {
  if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; bench.told(); paint(); });
}
/** Change the state: fit, paint, tell, and keep it in the address. */
export function change(patch, keep = true) {
  Object.assign(bench.state, patch);
  refit();
  repaint();
  if (keep) remember();
}

// ---- pictures
export const heightOf = (view, point) =>
  (bench.state.dimension === 1 ? bench.fit.heights?.[bench.state.points.indexOf(point)] ?? view.h / 2 : view.py(point[1]));

export function paint() {
  const { state, fit, chosen, cursor, descent } = bench, view = new View(find("#plane"), state.window), look = colours();
  if (state.dimension === 1) fit.heights = drawCurves(view, state, fit, look);
  else paintPlane(view, look);
  if (chosen) mark(view, look, chosen[2], view.px(chosen[0]), heightOf(view, chosen), { size: 1.4, ring: look.ink });
  if (cursor && document.activeElement === view.canvas) {
    const [x0, x1, y0, y1] = state.window;
    view.line([[cursor[0], y0], [cursor[0], y1]], look.soft, 1, [3, 3]);
    view.line([[x0, cursor[1]], [x1, cursor[1]]], look.soft, 1, [3, 3]);
  }
  if (descent) paintDescent(view, look);
}

function paintPlane(view, look) {
  const { state, hovered, fit: { model, rule, present, codes, y, K } } = bench, { show } = state;
  view.ctx.fillStyle = look.ground;
  view.ctx.fillRect(0, 0, view.w, view.h);
  if (model) {
    const grid = raster(model, rule, state.window, GRID, state.shade === "density" && model.isDensity);
    if (state.shade !== "none") shade(view, grid, model, state.shade, look, present);
    if (show.boundary) contour(view, grid, look.ink);
    if (show.ellipses && model.isDensity) ellipses(view, model, look, present);
    for (const [u, v, k] of show.samples && model.isDensity ? model.sample(200, 7) : []) {
      mark(view, look, present[k], view.px(u), view.py(v), { size: 0.7, hollow: true });
    }
  }
  state.points.forEach((p, i) => {
    const wrong = show.errors && codes && codes[i] !== y[i] && codes[i] < K;
    mark(view, look, p[2], view.px(p[0]), view.py(p[1]), { ring: wrong || p === hovered ? look.ink : null });
  });
  view.axes(state.names, look);
}
/** Draw the surface with the path, the loss by step, and the last lines or curves in the plane. */
function paintDescent(plane, look) {
  const { descent, state } = bench, view = new View(find("#surface"), descent.window());
  const { path, last, best, D, axes: [i, j] } = descent, [x0, x1, y0, y1] = state.window;
  const track = path.filter(({ w }) => w.every((v) => Math.abs(v) < 1e4)).map(({ w }) => [w[i], w[j]]);
  drawSurface(view, descent.surface(), track, look, D === 2 ? ["w₀", "w₁"] : ["w₁", "w₂"], best && [best[i], best[j]]);
  const losses = path.map((p) => p.loss).filter(Number.isFinite);
  const chart = new View(find("#losses"), [0, Math.max(losses.length - 1, 10), 0, 1.08 * Math.max(...losses) || 1]);
  chart.ctx.clearRect(0, 0, chart.w, chart.h);
  chart.line(losses.map((v, s) => [s, v]), look.classes[0], 2);
  chart.axes(["step", "loss"], look);
  path.slice(-6).forEach(({ w }, age, shown) => {
    const how = age === shown.length - 1 ? [look.ink, 2.5, [7, 4]] : [look.soft, 0.8, [7, 4]];
    const height = (u) => plane.h - 46 - (plane.h - 80) / (1 + Math.exp(-(w[0] + w[1] * u)));
    // w_0 + w_1 x_1 + w_2 x_2 = 0, or σ(w_0 + w_1 x)
    const across = -w[0] / w[1], at = (u) => [u, -(w[0] + w[1] * u) / w[2]];
    if (D === 2) plane.line(range(121).map((s) => x0 + (s / 120) * (x1 - x0)).map((u) => [u, plane.y(height(u))]), ...how);
    else plane.line(Math.abs(w[2]) < 1e-9 ? [[across, y0], [across, y1]] : [at(x0), at(x1)], ...how);
  });
  const shown = state.points[last.row];
  if (shown) mark(plane, look, shown[2], plane.px(shown[0]), heightOf(plane, shown), { size: 1.4, ring: look.ink });
  find("#descent-said").textContent = descent.status();
}

// ---- scenes and the address
/** Write what differs from the scene into the address; points of a table stay at home. */
export function remember() {
  const { state, initial, scene, table } = bench, same = (k, v) => JSON.stringify(v) === JSON.stringify(initial[k]);
  const differs = Object.fromEntries(Object.entries(state).filter(([k, v]) => !same(k, v)));
  if (table || state.points.length > 600) delete differs.points;
  const rest = Object.keys(differs).length ? `&state=${encodeURIComponent(JSON.stringify(differs))}` : "";
  try { history.replaceState(null, "", `#scene=${scene}${rest}`); } catch { /* a page in a frame may not */ }
}
/** Open a scene, with what an address changes of it. */
export function load(name, changes = {}) {
  const scene = Object.hasOwn(SCENES, name) ? name : "problem";
  const { title, text, truth, n = 100, seed = 1, points, state: own } = copy(SCENES[scene]), start = copy(START);
  const labels = start.labels.map((label, k) => own.labels?.[k] ?? label), show = { ...start.show, ...own.show };
  const initial = { ...start, n, seed, ...own, labels, show, points: points || sampled(stated(truth), n, seed) };
  const known = Object.fromEntries(Object.entries(changes).filter(([key]) => key in initial || key === "painted"));
  const state = { ...copy(initial), ...known };
  if (!find(`#model [value="${CSS.escape(state.model)}"]`)) state.model = initial.model; // trees, where no Python is
  const sound = (p) => p.length === 3 && p.every(Number.isFinite) && p[2] in start.labels;
  const size = (v) => (Array.isArray(v) ? v.length : typeof v), alike = ([key, v]) => size(v) === size(initial[key]);
  const free = ["points", "descent", "painted"], fixed = Object.entries(known).filter(([key]) => !free.includes(key));
  if (!state.points.every(sound) || !fixed.every(alike)) throw new Error("not a state of this page");
  Object.assign(bench, { scene, initial, state, truth: truth && !state.painted ? stated(truth) : null });
  Object.assign(bench, { table: null, chosen: null, hovered: null, cursor: null, past: [] });
  find("#scene").value = scene;
  find("#title").textContent = title;
  find("#text").textContent = text;
  say("Click to paint, drag a point to move it, click it to see what each feature adds.");
  change({}, false);
}
/** Open what the address says. */
export function open() {
  const said = new URLSearchParams(location.hash.slice(1)), name = said.get("scene") || "problem";
  try {
    load(name, JSON.parse(said.get("state") || "{}"));
  } catch {
    load(name);
    say("The state in this address cannot be read: the scene is shown as it begins.");
  }
}
