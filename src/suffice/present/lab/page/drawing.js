// What is drawn: the plane with its regions, one feature with its curves, a surface with its path.
import { argmax, cellCentre, range, softmax } from "./linalg.js";
import { decide, posterior, predicted } from "./models.js";
/** Return the colours of the page as it is now, light or dark. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const classes = range(5).map((k) => of(`--c${k}`));
  return { paper: rgb(of("--paper")), ink: of("--ink"), soft: of("--soft"), line: of("--line"), ground: of("--paper"),
    classes, rgb: [...classes, of("--rejected")].map(rgb) };
}
/** A canvas in CSS pixels with a window ((x0, x1), (y0, y1)) of the plane. */
export class View {
  constructor(canvas, window) {
    const scale = globalThis.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas;
    if (canvas.width !== Math.round(w * scale)) canvas.width = Math.round(w * scale);
    if (canvas.height !== Math.round(h * scale)) canvas.height = Math.round(h * scale);
    Object.assign(this, { canvas, w, h, window, ctx: canvas.getContext("2d") });
    this.ctx.setTransform(scale, 0, 0, scale, 0, 0);
  }
  px(x) { return ((x - this.window[0]) / (this.window[1] - this.window[0])) * this.w; }
  py(y) { return this.h - ((y - this.window[2]) / (this.window[3] - this.window[2])) * this.h; }
  x(px) { return this.window[0] + (px / this.w) * (this.window[1] - this.window[0]); }
  y(py) { return this.window[2] + ((this.h - py) / this.h) * (this.window[3] - this.window[2]); }

  line(points, colour, width = 1.5, dash = []) {
    const { ctx } = this;
    ctx.beginPath();
    points.forEach(([x, y], i) => ctx[i ? "lineTo" : "moveTo"](this.px(x), this.py(y)));
    Object.assign(ctx, { strokeStyle: colour, lineWidth: width });
    ctx.setLineDash(dash);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  text(words, px, py, colour, align = "left") {
    Object.assign(this.ctx, { fillStyle: colour, textAlign: align, font: "12px system-ui, sans-serif" });
    this.ctx.fillText(words, px, py);
  }
  /** Draw ticks and the names of the axes along the lower and the left edge. */
  axes(names, look) {
    const [x0, x1, y0, y1] = this.window;
    const across = ticks(x0, x1).filter((v) => this.px(v) > 24 && this.px(v) < this.w - 60);
    const up = ticks(y0, y1).filter((v) => names[1] && this.py(v) > 24 && this.py(v) < this.h - 24);
    across.forEach((v) => this.text(label(v), this.px(v), this.h - 6, look.soft, "center"));
    up.forEach((v) => this.text(label(v), 5, this.py(v) + 4, look.soft));
    this.text(names[0], this.w - 6, this.h - 6, look.ink, "right");
    if (names[1]) this.text(names[1], 6, 15, look.ink);
  }
}

const label = (v) => String(Number(v.toPrecision(6))).replace("-", "−");
function ticks(low, high) {
  const raw = (high - low) / 6, ten = 10 ** Math.floor(Math.log10(raw));
  const step = ten * ([1, 2, 5, 10].find((m) => m * ten >= raw) || 10);
  return range(Math.floor(high / step) - Math.ceil(low / step) + 1).map((i) => (Math.ceil(low / step) + i) * step);
}

const SHAPES = [
  "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0", "M-4,-4h8v8h-8z", "M0,-5.6l4.9,8.4h-9.8z", "M0,-5.6l5.6,5.6l-5.6,5.6l-5.6,-5.6z",
  "M0,-5.2l4.9,3.6l-1.9,5.8h-6l-1.9,-5.8z",
].map((path) => new Path2D(path));
/** Draw the mark of a class: filled for a point, hollow for a sample. */
export function mark(view, look, k, px, py, { size = 1, hollow = false, ring = null } = {}) {
  const { ctx } = view;
  ctx.save();
  ctx.translate(px, py);
  ctx.scale(size, size);
  Object.assign(ctx, { fillStyle: look.classes[k], strokeStyle: hollow ? look.classes[k] : look.ground, lineWidth: 1.2 });
  if (!hollow) ctx.fill(SHAPES[k]);
  ctx.stroke(SHAPES[k]);
  if (ring) {
    ctx.beginPath();
    ctx.arc(0, 0, 8.5, 0, 7);
    Object.assign(ctx, { strokeStyle: ring, lineWidth: 1.8 });
    ctx.stroke();
  }
  ctx.restore();
}
/** Return what a model says on n × n cell centres of a window: posteriors, actions, what decides them. */
export function raster(model, rule, window, n, dense = false) {
  const { K, hasPosterior } = model, rejects = hasPosterior && rule.reject !== null, A = K + (rejects ? 1 : 0);
  const plain = !hasPosterior || (!rejects && rule.costs.every((c) => c === rule.costs[0]));
  const out = { n, K, A, action: new Uint8Array(n * n), log: [] }, a = new Array(K), p = model.isShare ? a : new Array(K);
  Object.assign(out, { p: new Float64Array(n * n * K), g: new Float64Array(n * n * A) });
  for (let at = 0; at < n * n; at++) {
    model.scores(cellCentre(window, n, at), a);
    const top = argmax(a);
    if (dense) out.log.push(a[top] - Math.log(softmax(a, 1, p)[top])); // log p(x) = a_k − log p(k | x)
    if (hasPosterior && !model.isShare) softmax(a, rule.temperature, p);
    out.action[at] = plain ? top : decide(p, rule.costs, rule.reject);
    // scores decide where errors cost alike; else c_a p_a, and Σ c_k p_k − r for the reject action
    for (let k = 0; k < K; k++) {
      out.g[at * A + k] = plain ? a[k] : rule.costs[k] * p[k];
      if (hasPosterior) out.p[at * K + k] = p[k];
      if (rejects) out.g[at * A + K] += rule.costs[k] * p[k] - rule.reject / K;
    }
  }
  return out;
}
/** Paint regions, posterior or density, each pixel one cell, stretched over the canvas. */
export function shade(view, grid, model, shading, look, present) {
  const { n, K } = grid, { paper } = look;
  const top = grid.log.reduce((most, v) => Math.max(most, v), -Infinity), rgb = [...present, 5].map((k) => look.rgb[k]);
  pixels(view, n, paper, (at, mixed) => {
    const action = grid.action[at], blend = shading !== "regions" && model.hasPosterior && action < K;
    for (let c = 0; c < 3; c++) {
      mixed[c] = blend ? 0 : rgb[action][c];
      for (let k = 0; blend && k < K; k++) mixed[c] += grid.p[at * K + k] * rgb[k][c];
    }
    return grid.log.length ? 0.75 * Math.exp(0.5 * (grid.log[at] - top)) : blend ? 0.42 : 0.3;
  });
}
/** Fill the canvas from n × n cells: `mix` writes the colour of a cell and returns how strong it is. */
function pixels(view, n, paper, mix) {
  const image = new ImageData(n, n), small = new OffscreenCanvas(n, n), colour = [0, 0, 0];
  for (let at = 0; at < n * n; at++) {
    const to = 4 * ((n - 1 - Math.floor(at / n)) * n + (at % n)), strength = mix(at, colour);
    for (let c = 0; c < 3; c++) image.data[to + c] = paper[c] + strength * (colour[c] - paper[c]);
    image.data[to + 3] = 255;
  }
  small.getContext("2d").putImageData(image, 0, 0);
  view.ctx.drawImage(small, 0, 0, view.w, view.h);
}
/** Draw where the action changes, by marching squares on what decides. */
export function contour(view, { n, A, g, action }, colour) {
  const { ctx, w, h } = view, wide = w / n, high = h / n, f = new Array(4);
  ctx.beginPath();
  for (let j = 0; j + 1 < n; j++) {
    for (let i = 0; i + 1 < n; i++) {
      const at = j * n + i, own = action[at];
      if (own === action[at + 1] && own === action[at + n] && own === action[at + n + 1]) continue;
      const corners = [at, at + 1, at + n + 1, at + n];
      for (const a of new Set(corners.map((c) => action[c]))) {
        corners.forEach((c, q) => {
          let rival = -Infinity;
          for (let b = 0; b < A; b++) if (b !== a && g[c * A + b] > rival) rival = g[c * A + b];
          f[q] = g[c * A + a] - rival;
        });
        crossings(f).forEach(([u, v], q) => ctx[q % 2 ? "lineTo" : "moveTo"]((i + 0.5 + u) * wide, h - (j + 0.5 + v) * high));
      }
    }
  }
  Object.assign(ctx, { strokeStyle: colour, lineWidth: 1.6 });
  ctx.stroke();
}

const CORNERS = [[0, 0], [1, 0], [1, 1], [0, 1]];
/** Return where f is zero on the edges of a unit cell, two points or four. */
function crossings(f) {
  const points = [];
  for (let q = 0; q < 4; q++) {
    const [a, b] = [f[q], f[(q + 1) % 4]];
    if (a >= 0 === b >= 0) continue;
    const t = Number.isFinite(a - b) ? a / (a - b) : 0.5, [p, r] = [CORNERS[q], CORNERS[(q + 1) % 4]];
    points.push([p[0] + t * (r[0] - p[0]), p[1] + t * (r[1] - p[1])]);
  }
  return points;
}
/** Draw the ellipses that hold 39 % and 86 % of each Gaussian: distance 1 and 2. */
export function ellipses(view, model, look, present) {
  model.classes.forEach((parts, k) => parts.forEach(({ mean, factor }) => {
    for (const radius of [1, 2]) {
      const curve = range(73).map((i) => {
        const [u, v] = [radius * Math.cos((i * Math.PI) / 36), radius * Math.sin((i * Math.PI) / 36)];
        return [mean[0] + factor[0][0] * u, mean[1] + factor[1][0] * u + factor[1][1] * v];
      });
      view.line(curve, look.classes[present[k]], radius === 1 ? 2 : 1.2, radius === 1 ? [] : [5, 4]);
    }
    view.text("+", view.px(mean[0]), view.py(mean[1]) + 4, look.ink, "center");
  }));
}
/** Draw one feature: prior × density above, posterior below, points between; return their heights. */
export function drawCurves(view, state, { model, rule, present, y, codes }, look) {
  const { w, h, ctx } = view, split = model && model.isDensity ? 0.46 * h : 0, bottom = h - 46;
  const xs = range(Math.ceil(w) + 1).map((i) => view.x(i)), rows = present.length === 2 && !split ? 0 : 9;
  const curves = (values, top, base) => present.forEach((k, c) => {
    ctx.beginPath();
    values.forEach((v, i) => ctx[i ? "lineTo" : "moveTo"](i, base - v[c] * (base - top)));
    Object.assign(ctx, { strokeStyle: look.classes[k], lineWidth: 2 });
    ctx.stroke();
  });
  const top = split + (split ? 20 + rows * present.length : 34);
  ctx.clearRect(0, 0, w, h);
  if (model) {
    const p = xs.map((v) => [...posterior(model, [v], rule.temperature)]);
    const actions = xs.map((v) => predicted(model, [v], rule));
    actions.forEach((a, i) => {
      ctx.fillStyle = `rgba(${look.rgb[[...present, 5][a]]}, 0.16)`;
      ctx.fillRect(i, 0, 1, h - 22);
      ctx.fillStyle = look.ink;
      if (i && actions[i - 1] !== a) ctx.fillRect(i - 0.8, 0, 1.6, h - 22);
    });
    if (split) {
      const joint = xs.map((v) => model.scores([v], new Array(model.K)).map(Math.exp)), most = Math.max(...joint.flat());
      curves(joint.map((v) => v.map((density) => density / most)), 24, split);
      view.text("π p(x | class)", 6, 16, look.ink);
    }
    if (model.hasPosterior) {
      curves(p, top, bottom);
      view.text("p(class | x)", 6, top - 4, look.ink);
      for (const v of [0, 0.5, 1]) view.text(label(v), w - 6, bottom - v * (bottom - top) + 4, look.soft, "right");
    }
  }
  // two classes of a sigmoid lie at 0 and 1, others in rows between the panels
  const first = 6 + (split || bottom - rows * present.length), height = (c) => (rows ? first + rows * c : [bottom, top][c]);
  const heights = state.points.map((point) => height(present.indexOf(point[2])));
  state.points.forEach((point, i) => {
    const ring = state.show.errors && codes && codes[i] !== y[i] && codes[i] < present.length ? look.ink : null;
    mark(view, look, point[2], view.px(point[0]), heights[i], { size: 0.9, ring });
  });
  view.axes([state.names[0], ""], look);
  return heights;
}
/** Draw a function of two parameters as shades and level lines, and a path over it. */
export function drawSurface(view, f, path, look, names, special = null) {
  const n = 60, { ctx } = view;
  const values = range(n * n).map((at) => f(...cellCentre(view.window, n, at)));
  const low = Math.min(...values), high = Math.max(...values);
  const heights = values.map((v) => Math.log1p((20 * (v - low)) / (high - low || 1)) / Math.log(21));
  pixels(view, n, look.paper, (at, colour) => { [colour[0], colour[1], colour[2]] = look.rgb[0]; return 0.55 * heights[at]; });
  for (let level = 1; level < 12; level++) {
    const g = heights.flatMap((v) => [v - level / 12, 0]);
    contour(view, { n, A: 2, g, action: heights.map((v) => (v < level / 12 ? 1 : 0)) }, look.line);
  }
  view.line(path, look.ink, 1.5);
  const dot = ([x, y], r, colour) => { ctx.beginPath(); ctx.arc(view.px(x), view.py(y), r, 0, 7); ctx.fillStyle = colour; ctx.fill(); };
  if (path.length < 400) path.forEach((point) => dot(point, 2, look.ink));
  if (special) dot(special, 5, look.classes[2]);
  dot(path.at(-1), 6, look.classes[1]);
  view.axes(names, look);
}
