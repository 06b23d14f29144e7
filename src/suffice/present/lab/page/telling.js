// What is told in words: errors, equations, posteriors at a point, what each feature adds.
import { range, sum } from "./linalg.js";
import { MODELS, contributions, equation, errorsOf, kindOf, logLikelihood, posterior, predicted, written } from "./models.js";
import { all, bench, find, say } from "./bench.js";

const percent = (part, whole) => `${part} of ${whole} (${((100 * part) / (whole || 1)).toFixed(1)} %)`;
const signed = (v, words) => (v < 0 ? "−" : "") + words;
/** Return a row of a table: a heading and cells. */
export function row(...cells) {
  const tr = document.createElement("tr");
  tr.append(...cells.map((cell, i) => Object.assign(document.createElement(i ? "td" : "th"), { textContent: cell })));
  return tr;
}
/** Return the equation and kind of every boundary that has one. */
export function equations() {
  const { state, fit } = bench, names = state.names[0] === "x₁" ? null : state.names.slice(0, state.dimension);
  const pairs = range(fit.K).flatMap((b) => range(b).map((a) => ({ a, b, boundary: fit.model.boundary(a, b) })));
  return pairs.filter(({ boundary }) => boundary)
    .map((pair) => ({ ...pair, text: equation(pair.boundary, names), kind: kindOf(pair.boundary) }));
}
/** Return the errors on the points, and on 2,000 new ones where the truth is stated. */
export function errors() {
  const { fit, truth } = bench, { wrong, rejected, rows } = fit;
  const test = truth && truth.K === fit.K ? truth.sample(2000, 99) : null;
  const fresh = test && errorsOf(fit.model, test.map((r) => r.slice(0, -1)), test.map((r) => r.at(-1)), fit.rule);
  return { wrong, rejected, rows, fresh };
}
/** Show the controls that the model has, and what it says. */
export function tell() {
  const { state, fit: { model, present, x, y } } = bench, { uses, remote } = MODELS[state.model];
  const K = Math.max(state.K, ...state.points.map((p) => p[2] + 1));
  const idle = state.model === "logistic" && state.solver === "newton" ? ["rate", "passes"] : [];
  all("[data-uses]").forEach((e) => { e.hidden = !uses.includes(e.dataset.uses) || idle.includes(e.dataset.uses); });
  all("[data-class]").forEach((e) => { e.hidden = +e.dataset.class >= K; });
  all("[data-name]").forEach((e) => { e.textContent = state.labels[+e.dataset.name]; });
  all("[data-descent]").forEach((e) => { e.hidden = !state.descent || +e.dataset.descent > state.dimension; });
  const told = find("#told"), lines = [];
  if (!model) lines.push([remote ? "Asking Python…" : "Paint points of at least two classes."]);
  else {
    const { wrong, rejected, rows, fresh } = errors(), likelihood = model.hasPosterior ? logLikelihood(model, x, y) : null;
    lines.push(["training error", percent(wrong, rows - rejected)]);
    if (rejected) lines.push(["rejected", percent(rejected, rows)]);
    if (fresh) lines.push(["error on 2,000 new points", percent(fresh.wrong, fresh.rows - fresh.rejected)]);
    if (likelihood !== null) lines.push(["log-likelihood", signed(likelihood, Math.abs(likelihood).toFixed(3))]);
    if (model.separated) lines.push(["separable", "the likelihood has no maximum: penalty 1 in the place of 0"]);
    if ("converged" in model) lines.push([model.converged ? "converged" : "still wrong", `after ${model.steps} passes`]);
    const name = (k) => state.labels[present[k]];
    equations().forEach(({ a, b, text, kind }) => lines.push([`${name(a)} | ${name(b)}: ${kind}`, text]));
  }
  told.replaceChildren(...lines.map((cells) => row(...cells)));
  inspect();
}
/** Show posterior bars where the pointer is, and what each feature adds at the point chosen. */
function inspect() {
  const { state, hovered, chosen, cursor, fit: { model, present, rule, x: rows, K } } = bench, at = hovered || chosen || cursor;
  const box = find("#bars"), name = (k) => state.labels[present[k]] ?? "rejected";
  box.replaceChildren();
  if (!at || !model) return;
  const bar = (words, share, k) => {
    const fill = Object.assign(document.createElement("span"), { className: `bar k${k}` });
    fill.style.width = `${Math.round(100 * Math.min(share, 1))}%`;
    const line = document.createElement("p");
    line.append(words, fill);
    box.append(line);
  };
  const x = at.slice(0, state.dimension), p = model.hasPosterior ? [...posterior(model, x, rule.temperature)] : [];
  const where = x.map((v) => signed(v, v ? written(Math.abs(v)) : "0")).join(", ");
  say(`At (${where}): ${name(predicted(model, x, rule))}`);
  p.forEach((v, k) => bar(`p(${name(k)} | x): ${v.toFixed(4)}`, v, present[k]));
  if (!p.length || at !== chosen) return;
  const [a, b] = range(K).sort((i, j) => p[j] - p[i]), mean = x.map((_, j) => sum(rows.map((r) => r[j])) / rows.length);
  const parts = contributions(model, x, mean, a, b, rule.temperature), most = Math.max(...parts.map(Math.abs), 1e-9);
  parts.forEach((v, j) => {
    const words = `${state.names[j]} adds ${signed(v, Math.abs(v).toFixed(3))} to log p(${name(a)}) − log p(${name(b)})`;
    bar(words, Math.abs(v) / most, present[v < 0 ? b : a]);
  });
}
