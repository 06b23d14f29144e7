// All models by name, their decisions, and their boundaries as text.
import { argmax, range, softmax, sum } from "./linalg.js";
import { fitGaussian } from "./gaussian.js";
import { fitMixture } from "./mixture.js";
import { fitLeastSquares, fitLogistic, fitPerceptron } from "./discriminative.js";
import { NeighbourModel } from "./neighbours.js";

// ---- models

/** Return the entry of a Gaussian model; `groupsOf` returns which classes share a covariance. */
function gaussianFit(covariance, groupsOf) {
  return (x, y, K, settings) => {
    const groupOf = groupsOf(K, settings);
    return fitGaussian(x, y, K, { ...settings, covariance, groupOf });
  };
}

function oneGroup(K) {
  return new Array(K).fill(0);
}

function ownGroups(K) {
  return range(K);
}

/** Return groups in which the ticked classes share a covariance, and all others have their own. */
function tickedGroup(K, { tied }) {
  const first = tied.indexOf(true);
  return range(K).map((k) => (tied[k] ? first : k));
}

function fitNeighbours(x, y, K, settings) {
  return new NeighbourModel(x, y, K, settings);
}

const GAUSSIAN = ["divisor", "pooling", "shrinkage", "target", "priors", "costs", "temperature"];

/** Models by name, with the settings that each uses, and the function that fits it (or Python). */
export const MODELS = {
  lda: {
    uses: ["divisor", "shrinkage", "target", "priors", "costs", "temperature"],
    fit: gaussianFit("full", oneGroup),
  },
  qda: { uses: GAUSSIAN, fit: gaussianFit("full", ownGroups) },
  partial: { uses: [...GAUSSIAN, "tied"], fit: gaussianFit("full", tickedGroup) },
  naive: { uses: GAUSSIAN, fit: gaussianFit("diagonal", ownGroups) },
  spherical: {
    uses: ["divisor", "pooling", "priors", "costs", "temperature"],
    fit: gaussianFit("spherical", ownGroups),
  },
  mixture: { uses: ["components", "priors", "costs", "temperature"], fit: fitMixture },
  logistic: { uses: ["solver", "rate", "passes", "costs", "temperature"], fit: fitLogistic },
  perceptron: { uses: ["batch", "rate", "passes"], fit: fitPerceptron },
  squares: { uses: [], fit: fitLeastSquares },
  neighbours: { uses: ["k", "costs"], fit: fitNeighbours },
  tree: { uses: ["costs"], remote: true },
  forest: { uses: ["costs"], remote: true },
  AutoGaussian: { uses: ["costs"], remote: true },
};

// ---- decisions

/** Return p(k | x): softmax(a / T), or for neighbours their unchanged shares. */
export function posterior(model, x, temperature, out = new Array(model.K)) {
  const scores = model.scores(x, out);
  return model.isShare ? scores : softmax(scores, temperature, out);
}

/** Return the action with the lowest expected cost: a class, or K to reject. `costs[k]` is the cost
 *  of an error if k is the true class. */
export function decide(p, costs, reject) {
  let best = 0;
  let total = 0;
  for (let k = 0; k < p.length; k++) {
    if (costs[k] * p[k] > costs[best] * p[best]) {
      best = k;
    }
    total += costs[k] * p[k];
  }
  // R_a = Σ_k c_k p_k − c_a p_a
  const risk = total - costs[best] * p[best];
  return reject !== null && reject < risk ? p.length : best;
}

/** Return the class (or K) that a model with settings predicts at x. */
export function predicted(model, x, { temperature, costs, reject }, out = new Array(model.K)) {
  if (!model.hasPosterior) {
    return argmax(model.scores(x, out));
  }
  return decide(posterior(model, x, temperature, out), costs, reject);
}

/** Return the numbers of misclassified rows and of rejected rows. */
export function errorsOf(model, x, y, rule) {
  const out = new Array(model.K);
  const codes = x.map((row) => predicted(model, row, rule, out));
  const rejected = codes.filter((code) => code === model.K).length;
  const wrong = codes.filter((code, i) => code !== y[i] && code < model.K).length;
  return { wrong, rejected, rows: x.length, codes };
}

/** Return Σ log p(x_i | y_i) + log π_{y_i} of a density, or Σ log p(y_i | x_i). */
export function logLikelihood(model, x, y) {
  const out = new Array(model.K);
  if (model.isDensity) {
    return sum(x.map((row, i) => model.scores(row, out)[y[i]]));
  }
  return sum(x.map((row, i) => Math.log(posterior(model, row, 1, out)[y[i]])));
}

const SMALLEST_LOG_POSTERIOR = -20; // smaller log posteriors are replaced with this value

/** Return the contribution of each feature to log p(a | x) − log p(b | x), relative to a reference
 *  row. The cells of this row are replaced with those of x, once in order and once in reverse, and
 *  the results are averaged. */
export function contributions(model, x, reference, a, b, temperature) {
  const logOdds = (row) => {
    const p = posterior(model, row, temperature);
    const logs = p.map((value) => Math.max(Math.log(value), SMALLEST_LOG_POSTERIOR));
    return logs[a] - logs[b];
  };
  const features = range(x.length);
  const parts = features.map(() => 0);
  for (const order of [features, [...features].reverse()]) {
    const row = [...reference];
    let before = logOdds(row);
    for (const j of order) {
      row[j] = x[j];
      const after = logOdds(row);
      parts[j] += 0.5 * (after - before);
      before = after;
    }
  }
  return parts;
}

// ---- boundaries as text

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/** Return a positive number as text, with a few significant digits. */
export function written(value, digits = 4) {
  if (value >= 1e-4 && value < 1e6) {
    return String(Number(value.toPrecision(digits)));
  }
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const sign = exponent < 0 ? "⁻" : "";
  const power = String(Math.abs(exponent)).replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
  return `${Number(mantissa)}×10${sign}${power}`;
}

/** Return the equation xᵀAx + bᵀx + c = 0 as text. */
export function equation({ A, b, c }, names, digits = 4) {
  const variables = names || defaultNames(b.length);
  const terms = A ? quadraticTerms(A, variables) : [];
  b.forEach((value, i) => {
    terms.push({ value, factor: variables[i] });
  });
  terms.push({ value: c, factor: "" });
  const shown = terms.filter(({ value }) => value !== 0);
  if (shown.length === 0) {
    return "0 = 0";
  }
  const [first, ...rest] = shown.map(({ value, factor }) => {
    return { isNegative: value < 0, size: sizeOfTerm(Math.abs(value), factor, digits) };
  });
  let line = first.isNegative ? `−${first.size}` : first.size;
  for (const { isNegative, size } of rest) {
    line += isNegative ? ` − ${size}` : ` + ${size}`;
  }
  return `${line} = 0`;
}

function defaultNames(d) {
  if (d === 1) {
    return ["x"];
  }
  return range(d).map((i) => `x${SUBSCRIPTS[i + 1]}`);
}

function quadraticTerms(A, variables) {
  const terms = [];
  for (let i = 0; i < A.length; i++) {
    terms.push({ value: A[i][i], factor: squared(variables[i]) });
    for (let j = i + 1; j < A.length; j++) {
      terms.push({ value: 2 * A[i][j], factor: `${variables[i]}·${variables[j]}` });
    }
  }
  return terms;
}

function squared(name) {
  const isOneWord = /^\w+$/u.test(name) || /^x[₀-₉]+$/u.test(name);
  return isOneWord ? `${name}²` : `(${name})²`;
}

function sizeOfTerm(value, factor, digits) {
  const number = written(value, digits);
  if (!factor) {
    return number;
  }
  return number === "1" ? factor : `${number}·${factor}`;
}

/** Return the kind of a boundary: points, a line, or a conic, named by the sign of |A|. */
export function kindOf({ A, b }) {
  if (b.length === 1) {
    return A ? "points" : "point";
  }
  if (!A) {
    return "line";
  }
  const size = Math.max(...A.flat().map(Math.abs));
  if (size === 0) {
    return "line";
  }
  const determinant = (A[0][0] * A[1][1] - A[0][1] ** 2) / size ** 2;
  if (Math.abs(determinant) < 1e-12) {
    return "parabola";
  }
  return determinant < 0 ? "hyperbola" : "ellipse";
}
