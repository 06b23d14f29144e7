// What a person does: sliders, painting, keys.
import { View } from "./drawing.js";
import { SCENES, sampled, short, stated } from "./scenes.js";
import { all, bench, change, heightOf, repaint, say } from "./bench.js";

// ---- sliders and boxes: an element with data-key shows and changes that part of the state
const partOf = (path) => path.split(".").reduce((value, key) => value?.[key], bench.state);
/** Show the value of a control. */
export function display(e) {
  const { state, fit } = bench, [word, k] = e.dataset.key.split("."), own = fit.present.indexOf(+k);
  const value = (word === "priors" && !state.stated && fit.model?.priors?.[own]) || partOf(e.dataset.key);
  if (value === undefined || (e === document.activeElement && e.type === "number")) return;
  if (e.type === "checkbox") e.checked = value;
  else e.value = e.dataset.scale ? Math.log10(value) : value;
  const out = e.parentNode.querySelector("output"), base = Math.exp(1 / value);
  const softness = `T = ${short(+value)}, base ${base < 1e6 ? short(base) : "> 10⁶"}`;
  const words = { temperature: softness, reject: value < 1 ? value : "off" };
  if (out) out.textContent = words[word] ?? short(+value);
}
/** Take the value of a control into the state. */
export function changed(e) {
  const { state, fit } = bench, keys = e.dataset.key.split("."), last = keys.pop();
  const number = e.dataset.scale ? 10 ** +e.value : +e.value;
  const value = e.type === "checkbox" ? e.checked : e.tagName === "SELECT" ? e.value : number;
  if (Number.isNaN(value) || (e.type === "number" && e.value === "")) return;
  if (e.dataset.key.startsWith("priors") && !state.stated) {
    fit.present.forEach((k, i) => { state.priors[k] = fit.model?.priors?.[i] ?? state.priors[k]; });
    state.stated = true;
  }
  keys.reduce((part, key) => part[key], state)[last] = value;
  if (last === "n") draw(state.seed);
  else change({});
}

// ---- points
export const keepPast = () => { bench.past = [...bench.past.slice(-49), bench.state.points]; };
/** Take other points: they are no longer a sample of what the scene states. */
export function edited(points) {
  bench.truth = null;
  change({ points, painted: true });
}
/** Draw new points from the scene's own model, or from the one that is fitted. */
export function draw(seed) {
  const { state, fit } = bench, from = state.painted ? null : SCENES[bench.scene].truth;
  if (!from && !fit.model?.isDensity) return say("There is no density to draw from: choose a generative model.");
  keepPast();
  bench.chosen = bench.hovered = null;
  const points = sampled(from ? stated(from) : fit.model, state.n, seed);
  return change({ points: from ? points : points.map(([x, y, k]) => [x, y, fit.present[k]]), seed });
}

const pointAt = (x, y, k) => [short(x), bench.state.dimension === 1 ? 0 : short(y), k];
const add = (x, y) => bench.state.points.length < 2000 && edited([...bench.state.points, pointAt(x, y, bench.brush)]);
function remove(point) {
  if (bench.chosen === point) bench.chosen = null;
  bench.hovered = null;
  if (point) edited(bench.state.points.filter((p) => p !== point));
}
/** Return the point nearest to a place on the canvas, if any is within reach; no `py`: at any height. */
function near(view, px, py, reach) {
  const far = (p) => Math.hypot(view.px(p[0]) - px, py === null ? 0 : heightOf(view, p) - py);
  return bench.state.points.reduce((best, p) => (far(p) < (best ? far(best) : reach) ? p : best), null);
}

let held = null, spot = null; // "paint", "erase" or the point that is moved; where it was last
/** Paint on empty ground, move or choose a point, erase. */
export function pointer(event) {
  const { type, target } = event, box = target.getBoundingClientRect(), view = new View(target, bench.state.window);
  const [px, py] = [event.clientX - box.left, event.clientY - box.top], [x, y] = [view.x(px), view.y(py)];
  const found = near(view, px, py, event.pointerType === "touch" ? 18 : 11);
  const moved = spot ? Math.hypot(px - spot[0], py - spot[1]) : 0;
  bench.cursor = type === "pointerleave" ? null : [x, y];
  if (type === "pointerdown") {
    target.setPointerCapture(event.pointerId);
    keepPast();
    spot = [px, py];
    held = bench.brush < 0 || event.button === 2 ? "erase" : found || "paint";
    bench.chosen = typeof held === "string" ? null : found;
    if (held === "paint") add(x, y);
  }
  if (held === "erase") remove(found);
  else if (held === "paint" && moved > 16) { spot = [px, py]; add(x, y); }
  else if (held && held !== "paint" && moved > 3) {
    const there = pointAt(x, y, held[2]), points = bench.state.points.map((p) => (p === held ? there : p));
    held = bench.chosen = there;
    edited(points);
  }
  if (type === "pointermove" && !held) bench.hovered = found;
  if (["pointerup", "pointercancel", "pointerleave"].includes(type)) [held, spot, bench.hovered] = [null, null, null];
  repaint();
}

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
/** Move a cursor by arrows, paint, choose and erase by keys. */
export function pressed(event) {
  const { state } = bench, [x0, x1, y0, y1] = state.window, view = new View(event.target, state.window);
  const step = event.shiftKey ? 0.01 : 0.04, { key } = event, [u, v] = bench.cursor || [(x0 + x1) / 2, (y0 + y1) / 2];
  const found = near(view, view.px(u), state.dimension === 1 ? null : view.py(v), 16);
  bench.cursor = [u, v];
  if (MOVES[key]) bench.cursor = [u + MOVES[key][0] * step * (x1 - x0), v + MOVES[key][1] * step * (y1 - y0)];
  else if (key === " ") { keepPast(); add(u, v); }
  else if (key === "Enter") bench.chosen = found;
  else if (key === "Delete" || key === "Backspace") { keepPast(); remove(found); }
  else if (key >= "1" && key <= "5") choose(+key - 1);
  else return;
  event.preventDefault();
  repaint();
}
/** Choose the class that is painted; −1 erases. */
export function choose(k) {
  bench.brush = k;
  all("[data-brush]").forEach((b) => b.setAttribute("aria-pressed", String(+b.dataset.brush === k)));
}
