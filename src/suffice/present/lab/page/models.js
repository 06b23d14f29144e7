// Every model by its name, what is decided, and what is told about it.
import { argmax, range, softmax, sum } from "./linalg.js";
import { fitGaussian } from "./gaussian.js";
import { fitMixture } from "./mixture.js";
import { NeighbourModel, fitLeastSquares, fitLogistic, fitPerceptron } from "./discriminative.js";

const gaussianOf = (covariance, groups) => (x, y, K, s) =>
  fitGaussian(x, y, K, { ...s, covariance, groupOf: groups(K, s) });
const one = (K) => new Array(K).fill(0), each = range;
// classes that are ticked share a covariance, all others have their own
const shared = (K, { tied }) => range(K).map((k) => (tied[k] ? tied.indexOf(true) : k));

// name → the settings that a model has, and how it is fitted, or that Python fits it
const SOFT = ["costs", "temperature"], GAUSSIAN = ["divisor", "pooling", "shrinkage", "target", "priors", ...SOFT];
export const MODELS = {
  lda: { uses: GAUSSIAN.filter((use) => use !== "pooling"), fit: gaussianOf("full", one) },
  qda: { uses: GAUSSIAN, fit: gaussianOf("full", each) },
  partial: { uses: [...GAUSSIAN, "tied"], fit: gaussianOf("full", shared) },
  naive: { uses: GAUSSIAN, fit: gaussianOf("diagonal", each) },
  spherical: { uses: ["divisor", "pooling", "priors", ...SOFT], fit: gaussianOf("spherical", each) },
  mixture: { uses: ["components", "priors", ...SOFT], fit: fitMixture },
  logistic: { uses: ["solver", "rate", "passes", ...SOFT], fit: fitLogistic },
  perceptron: { uses: ["batch", "rate", "passes"], fit: fitPerceptron },
  squares: { uses: [], fit: fitLeastSquares },
  neighbours: { uses: ["k", "costs"], fit: (x, y, K, s) => new NeighbourModel(x, y, K, s) },
  ...Object.fromEntries(["tree", "forest", "AutoGaussian"].map((name) => [name, { uses: ["costs"], remote: true }])),
};
/** Return p(k | x), softmax(a / T); the shares of neighbours are what they are. */
export function posterior(model, x, temperature, out = new Array(model.K)) {
  const a = model.scores(x, out);
  return model.isShare ? a : softmax(a, temperature, out);
}
/** Return the action of least expected cost: a class, or K to reject; `costs[k]` of an error where k is true. */
export function decide(p, costs, reject) {
  let best = 0, total = 0;
  for (let k = 0; k < p.length; k++) {
    // R_a = Σ_k c_k p_k − c_a p_a
    if (costs[k] * p[k] > costs[best] * p[best]) best = k;
    total += costs[k] * p[k];
  }
  return reject !== null && reject < total - costs[best] * p[best] ? p.length : best;
}
/** Return the class (or K) that a model with settings predicts at x. */
export function predicted(model, x, { temperature, costs, reject }, out = new Array(model.K)) {
  if (!model.hasPosterior) return argmax(model.scores(x, out));
  return decide(posterior(model, x, temperature, out), costs, reject);
}
/** Return how many rows are wrong and rejected. */
export function errorsOf(model, x, y, rule) {
  const out = new Array(model.K);
  const codes = x.map((row) => predicted(model, row, rule, out));
  const rejected = codes.filter((c) => c === model.K).length;
  return { wrong: codes.filter((c, i) => c !== y[i] && c < model.K).length, rejected, rows: x.length, codes };
}
/** Return Σ log p(x_i | y_i) + log π_{y_i} of a density, or Σ log p(y_i | x_i). */
export function logLikelihood(model, x, y) {
  const out = new Array(model.K);
  if (model.isDensity) return sum(x.map((row, i) => model.scores(row, out)[y[i]]));
  return sum(x.map((row, i) => Math.log(posterior(model, row, 1, out)[y[i]])));
}

const LEAST = -20; // log posterior below which a class is simply impossible

/** Return what each feature adds to log p(a | x) − log p(b | x), against a reference row: the parts
 *  of x come one after the other, in their order and in reverse, and both are averaged. */
export function contributions(model, x, reference, a, b, temperature) {
  const odds = (row) => {
    const p = posterior(model, row, temperature).map((v) => Math.max(Math.log(v), LEAST));
    return p[a] - p[b];
  };
  const order = range(x.length), parts = order.map(() => 0);
  for (const way of [order, [...order].reverse()]) {
    const row = [...reference];
    let before = odds(row);
    for (const j of way) {
      row[j] = x[j];
      const after = odds(row);
      parts[j] += 0.5 * (after - before);
      before = after;
    }
  }
  return parts;
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹", LOWERED = "₀₁₂₃₄₅₆₇₈₉";
/** Return a positive number to so many significant digits. */
export function written(value, digits = 4) {
  if (value >= 1e-4 && value < 1e6) return String(Number(value.toPrecision(digits)));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const power = String(Math.abs(exponent)).replace(/\d/g, (n) => RAISED[n]);
  return `${Number(mantissa)}×10${exponent < 0 ? "⁻" : ""}${power}`;
}
/** Return the equation xᵀAx + bᵀx + c = 0 as text. */
export function equation({ A, b, c }, names, digits = 4) {
  const square = (name) => (/^\w+$/u.test(name) || /^x[₀-₉]+$/u.test(name) ? `${name}²` : `(${name})²`);
  const v = names || (b.length === 1 ? ["x"] : b.map((_, i) => `x${LOWERED[i + 1]}`)), terms = [];
  for (let i = 0; A && i < b.length; i++) {
    for (let j = i; j < b.length; j++) terms.push([A[i][j] * (i === j ? 1 : 2), i === j ? square(v[i]) : `${v[i]}·${v[j]}`]);
  }
  b.forEach((value, i) => terms.push([value, v[i]]));
  terms.push([c, ""]);
  let line = "";
  for (const [value, factor] of terms) {
    if (value === 0) continue;
    let number = written(Math.abs(value), digits);
    if (factor) number = number === "1" ? factor : `${number}·${factor}`;
    const minus = value < 0;
    line += line ? ` ${minus ? "−" : "+"} ${number}` : (minus ? "−" : "") + number;
  }
  return `${line || "0"} = 0`;
}
/** Return what a boundary is: a line or the name of its conic, by the sign of |A|. */
export function kindOf({ A, b }) {
  if (!A || b.length === 1) return b.length > 1 ? "line" : A ? "points" : "point";
  const size = Math.max(...A.flat().map(Math.abs)), sign = (A[0][0] * A[1][1] - A[0][1] ** 2) / size ** 2;
  return size === 0 ? "line" : Math.abs(sign) < 1e-12 ? "parabola" : sign < 0 ? "hyperbola" : "ellipse";
}
