// Linear scores learnt without densities: logistic, perceptron, least squares; nearest neighbours.
import { added, applied, argmax, dot, range, scaled, solved, sum, times, transposed, zeros } from "./linalg.js";
import { momentsOf } from "./gaussian.js";

const SUBSTITUTE_L2 = 1; // answers in place of a maximum likelihood that does not exist
const NEWTON_STEPS = 100, HALVINGS = 40;
/** Scores w_kᵀx + w_k0 of each class; log odds where `hasPosterior`. */
export class LinearModel {
  constructor(weights, intercepts, hasPosterior, notes = {}) {
    Object.assign(this, { weights, intercepts, hasPosterior, K: weights.length }, notes);
  }
  /** Return the model of parameters (w_0, w): one row for each class, or for all but the first. */
  static of(phi, K, hasPosterior, notes) {
    const every = phi.length < K ? [phi[0].map(() => 0), ...phi] : phi;
    return new LinearModel(every.map(([, ...w]) => w), every.map(([first]) => first), hasPosterior, notes);
  }
  scores(x, out) {
    for (let k = 0; k < this.K; k++) out[k] = this.intercepts[k] + dot(this.weights[k], x);
    return out;
  }
  boundary(i, j) {
    const b = this.weights[i].map((w, r) => w - this.weights[j][r]);
    return { A: null, b, c: this.intercepts[i] - this.intercepts[j] };
  }
}

export const withOnes = (x) => x.map((row) => [1, ...row]);
/** Add the loss −log p(y | z) of a row to `found`, with its gradient Σ (p − t) z and Hessian. */
function addRow(found, phi, z, y) {
  const a = [0, ...applied(phi, z)], top = Math.max(...a);
  const e = a.map((v) => Math.exp(v - top)), total = sum(e), D = z.length;
  found.loss += Math.log(total) + top - a[y];
  for (let k = 0; k < phi.length; k++) {
    const p = e[k + 1] / total, residual = p - (y === k + 1 ? 1 : 0);
    for (let i = 0; i < D; i++) found.gradient[k][i] += residual * z[i];
    for (let l = 0; found.hessian && l < phi.length; l++) {
      // ∂²/∂φ_k∂φ_l = p_k (δ_kl − p_l) z zᵀ
      const v = p * ((k === l ? 1 : 0) - e[l + 1] / total);
      for (let i = 0; i < D; i++) for (let j = 0; j < D; j++) found.hessian[k * D + i][l * D + j] += v * z[i] * z[j];
    }
  }
}

// M of Σ_k |w_k|² = tr φᵀMφ: rows w_k that sum to zero; of two classes the one vector's own length
const gram = (C) => range(C).map((k) => range(C).map((l) => (k === l ? 1 : 0) - (C > 1 ? 1 / (C + 1) : 0)));
// M⁻¹ g = g + 1 1ᵀ g: the gradient of the K symmetric rows, relative to the first
const steepest = (g) => (g.length === 1 ? g : g.map((row) => row.map((v, i) => v + sum(g.map((other) => other[i])))));
/** Return M φ diag(λ), the gradient of the penalty. */
const pull = (phi, penalty) => times(gram(phi.length), phi.map((row) => row.map((v, i) => v * penalty[i])));
/** Return loss, gradient and, if `curved`, Hessian of softmax regression on rows (1, z). */
export function logisticAt(phi, z, y, penalty, curved = false) {
  const C = phi.length, D = phi[0].length;
  const found = { phi, loss: 0, gradient: zeros(C, D), hessian: curved ? zeros(C * D, C * D) : null };
  z.forEach((row, i) => addRow(found, phi, row, y[i]));
  found.misfit = found.loss;
  const g = pull(phi, penalty), M = gram(C);
  found.loss += 0.5 * sum(phi.map((row, k) => dot(row, g[k])));
  found.gradient = added(found.gradient, g);
  if (curved) M.forEach((row, k) => row.forEach((m, l) => penalty.forEach((v, i) => { found.hessian[k * D + i][l * D + i] += m * v; })));
  return found;
}
/** Return the point after a damped Newton step, or null where the loss cannot be lowered. */
export function newtonStep(here, at) {
  const step = solved(here.hessian, here.gradient.flat()), D = here.phi[0].length;
  const decrement = dot(step, here.gradient.flat());
  for (let t = 1, halving = 0; halving < HALVINGS; t /= 2, halving++) {
    const there = at(here.phi.map((row, k) => row.map((v, i) => v - t * step[k * D + i])));
    // f(φ + tΔ) ≤ f(φ) − α t gᵀH⁻¹g, up to rounding
    if (there.loss <= here.loss - 1e-4 * t * decrement + 1e-12 * Math.abs(here.loss)) return { ...there, decrement };
  }
  return null;
}
/** Return φ of least loss by Newton; `found` is false where classes are separable. */
function newton(z, y, K, penalty) {
  const at = (phi) => logisticAt(phi, z, y, penalty, true);
  let here = at(zeros(K - 1, z[0].length));
  for (let steps = 1; steps <= NEWTON_STEPS; steps++) {
    const there = newtonStep(here, at);
    if (!there) return { phi: here.phi, found: true, steps };
    here = there;
    const separated = sum(penalty) === 0 && z.every((row, i) => isAhead(here.phi, row, y[i]));
    const arrived = there.decrement <= 1e-20 * Math.max(there.loss, 1e-6);
    if (separated || arrived) return { phi: here.phi, found: !separated, steps };
  }
  return { phi: here.phi, found: false, steps: NEWTON_STEPS };
}
/** Return whether a row's own class scores above every other. */
const isAhead = (phi, z, y) => [0, ...applied(phi, z)].every((v, k, a) => k === y || v < a[y]);
/** Return φ after a step of gradient descent on the mean loss: of all rows, or of one. */
export function gradientStep(phi, z, y, penalty, rate) {
  const { gradient } = logisticAt(phi, z, y, penalty);
  // φ ← φ − (η / n) M⁻¹ g
  return added(phi, scaled(steepest(gradient), -rate / z.length));
}
/** Return softmax regression by "newton", "gd" or "sgd"; the penalty is ½ λ Σ_j (s_j w_j)². */
export function fitLogistic(x, y, K, { solver, l2, rate, passes }) {
  const { d, weight, totals, centre } = momentsOf(x, y, K);
  const s = totals.map((v) => Math.sqrt(v * weight / Math.max(weight - 1, 1))), z = withOnes(x);
  if (solver === "newton") {
    // in standard units, and back:  w = φ / s,  w_0 = φ_0 − wᵀm
    const unit = x.map((row) => [1, ...row.map((v, j) => (s[j] > 0 ? (v - centre[j]) / s[j] : 0))]);
    const penalised = (value) => newton(unit, y, K, [0, ...s.map((v) => (v > 0 ? value : weight))]);
    let answer = penalised(l2), used = l2;
    if (!answer.found) [answer, used] = [penalised(SUBSTITUTE_L2), SUBSTITUTE_L2];
    const beta = answer.phi.map(([first, ...rest]) => {
      const w = rest.map((v, j) => (s[j] > 0 ? v / s[j] : 0));
      return [first - dot(w, centre), ...w];
    });
    return LinearModel.of(beta, K, true, { l2: used, separated: used !== l2, steps: answer.steps, phi: beta });
  }
  const penalty = [0, ...s.map((v) => l2 * v * v)];
  let phi = zeros(K - 1, d + 1);
  for (let pass = 0; pass < passes && phi.flat().every(Number.isFinite); pass++) {
    phi = (solver === "gd" ? gradientStep : stochasticPass)(phi, z, y, penalty, rate);
  }
  return LinearModel.of(phi, K, true, { l2, steps: passes, phi });
}
/** Return φ after one step for each row, in the order of the data. */
function stochasticPass(phi, z, y, penalty, rate) {
  const share = penalty.map((v) => v / z.length);
  return z.reduce((here, row, i) => gradientStep(here, [row], [y[i]], share, rate), phi);
}
/** Return c of w ← w + η c zᵀ at a row: zero where it is right; labels ±1 of two classes. */
export function perceptronChange(w, z, y) {
  const a = applied(w, z);
  if (w.length === 1) {
    const t = y === 1 ? 1 : -1;
    return t * a[0] <= 0 ? [t] : null;
  }
  const rival = argmax(a.map((v, k) => (k === y ? -Infinity : v)));
  return a[y] <= a[rival] ? a.map((_, k) => (k === y) - (k === rival)) : null;
}
/** Return w after one pass of the perceptron, in batch or row by row, and its mistakes. */
export function perceptronPass(w, z, y, rate, batch) {
  let here = w, mistakes = 0;
  z.forEach((row, i) => {
    const c = perceptronChange(batch ? w : here, row, y[i]);
    if (!c) return;
    mistakes += 1;
    here = here.map((weights, k) => weights.map((v, j) => v + rate * c[k] * row[j]));
  });
  return { w: here, mistakes };
}
/** Return the perceptron after passes over the rows, until one makes no mistake. */
export function fitPerceptron(x, y, K, { rate, passes, batch }) {
  const z = withOnes(x);
  let w = zeros(K === 2 ? 1 : K, z[0].length), mistakes = 1, steps = 0;
  while (mistakes && steps < passes) {
    ({ w, mistakes } = perceptronPass(w, z, y, rate, batch));
    steps += 1;
  }
  return LinearModel.of(w, K, false, { steps, converged: mistakes === 0 });
}
/** Return the least-squares fit of each class's indicator: w_k = T⁻¹ n_k (μ_k − μ). */
export function fitLeastSquares(x, y, K) {
  const m = momentsOf(x, y, K), total = added(m.pooled, m.between);
  const slopes = m.means.map((mean, k) => solved(total, mean.map((v, j) => m.weights[k] * (v - m.centre[j]))));
  const middle = transposed(slopes).map((column) => sum(column) / K);
  const weights = slopes.map((row) => row.map((v, j) => v - middle[j]));
  // w_k0 = π_k − w_kᵀ μ
  return new LinearModel(weights, weights.map((w, k) => m.weights[k] / m.weight - dot(w, m.centre)), false);
}
/** The k nearest rows vote, alike or by 1 / distance. */
export class NeighbourModel {
  constructor(x, y, K, { k, byDistance }) {
    const order = range(x.length).sort((i, j) => x[i][0] - x[j][0]), most = Math.min(k, x.length);
    const column = (j) => Float64Array.from(order, (i) => x[i][j] ?? 0);
    Object.assign(this, { K, k: most, byDistance, hasPosterior: true, isShare: true, y: order.map((i) => y[i]) });
    Object.assign(this, { first: column(0), second: column(1), near: new Int32Array(most), squares: new Float64Array(most) });
  }
  /** Find the k nearest rows: none is further than the furthest of those found last. */
  search(x) {
    const { first, second, near, squares, k } = this, u = x[0], v = x[1] ?? 0, n = first.length;
    let limit = 0, count = 0, i = 0;
    for (let r = 0; r < k; r++) limit = Math.max(limit, (first[near[r]] - u) ** 2 + (second[near[r]] - v) ** 2);
    if (k > 1 && near[0] === near[1]) limit = Infinity; // nothing was found before
    const reach = Math.sqrt(limit) * (1 + 1e-12);
    for (let step = 1 << 10; step; step >>= 1) if (i + step <= n && first[i + step - 1] < u - reach) i += step;
    for (; i < n && first[i] <= u + reach; i++) {
      const dx = first[i] - u, dy = second[i] - v, square = dx * dx + dy * dy;
      if (square > limit || (count === k && square >= limit)) continue;
      let at = count < k ? count++ : k - 1;
      for (; at > 0 && squares[at - 1] > square; at--) {
        squares[at] = squares[at - 1];
        near[at] = near[at - 1];
      }
      squares[at] = square;
      near[at] = i;
      if (count === k) limit = squares[k - 1];
    }
  }
  /** Write the share of each class among the neighbours into `out`. */
  scores(x, out) {
    this.search(x);
    out.fill(0);
    const exact = this.squares[0] === 0;
    let total = 0;
    for (let i = 0; i < this.k; i++) {
      const far = this.squares[i];
      const w = !this.byDistance ? 1 : exact ? (far === 0 ? 1 : 0) : 1 / Math.sqrt(far);
      out[this.y[this.near[i]]] += w;
      total += w;
    }
    for (let k = 0; k < this.K; k++) out[k] /= total;
    return out;
  }
  boundary() { return null; }
}
