// Draw the plane with regions, one feature with curves, or a surface with a path.
import { argmax, cellCentre, range, softmax } from "./linalg.js";
import { decide, posterior, predicted } from "./models.js";
import { N_COLOURS, mark, tickLabel } from "./canvas.js";

// ---- two features

/** Return posteriors, actions and log densities of a model on n × n cell centres of a window. The
 *  action of a cell is the one with the largest `merits[cell * A + action]`. */
export function raster(model, rule, window, n, withDensity = false) {
  const { K } = model;
  const rejects = model.hasPosterior && rule.reject !== null;
  const A = rejects ? K + 1 : K;
  const grid = {
    n,
    K,
    A,
    action: new Uint8Array(n * n),
    p: new Float64Array(n * n * K),
    merits: new Float64Array(n * n * A),
    logDensities: [],
  };
  const costsAreEqual = rule.costs.every((cost) => cost === rule.costs[0]);
  const decidesByScore = !model.hasPosterior || (!rejects && costsAreEqual);
  const scores = new Array(K);
  const buffer = new Array(K);
  for (let cell = 0; cell < n * n; cell++) {
    model.scores(cellCentre(window, n, cell), scores);
    if (withDensity) {
      grid.logDensities.push(logDensity(scores, buffer));
    }
    const p = model.isShare ? scores : softmax(scores, rule.temperature, buffer);
    if (model.hasPosterior) {
      copyInto(grid.p, cell * K, p);
    }
    if (decidesByScore) {
      grid.action[cell] = argmax(scores);
      copyInto(grid.merits, cell * A, scores);
    } else {
      setAction(grid, cell, p, rule);
    }
  }
  return grid;
}

function copyInto(target, first, values) {
  for (let k = 0; k < values.length; k++) {
    target[first + k] = values[k];
  }
}

/** Return log p(x) = a_k − log p(k | x), which is the same for every class k. */
function logDensity(scores, buffer) {
  const best = argmax(scores);
  return scores[best] - Math.log(softmax(scores, 1, buffer)[best]);
}

/** Write the action with the lowest expected cost, and the merits of all actions.
 *  The merit of class a is c_a p_a, and that of rejection is Σ c_k p_k − r. */
function setAction({ action, merits, A, K }, cell, p, { costs, reject }) {
  action[cell] = decide(p, costs, reject);
  let total = 0;
  for (let k = 0; k < K; k++) {
    merits[cell * A + k] = costs[k] * p[k];
    total += costs[k] * p[k];
  }
  if (A > K) {
    merits[cell * A + K] = total - reject;
  }
}

/** Paint regions, posteriors or density, with one colour for each cell. */
export function shade(view, grid, model, shading, look, present) {
  const { n, K, p, action, logDensities } = grid;
  const rgb = [...present, N_COLOURS].map((k) => look.rgb[k]);
  const highest = logDensities.reduce((most, value) => Math.max(most, value), -Infinity);
  const blends = shading !== "regions" && model.hasPosterior;
  view.fillCells(n, look.paper, (cell, colour) => {
    const isBlend = blends && action[cell] < K;
    for (let c = 0; c < 3; c++) {
      colour[c] = isBlend ? blended(p, cell * K, K, rgb, c) : rgb[action[cell]][c];
    }
    if (logDensities.length > 0) {
      return 0.75 * Math.exp(0.5 * (logDensities[cell] - highest));
    }
    return isBlend ? 0.42 : 0.3;
  });
}

/** Return one channel of the mean of the class colours, weighted by posteriors. */
function blended(p, first, K, rgb, channel) {
  let total = 0;
  for (let k = 0; k < K; k++) {
    total += p[first + k] * rgb[k][channel];
  }
  return total;
}

/** Draw lines where the action changes, by marching squares on the merits of the actions. */
export function contour(view, grid, colour) {
  const { n, action } = grid;
  const { ctx } = view;
  ctx.beginPath();
  for (let j = 0; j + 1 < n; j++) {
    for (let i = 0; i + 1 < n; i++) {
      const cell = j * n + i;
      const own = action[cell];
      const changesBelow = own !== action[cell + 1];
      const changesAbove = own !== action[cell + n] || own !== action[cell + n + 1];
      if (changesBelow || changesAbove) {
        traceCell(view, grid, i, j);
      }
    }
  }
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.6;
  ctx.stroke();
}

/** Add the lines between the actions at the corners of a cell to the path. */
function traceCell({ ctx, w, h }, { n, A, merits, action }, i, j) {
  const cell = j * n + i;
  const corners = [cell, cell + 1, cell + n + 1, cell + n];
  for (const a of new Set(corners.map((corner) => action[corner]))) {
    const leads = corners.map((corner) => leadOf(merits, corner * A, A, a));
    crossings(leads).forEach(([u, v], place) => {
      const px = ((i + 0.5 + u) * w) / n;
      const py = h - ((j + 0.5 + v) * h) / n;
      if (place % 2 === 0) {
        ctx.moveTo(px, py);
      } else {
        ctx.lineTo(px, py);
      }
    });
  }
}

/** Return the merit of an action minus the largest merit of all other actions. */
function leadOf(merits, first, A, action) {
  let rival = -Infinity;
  for (let b = 0; b < A; b++) {
    if (b !== action && merits[first + b] > rival) {
      rival = merits[first + b];
    }
  }
  return merits[first + action] - rival;
}

const CORNERS = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
];

/** Return the points where a function is zero on the edges of a unit cell: none, two or four. */
function crossings(values) {
  const points = [];
  for (let q = 0; q < 4; q++) {
    const next = (q + 1) % 4;
    const a = values[q];
    const b = values[next];
    const changesSign = a >= 0 !== b >= 0;
    if (changesSign) {
      const share = Number.isFinite(a - b) ? a / (a - b) : 0.5;
      const [x0, y0] = CORNERS[q];
      const [x1, y1] = CORNERS[next];
      points.push([x0 + share * (x1 - x0), y0 + share * (y1 - y0)]);
    }
  }
  return points;
}

/** Draw the ellipses at distance 1 and 2, which contain 39 % and 86 % of each Gaussian. */
export function ellipses(view, model, look, present) {
  model.classes.forEach((parts, k) => {
    const colour = look.classes[present[k]];
    for (const part of parts) {
      view.line(ellipse(part, 1), colour, 2);
      view.line(ellipse(part, 2), colour, 1.2, [5, 4]);
      const [x, y] = part.mean;
      view.text("+", view.px(x), view.py(y) + 4, look.ink, "center");
    }
  });
}

/** Return the points at a Mahalanobis distance r: μ + L r (cos θ, sin θ)ᵀ. */
function ellipse({ mean, factor }, radius) {
  return range(73).map((i) => {
    const angle = (i * Math.PI) / 36;
    const u = radius * Math.cos(angle);
    const v = radius * Math.sin(angle);
    return [mean[0] + factor[0][0] * u, mean[1] + factor[1][0] * u + factor[1][1] * v];
  });
}

/** Return whether each point is misclassified; rejected points are not. */
export function misclassified({ codes, y, K }) {
  return y.map((code, i) => codes !== undefined && codes[i] !== code && codes[i] < K);
}

// ---- one feature

/** Draw one feature, with prior × density above, posteriors below, and points between.
 *  Return the height of every point. */
export function drawCurves(view, state, fit, look) {
  const { model, present } = fit;
  const layout = curvesLayout(view, model, present.length);
  view.ctx.clearRect(0, 0, view.w, view.h);
  if (model) {
    const xs = range(Math.ceil(view.w) + 1).map((px) => view.x(px));
    drawRegions(view, fit, look, xs);
    if (model.isDensity) {
      drawDensities(view, fit, look, xs, layout);
    }
    if (model.hasPosterior) {
      drawPosteriors(view, fit, look, xs, layout);
    }
  }
  const isWrong = misclassified(fit);
  const heights = state.points.map((point) => layout.heightOf(present.indexOf(point[2])));
  state.points.forEach((point, i) => {
    const ring = state.show.errors && isWrong[i] ? look.ink : null;
    mark(view, look, point[2], view.px(point[0]), heights[i], { size: 0.9, ring });
  });
  view.axes([state.names[0], ""], look);
  return heights;
}

const ROW_HEIGHT = 9; // height of the row of points of one class

/** Return the places of the panels of densities and posteriors, and of the points of each class. */
function curvesLayout(view, model, nClasses) {
  const hasDensities = Boolean(model?.isDensity);
  const split = hasDensities ? 0.46 * view.h : 0; // the lower end of the panel of densities
  const bottom = view.h - 46;
  if (!hasDensities && nClasses === 2) {
    // if the posterior is a sigmoid, the points of its two classes lie at 0 and 1
    const top = 34;
    return { split, top, bottom, heightOf: (c) => (c === 0 ? bottom : top) };
  }
  const height = ROW_HEIGHT * nClasses;
  const firstRow = 6 + (hasDensities ? split : bottom - height);
  const top = hasDensities ? split + 20 + height : 34;
  return { split, top, bottom, heightOf: (c) => firstRow + ROW_HEIGHT * c };
}

/** Tint the decision regions, and draw lines between them. */
function drawRegions(view, { model, rule, present }, look, xs) {
  const { ctx } = view;
  const rgb = [...present, N_COLOURS].map((k) => look.rgb[k]);
  const height = view.h - 22;
  let before = null;
  xs.forEach((x, px) => {
    const action = predicted(model, [x], rule);
    ctx.fillStyle = `rgba(${rgb[action]}, 0.16)`;
    ctx.fillRect(px, 0, 1, height);
    if (before !== null && before !== action) {
      ctx.fillStyle = look.ink;
      ctx.fillRect(px - 0.8, 0, 1.6, height);
    }
    before = action;
  });
}

function drawDensities(view, { model, present }, look, xs, { split }) {
  const densities = xs.map((x) => model.scores([x], new Array(model.K)).map(Math.exp));
  const highest = Math.max(...densities.flat());
  const shares = densities.map((row) => row.map((density) => density / highest));
  drawClassCurves(view, shares, present, look, 24, split);
  view.text("π p(x | class)", 6, 16, look.ink);
}

function drawPosteriors(view, { model, rule, present }, look, xs, { top, bottom }) {
  const posteriors = xs.map((x) => [...posterior(model, [x], rule.temperature)]);
  drawClassCurves(view, posteriors, present, look, top, bottom);
  view.text("p(class | x)", 6, top - 4, look.ink);
  for (const value of [0, 0.5, 1]) {
    // above the grid line, along which a curve may run
    const py = bottom - value * (bottom - top) - 5;
    view.text(tickLabel(value), view.w - 6, py, look.soft, "right");
  }
}

/** Draw a curve for each class, from a value between 0 and 1 for each pixel. */
function drawClassCurves(view, values, present, look, top, bottom) {
  present.forEach((k, c) => {
    const pixels = values.map((row, px) => [px, bottom - row[c] * (bottom - top)]);
    view.pixelLine(pixels, look.classes[k], 2);
  });
}

// ---- the loss over two parameters

const SURFACE_CELLS = 60;
const LEVELS = 12;

/** Draw a function of two parameters as shades and level lines, and a path on top. */
export function drawSurface(view, f, path, look, names, best) {
  const n = SURFACE_CELLS;
  const values = range(n * n).map((cell) => f(...cellCentre(view.window, n, cell)));
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const heights = values.map((value) => Math.log1p((20 * (value - low)) / span) / Math.log(21));
  view.fillCells(n, look.paper, (cell, colour) => {
    [colour[0], colour[1], colour[2]] = look.rgb[0];
    return 0.55 * heights[cell];
  });
  for (let i = 1; i < LEVELS; i++) {
    drawLevel(view, heights, i / LEVELS, look.line);
  }
  view.line(path, look.ink, 1.5);
  if (path.length < 400) {
    for (const point of path) {
      view.dot(point, 2, look.ink);
    }
  }
  if (best) {
    view.dot(best, 5, look.classes[2]);
  }
  view.dot(path.at(-1), 6, look.classes[1]);
  view.axes(names, look);
}

/** Draw the contour along which a function on cells has a given value. */
function drawLevel(view, heights, level, colour) {
  const merits = heights.flatMap((height) => [height - level, 0]);
  const action = heights.map((height) => (height < level ? 1 : 0));
  contour(view, { n: SURFACE_CELLS, A: 2, merits, action }, colour);
}
