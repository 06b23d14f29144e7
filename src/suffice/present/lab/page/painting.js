// Paint the pictures of the page: the plane or the only feature, and the descent.
import { range } from "./linalg.js";
import { View, colours, mark } from "./canvas.js";
import {
  contour,
  drawCurves,
  drawSurface,
  ellipses,
  misclassified,
  raster,
  shade,
} from "./drawing.js";
import { MODELS } from "./models.js";
import { find, session } from "./session.js";

const CELLS = 200; // number of cells of the plane along each axis
const SHOWN_SAMPLES = 200;
const SHOWN_STEPS = 6; // number of boundaries of the descent that are drawn
const DASH = [7, 4];

/** Return the vertical pixel of a point. */
export function heightOf(view, point) {
  const { state, fit } = session;
  if (state.dimension === 2) {
    return view.py(point[1]);
  }
  return fit.heights?.[state.points.indexOf(point)] ?? view.h / 2;
}

export function paint() {
  const { state, fit, chosen, cursor, descent } = session;
  const view = new View(find("#plane"), state.window);
  const look = colours();
  if (state.dimension === 1) {
    fit.heights = drawCurves(view, state, fit, look);
  } else {
    paintPlane(view, look);
  }
  if (chosen) {
    markChosen(view, look, chosen);
  }
  if (cursor && document.activeElement === view.canvas) {
    paintCursor(view, look, cursor);
  }
  if (descent) {
    paintDescent(view, look);
  }
}

function markChosen(view, look, point) {
  const [x, , k] = point;
  mark(view, look, k, view.px(x), heightOf(view, point), { size: 1.4, ring: look.ink });
}

function paintCursor(view, look, [x, y]) {
  const [x0, x1, y0, y1] = view.window;
  const upright = [
    [x, y0],
    [x, y1],
  ];
  const level = [
    [x0, y],
    [x1, y],
  ];
  view.line(upright, look.soft, 1, [3, 3]);
  view.line(level, look.soft, 1, [3, 3]);
}

function paintPlane(view, look) {
  const { state, fit, hovered } = session;
  view.ctx.fillStyle = look.ground;
  view.ctx.fillRect(0, 0, view.w, view.h);
  if (fit.model) {
    paintModel(view, look);
  }
  const isWrong = misclassified(fit);
  state.points.forEach((point, i) => {
    const [x, y, k] = point;
    const hasRing = point === hovered || (state.show.errors && isWrong[i]);
    mark(view, look, k, view.px(x), view.py(y), { ring: hasRing ? look.ink : null });
  });
  if (fit.model && state.show.normal) {
    paintNormal(view, look);
  }
  if (fit.model && state.show.lines) {
    paintThreeLines(view, look);
  }
  view.axes(state.names, look);
}

function paintModel(view, look) {
  const { state, fit } = session;
  const { model, present } = fit;
  const withDensity = state.shade === "density" && Boolean(model.isDensity);
  const grid = raster(model, fit.rule, state.window, CELLS, withDensity);
  if (state.shade !== "none") {
    shade(view, grid, model, state.shade, look, present);
  }
  if (state.show.boundary) {
    contour(view, grid, look.ink);
  }
  if (state.show.ellipses && model.isDensity) {
    ellipses(view, model, look, present);
  }
  if (state.show.samples && model.isDensity) {
    for (const [x, y, k] of model.sample(SHOWN_SAMPLES, 7)) {
      mark(view, look, present[k], view.px(x), view.py(y), { size: 0.7, hollow: true });
    }
  }
}

// ---- the weight vector, and the lines of three approaches

/** Return the foot and tip of w, an arrow from the line to the side of the first of two classes. */
export function normalArrow() {
  const { fit, state } = session;
  const boundary = fit.K === 2 ? fit.model.boundary(0, 1) : null;
  if (!boundary || boundary.A !== null) {
    return null;
  }
  const [x0, x1, y0, y1] = state.window;
  const [b1, b2] = boundary.b;
  const length = Math.hypot(b1, b2);
  if (length === 0) {
    return null;
  }
  // the projection of the mean of all points onto the line: m − y(m) w / ‖w‖²
  const mean = [0, 1].map((j) => fit.x.reduce((total, row) => total + row[j], 0) / fit.x.length);
  const value = b1 * mean[0] + b2 * mean[1] + boundary.c;
  const foot = [mean[0] - (value * b1) / length ** 2, mean[1] - (value * b2) / length ** 2];
  const size = Math.min(x1 - x0, y1 - y0) / 5;
  return { foot, tip: [foot[0] + (size * b1) / length, foot[1] + (size * b2) / length] };
}

/** Draw w as an arrow. */
function paintNormal(view, look) {
  const arrow = normalArrow();
  if (arrow === null) {
    return;
  }
  const { foot, tip } = arrow;
  const along = [tip[0] - foot[0], tip[1] - foot[1]];
  const size = Math.hypot(...along);
  view.line([foot, tip], look.ink, 3);
  for (const turn of [2.6, -2.6]) {
    const angle = Math.atan2(along[1], along[0]) + turn;
    const barb = [tip[0] + 0.18 * size * Math.cos(angle), tip[1] + 0.18 * size * Math.sin(angle)];
    view.line([tip, barb], look.ink, 3);
  }
  view.text("w", view.px(tip[0]) + 8, view.py(tip[1]) - 6, look.ink);
}

// Least squares lies on or near the line of LDA. Dashes in the text colour are visible on the wide
// line.
const THREE = [
  { model: "lda", name: "LDA: density", width: 7, dash: [], colour: (look) => look.classes[2] },
  {
    model: "squares",
    name: "least squares: regression",
    width: 2.5,
    dash: [9, 7],
    colour: (look) => look.ink,
  },
  {
    model: "perceptron",
    name: "perceptron: empirical risk",
    width: 2.5,
    dash: [2, 4],
    colour: (look) => look.classes[3],
  },
];

/** Return w_0 and w of the line of each of the three approaches, for two classes. */
export function threeLines() {
  const { fit } = session;
  if (fit.K !== 2 || !fit.settings) {
    return [];
  }
  return THREE.map(({ model }) => {
    const { b, c } = MODELS[model].fit(fit.x, fit.y, 2, fit.settings).boundary(0, 1);
    return [c, ...b];
  });
}

/** Draw the lines of the three approaches. */
function paintThreeLines(view, look) {
  const lines = threeLines();
  if (lines.length === 0) {
    return;
  }
  THREE.forEach(({ width, dash, colour }, i) => {
    view.line(boundaryLine(view, lines[i]), colour(look), width, dash);
  });
  paintLegendOfLines(view, look);
}

/** Write the names of the three lines on a blank background, so that no line crosses them. */
function paintLegendOfLines(view, look) {
  const { ctx } = view;
  const widest = Math.max(...THREE.map(({ name }) => view.widthOf(name)));
  const top = view.h - 78;
  ctx.globalAlpha = 0.88;
  ctx.fillStyle = look.ground;
  ctx.fillRect(4, top, 50 + widest, 16 * THREE.length + 6);
  ctx.globalAlpha = 1;
  THREE.forEach(({ name, width, dash, colour }, i) => {
    const py = top + 16 * (i + 1);
    const swatch = [10, 40].map((px) => [view.x(px), view.y(py - 4)]);
    view.line(swatch, colour(look), width, dash);
    view.text(name, 46, py, look.ink);
  });
}

// ---- the descent

/** Paint the loss surface with the path, the loss by step, and the last boundaries in the plane. */
function paintDescent(plane, look) {
  const { descent, state } = session;
  paintSurface(descent, look);
  paintLosses(descent, look);
  const last = descent.path.slice(-SHOWN_STEPS);
  last.forEach(({ w }, i) => {
    const isNewest = i === last.length - 1;
    const line = descent.D === 2 ? sigmoid(plane, w) : boundaryLine(plane, w);
    plane.line(line, isNewest ? look.ink : look.soft, isNewest ? 2.5 : 0.8, DASH);
  });
  const point = state.points[descent.last.row];
  if (point) {
    markChosen(plane, look, point);
  }
  find("#descent-said").textContent = descent.status();
}

function paintSurface(descent, look) {
  const view = new View(find("#surface"), descent.window());
  const names = descent.D === 2 ? ["w₀", "w₁"] : ["w₁", "w₂"];
  const best = descent.best && descent.axes.map((i) => descent.best[i]);
  drawSurface(view, descent.surface(), descent.track(), look, names, best);
}

function paintLosses(descent, look) {
  const losses = descent.path.map((point) => point.loss).filter(Number.isFinite);
  const lastStep = Math.max(losses.length - 1, 10);
  const highest = 1.08 * Math.max(...losses) || 1;
  const view = new View(find("#losses"), [0, lastStep, 0, highest]);
  view.ctx.clearRect(0, 0, view.w, view.h);
  const points = losses.map((loss, step) => [step, loss]);
  view.line(points, look.classes[0], 2);
  view.axes(["step", "loss"], look);
}

/** Return the points of σ(w_0 + w_1 x) between the ends of the window. */
function sigmoid(view, [w0, w1]) {
  const [x0, x1] = view.window;
  const bottom = view.h - 46;
  const height = view.h - 80;
  return range(121).map((i) => {
    const x = x0 + (i / 120) * (x1 - x0);
    const p = 1 / (1 + Math.exp(-(w0 + w1 * x)));
    return [x, view.y(bottom - height * p)];
  });
}

/** Return the end points of the line w_0 + w_1 x_1 + w_2 x_2 = 0 in the window. */
function boundaryLine(view, [w0, w1, w2]) {
  const [x0, x1, y0, y1] = view.window;
  if (Math.abs(w2) < 1e-9) {
    const x = -w0 / w1;
    return [
      [x, y0],
      [x, y1],
    ];
  }
  const yAt = (x) => -(w0 + w1 * x) / w2;
  return [
    [x0, yAt(x0)],
    [x1, yAt(x1)],
  ];
}
