// Linear models without densities: logistic regression, perceptron, least squares.
import {
  add,
  apply,
  argmax,
  dot,
  multiply,
  range,
  scale,
  solve,
  sum,
  transpose,
  zeros,
} from "./linalg.js";
import { momentsOf } from "./gaussian.js";

const SUBSTITUTE_L2 = 1; // penalty if the likelihood has no maximum
const NEWTON_STEPS = 100;
const HALVINGS = 40;

/** Scores w_kᵀx + w_k0 of each class; with `hasPosterior`, they are log odds. */
export class LinearModel {
  constructor(weights, intercepts, hasPosterior) {
    this.weights = weights;
    this.intercepts = intercepts;
    this.hasPosterior = hasPosterior;
    this.K = weights.length;
  }

  /** Return the model with parameters (w_0, w): a row for each class, or for each but the first. */
  static of(parameters, K, hasPosterior) {
    let rows = parameters;
    if (rows.length < K) {
      const ofFirstClass = rows[0].map(() => 0);
      rows = [ofFirstClass, ...rows];
    }
    const weights = rows.map((row) => row.slice(1));
    const intercepts = rows.map((row) => row[0]);
    return new LinearModel(weights, intercepts, hasPosterior);
  }

  scores(x, out) {
    for (let k = 0; k < this.K; k++) {
      out[k] = this.intercepts[k] + dot(this.weights[k], x);
    }
    return out;
  }

  boundary(i, j) {
    const b = this.weights[i].map((weight, r) => weight - this.weights[j][r]);
    return { A: null, b, c: this.intercepts[i] - this.intercepts[j] };
  }
}

export function withOnes(x) {
  return x.map((row) => [1, ...row]);
}

// ---- softmax regression: φ has a row (w_0, w) for each class but the first

/** Return loss, gradient and, if `curved`, Hessian of softmax regression on rows (1, z). */
export function logisticAt(phi, z, y, penalty, curved = false) {
  const C = phi.length;
  const D = phi[0].length;
  const value = {
    phi,
    loss: 0,
    gradient: zeros(C, D),
    hessian: curved ? zeros(C * D, C * D) : null,
  };
  z.forEach((row, i) => {
    addRow(value, row, y[i]);
  });
  addPenalty(value, penalty);
  return value;
}

/** Add the loss −log p(y | z) of a row, with its gradient Σ (p − t) z and its Hessian. */
function addRow(value, z, y) {
  const { phi, gradient, hessian } = value;
  const scores = [0, ...apply(phi, z)];
  const largest = Math.max(...scores);
  const exponentials = scores.map((score) => Math.exp(score - largest));
  const total = sum(exponentials);
  const p = exponentials.slice(1).map((exponential) => exponential / total);
  value.loss += Math.log(total) + largest - scores[y];
  for (let k = 0; k < phi.length; k++) {
    const residual = p[k] - (y === k + 1 ? 1 : 0);
    for (let i = 0; i < z.length; i++) {
      gradient[k][i] += residual * z[i];
    }
  }
  if (hessian) {
    addCurvature(hessian, p, z);
  }
}

/** Add ∂²/∂φ_k∂φ_l = p_k (δ_kl − p_l) z zᵀ. */
function addCurvature(hessian, p, z) {
  const D = z.length;
  for (let k = 0; k < p.length; k++) {
    for (let l = 0; l < p.length; l++) {
      const factor = p[k] * ((k === l ? 1 : 0) - p[l]);
      addOuter(hessian, k * D, l * D, factor, z);
    }
  }
}

/** Add c z zᵀ to a block of a matrix. */
function addOuter(matrix, firstRow, firstColumn, factor, z) {
  for (let i = 0; i < z.length; i++) {
    for (let j = 0; j < z.length; j++) {
      matrix[firstRow + i][firstColumn + j] += factor * z[i] * z[j];
    }
  }
}

/** Add ½ tr φᵀMφ diag(λ), with its gradient Mφ diag(λ) and its Hessian. */
function addPenalty(value, penalty) {
  const { phi, hessian } = value;
  const M = penaltyMatrix(phi.length);
  const weighted = phi.map((row) => row.map((parameter, i) => parameter * penalty[i]));
  const gradient = multiply(M, weighted);
  value.loss += 0.5 * sum(phi.map((row, k) => dot(row, gradient[k])));
  value.gradient = add(value.gradient, gradient);
  if (!hessian) {
    return;
  }
  const D = penalty.length;
  for (let k = 0; k < M.length; k++) {
    for (let l = 0; l < M.length; l++) {
      for (let i = 0; i < D; i++) {
        hessian[k * D + i][l * D + i] += M[k][l] * penalty[i];
      }
    }
  }
}

/** Return M such that Σ_k |w_k|² = tr φᵀMφ, where the rows w_k of all classes sum to zero. For two
 *  classes, the sum is the squared length of the single vector. */
function penaltyMatrix(C) {
  const shared = C > 1 ? 1 / (C + 1) : 0;
  return range(C).map((k) => range(C).map((l) => (k === l ? 1 : 0) - shared));
}

/** Return M⁻¹ g = g + 1 1ᵀ g: the gradient of the K symmetric rows, relative to the first. */
function steepestDirection(gradient) {
  if (gradient.length === 1) {
    return gradient;
  }
  const columnSums = transpose(gradient).map(sum);
  return gradient.map((row) => row.map((value, i) => value + columnSums[i]));
}

/** Return the point after a damped Newton step, or null if the step cannot lower the loss. */
export function newtonStep(point, evaluate) {
  const gradient = point.gradient.flat();
  const step = solve(point.hessian, gradient);
  const decrement = dot(step, gradient);
  const D = point.phi[0].length;
  let t = 1;
  for (let halving = 0; halving < HALVINGS; halving++) {
    const phi = point.phi.map((row, k) => row.map((value, i) => value - t * step[k * D + i]));
    const next = evaluate(phi);
    // f(φ + tΔ) ≤ f(φ) − α t gᵀH⁻¹g, up to rounding
    const rounding = 1e-12 * Math.abs(point.loss);
    if (next.loss <= point.loss - 1e-4 * t * decrement + rounding) {
      return { ...next, decrement };
    }
    t /= 2;
  }
  return null;
}

/** Return the φ with the lowest loss, by Newton; `exists` is false if the classes are separable. */
function newton(z, y, K, penalty) {
  const isPenalised = sum(penalty) !== 0;
  const evaluate = (phi) => logisticAt(phi, z, y, penalty, true);
  let point = evaluate(zeros(K - 1, z[0].length));
  for (let steps = 1; steps <= NEWTON_STEPS; steps++) {
    const next = newtonStep(point, evaluate);
    if (next === null) {
      return { phi: point.phi, exists: true, steps };
    }
    point = next;
    if (!isPenalised && separates(point.phi, z, y)) {
      return { phi: point.phi, exists: false, steps };
    }
    if (point.decrement <= 1e-20 * Math.max(point.loss, 1e-6)) {
      return { phi: point.phi, exists: true, steps };
    }
  }
  return { phi: point.phi, exists: false, steps: NEWTON_STEPS };
}

/** Return whether the true class has the highest score in every row. */
function separates(phi, z, y) {
  return z.every((row, i) => {
    const scores = [0, ...apply(phi, row)];
    return scores.every((score, k) => k === y[i] || score < scores[y[i]]);
  });
}

/** Return φ after a step of gradient descent on the mean loss of the given rows. */
export function gradientStep(phi, z, y, penalty, rate) {
  const { gradient } = logisticAt(phi, z, y, penalty);
  // φ ← φ − (η / n) M⁻¹ g
  return add(phi, scale(steepestDirection(gradient), -rate / z.length));
}

/** Return φ after one step for each row, in the order of the data. */
function stochasticPass(phi, z, y, penalty, rate) {
  const penaltyOfRow = penalty.map((value) => value / z.length);
  return z.reduce((current, row, i) => {
    return gradientStep(current, [row], [y[i]], penaltyOfRow, rate);
  }, phi);
}

/** Return softmax regression by "newton", "gd" or "sgd"; the penalty is ½ λ Σ_j (s_j w_j)². */
export function fitLogistic(x, y, K, { solver, l2, rate, passes }) {
  const { d, weight, totals, centre } = momentsOf(x, y, K);
  const deviations = totals.map((v) => Math.sqrt((v * weight) / Math.max(weight - 1, 1)));
  if (solver === "newton") {
    return fitByNewton(x, y, K, l2, centre, deviations);
  }
  const z = withOnes(x);
  const penalty = [0, ...deviations.map((s) => l2 * s * s)];
  const onePass = solver === "gd" ? gradientStep : stochasticPass;
  let phi = zeros(K - 1, d + 1);
  for (let pass = 0; pass < passes && phi.flat().every(Number.isFinite); pass++) {
    phi = onePass(phi, z, y, penalty, rate);
  }
  return logisticModel(phi, K, l2, passes);
}

/** Return softmax regression fitted in standard units. */
function fitByNewton(x, y, K, l2, centre, deviations) {
  const z = x.map((row) => [
    1,
    ...row.map((v, j) => (deviations[j] > 0 ? (v - centre[j]) / deviations[j] : 0)),
  ]);
  // the parameter of a constant feature is kept at zero
  const penaltyOf = (value) => [0, ...deviations.map((s) => (s > 0 ? value : x.length))];
  let usedL2 = l2;
  let answer = newton(z, y, K, penaltyOf(l2));
  if (!answer.exists) {
    usedL2 = SUBSTITUTE_L2;
    answer = newton(z, y, K, penaltyOf(SUBSTITUTE_L2));
  }
  // convert to the units of the data: w = φ / s, w_0 = φ_0 − wᵀm
  const phi = answer.phi.map(([first, ...rest]) => {
    const w = rest.map((v, j) => (deviations[j] > 0 ? v / deviations[j] : 0));
    return [first - dot(w, centre), ...w];
  });
  const model = logisticModel(phi, K, usedL2, answer.steps);
  model.separated = usedL2 !== l2;
  return model;
}

function logisticModel(phi, K, l2, steps) {
  const model = LinearModel.of(phi, K, true);
  model.phi = phi;
  model.l2 = l2;
  model.steps = steps;
  return model;
}

// ---- perceptron

/** Return c in w ← w + η c zᵀ for a row, or null if it is right; two classes have labels ±1. */
export function perceptronChange(w, z, y) {
  const scores = apply(w, z);
  if (w.length === 1) {
    const label = y === 1 ? 1 : -1;
    return label * scores[0] <= 0 ? [label] : null;
  }
  const rival = argmax(scores.map((score, k) => (k === y ? -Infinity : score)));
  if (scores[y] > scores[rival]) {
    return null;
  }
  const change = scores.map(() => 0);
  change[y] = 1;
  change[rival] = -1;
  return change;
}

/** Return w after one pass of the perceptron, in batch or row by row, and its mistakes. */
export function perceptronPass(w, z, y, rate, batch) {
  let current = w;
  let mistakes = 0;
  z.forEach((row, i) => {
    const change = perceptronChange(batch ? w : current, row, y[i]);
    if (change === null) {
      return;
    }
    mistakes += 1;
    current = current.map((weights, k) =>
      weights.map((value, j) => value + rate * change[k] * row[j]),
    );
  });
  return { w: current, mistakes };
}

/** Return the perceptron after passes over the rows; it stops after a pass without a mistake. */
export function fitPerceptron(x, y, K, { rate, passes, batch }) {
  const z = withOnes(x);
  let w = zeros(K === 2 ? 1 : K, z[0].length);
  let mistakes = 1;
  let steps = 0;
  while (mistakes > 0 && steps < passes) {
    const pass = perceptronPass(w, z, y, rate, batch);
    w = pass.w;
    mistakes = pass.mistakes;
    steps += 1;
  }
  const model = LinearModel.of(w, K, false);
  model.steps = steps;
  model.converged = mistakes === 0;
  return model;
}

// ---- least squares

/** Return the least-squares fit of the indicator of each class: w_k = T⁻¹ n_k (μ_k − μ). */
export function fitLeastSquares(x, y, K) {
  const moments = momentsOf(x, y, K);
  const total = add(moments.pooled, moments.between);
  const slopes = moments.means.map((mean, k) => {
    const deviation = mean.map((v, j) => moments.weights[k] * (v - moments.centre[j]));
    return solve(total, deviation);
  });
  const meanSlope = transpose(slopes).map((column) => sum(column) / K);
  const weights = slopes.map((row) => row.map((v, j) => v - meanSlope[j]));
  // w_k0 = π_k − w_kᵀ μ
  const intercepts = weights.map(
    (w, k) => moments.weights[k] / moments.weight - dot(w, moments.centre),
  );
  return new LinearModel(weights, intercepts, false);
}
