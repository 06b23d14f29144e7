// Texts of the page: errors, equations, posteriors at a point, contributions of features.
import { argmax, range, sum } from "./linalg.js";
import {
  MODELS,
  contributions,
  equation,
  errorsOf,
  kindOf,
  logLikelihood,
  posterior,
  predicted,
  written,
} from "./models.js";
import { find, findAll, say, session } from "./session.js";

const NEW_POINTS = 2000; // number of new points that test a model if the true model is stated

function percentOf(part, whole) {
  const percent = (100 * part) / (whole || 1);
  return `${part} of ${whole} (${percent.toFixed(1)} %)`;
}

/** Return a number with a fixed number of decimals and a true minus sign. */
function fixed(value, decimals) {
  const size = Math.abs(value).toFixed(decimals);
  return value < 0 ? `−${size}` : size;
}

function coordinate(value) {
  if (value === 0) {
    return "0";
  }
  const size = written(Math.abs(value));
  return value < 0 ? `−${size}` : size;
}

/** Return a row of a table: a heading and cells. */
export function tableRow(heading, ...cells) {
  const row = document.createElement("tr");
  const th = document.createElement("th");
  th.textContent = heading;
  row.append(th);
  for (const cell of cells) {
    const td = document.createElement("td");
    td.textContent = cell;
    row.append(td);
  }
  return row;
}

/** Return the equation and the kind of every boundary that has an equation. */
export function equations() {
  const { state, fit } = session;
  const hasOwnNames = state.names[0] !== "x₁";
  const names = hasOwnNames ? state.names.slice(0, state.dimension) : null;
  const lines = [];
  for (let b = 0; b < fit.K; b++) {
    for (let a = 0; a < b; a++) {
      const boundary = fit.model.boundary(a, b);
      if (boundary) {
        lines.push({ a, b, boundary, text: equation(boundary, names), kind: kindOf(boundary) });
      }
    }
  }
  return lines;
}

/** Return the errors on the points, and on new points if the true model is stated. */
export function errors() {
  const { fit, truth } = session;
  const { wrong, rejected, rows } = fit;
  let fresh = null;
  if (truth && truth.K === fit.K) {
    const points = truth.sample(NEW_POINTS, 99);
    const x = points.map((point) => point.slice(0, -1));
    const y = points.map((point) => point.at(-1));
    fresh = errorsOf(fit.model, x, y, fit.rule);
  }
  return { wrong, rejected, rows, fresh };
}

/** Show the controls that the model uses, and the texts on its results. */
export function describe() {
  showControls();
  const lines = modelLines();
  find("#told").replaceChildren(...lines.map((cells) => tableRow(...cells)));
  describePoint();
}

function showControls() {
  const { state } = session;
  const { uses } = MODELS[state.model];
  const nClasses = Math.max(state.K, ...state.points.map((point) => point[2] + 1));
  // Newton's method uses neither a learning rate nor passes
  const byNewton = state.model === "logistic" && state.solver === "newton";
  const unused = byNewton ? ["rate", "passes"] : [];
  for (const element of findAll("[data-uses]")) {
    const setting = element.dataset.uses;
    element.hidden = !uses.includes(setting) || unused.includes(setting);
  }
  for (const element of findAll("[data-class]")) {
    element.hidden = Number(element.dataset.class) >= nClasses;
  }
  for (const element of findAll("[data-name]")) {
    element.textContent = state.labels[Number(element.dataset.name)];
  }
  for (const element of findAll("[data-descent]")) {
    element.hidden = !state.descent || Number(element.dataset.descent) > state.dimension;
  }
}

/** Return the lines of the table under "Results". */
function modelLines() {
  const { state, fit } = session;
  const { model } = fit;
  if (!model) {
    const { remote } = MODELS[state.model];
    return [[remote ? "Asking Python…" : "Paint points of at least two classes."]];
  }
  const lines = errorLines();
  if (model.hasPosterior) {
    const likelihood = logLikelihood(model, fit.x, fit.y);
    lines.push(["log-likelihood", fixed(likelihood, 3)]);
  }
  if (model.separated) {
    lines.push(["separable", "the likelihood has no maximum, so the penalty is 1 instead of 0"]);
  }
  if ("converged" in model) {
    const heading = model.converged ? "converged" : "not converged";
    lines.push([heading, `after ${model.steps} passes`]);
  }
  for (const { a, b, text, kind } of equations()) {
    lines.push([`${className(a)} | ${className(b)}: ${kind}`, text]);
  }
  return lines;
}

function errorLines() {
  const { wrong, rejected, rows, fresh } = errors();
  const lines = [["training error", percentOf(wrong, rows - rejected)]];
  if (rejected > 0) {
    lines.push(["rejected", percentOf(rejected, rows)]);
  }
  if (fresh) {
    const share = percentOf(fresh.wrong, fresh.rows - fresh.rejected);
    lines.push(["error on 2,000 new points", share]);
  }
  const { leftOut } = session;
  if (leftOut?.fit === session.fit) {
    lines.push(["leave-one-out error", percentOf(leftOut.wrong, rows)]);
  }
  return lines;
}

/** Return the number of points that the model of all other points misclassifies. */
export function leaveOneOut() {
  const { fit, state } = session;
  const { x, y, K, rule, settings } = fit;
  const wrong = range(x.length).filter((i) => {
    const rows = x.filter((_, other) => other !== i);
    const codes = y.filter((_, other) => other !== i);
    if (!codes.includes(y[i])) {
      return true; // the only point of a class is always misclassified
    }
    const model = MODELS[state.model].fit(rows, codes, K, settings);
    const action = predicted(model, x[i], rule);
    return action !== y[i];
  }).length;
  return { fit, wrong };
}

/** Return the name of a fitted class; K stands for rejection. */
function className(k) {
  const { state, fit } = session;
  return state.labels[fit.present[k]] ?? "rejected";
}

/** Show posterior bars at the pointer, and the contributions of features at the chosen point. */
function describePoint() {
  const { state, hovered, chosen, cursor, fit } = session;
  const { model, rule, present } = fit;
  const point = hovered || chosen || cursor;
  find("#bars").replaceChildren();
  if (!point || !model) {
    return;
  }
  const x = point.slice(0, state.dimension);
  const place = x.map(coordinate).join(", ");
  say(`At (${place}): ${className(predicted(model, x, rule))}`);
  if (!model.hasPosterior) {
    return;
  }
  const p = [...posterior(model, x, rule.temperature)];
  p.forEach((share, k) => {
    addBar(`p(${className(k)} | x): ${share.toFixed(4)}`, share, present[k]);
  });
  if (point === chosen) {
    describeContributions(x, p);
  }
}

/** Show the contribution of each feature to the log odds of the two most probable classes. */
function describeContributions(x, p) {
  const { state, fit } = session;
  const a = argmax(p);
  const b = argmax(p.map((share, k) => (k === a ? -Infinity : share)));
  const mean = x.map((_, j) => sum(fit.x.map((row) => row[j])) / fit.x.length);
  const parts = contributions(fit.model, x, mean, a, b, fit.rule.temperature);
  const largest = Math.max(...parts.map(Math.abs), 1e-9);
  for (const j of range(parts.length)) {
    const part = parts[j];
    const logOdds = `log p(${className(a)}) − log p(${className(b)})`;
    const favoured = part < 0 ? b : a;
    addBar(
      `${state.names[j]} adds ${fixed(part, 3)} to ${logOdds}`,
      Math.abs(part) / largest,
      fit.present[favoured],
    );
  }
}

function addBar(words, share, colour) {
  const fill = document.createElement("span");
  fill.className = `bar k${colour}`;
  fill.style.width = `${Math.round(100 * Math.min(share, 1))}%`;
  const line = document.createElement("p");
  line.append(words, fill);
  find("#bars").append(line);
}
