// Mixtures of Gaussians in every class, fitted by EM from k-means++ starts.
import {
  add,
  apply,
  argmax,
  dot,
  drawIndex,
  multiply,
  outer,
  range,
  scale,
  subtract,
  sum,
  transpose,
  uniform,
  zeros,
} from "./linalg.js";
import { DensityModel, fitGaussian, gaussian, logMixture, momentsOf } from "./gaussian.js";

const STARTS = 8; // number of starts that are tried
const TRIAL_STEPS = 10; // number of steps of each trial; EM continues with the best trial
const MAX_STEPS = 500;
const TOLERANCE = 1e-6; // EM ends if the objective per row rises by less than this

function squaredDistance(a, b) {
  return sum(a.map((value, j) => (value - b[j]) ** 2));
}

/** Return the means and shares of R clusters of rows z by k-means++, and the scatter within. */
function clustersOf(z, R, random) {
  const centres = [z[Math.floor(random() * z.length)]];
  while (centres.length < R) {
    // the next centre is drawn with probability ∝ D²
    const distances = z.map((row) => {
      const toCentres = centres.map((centre) => squaredDistance(row, centre));
      return Math.min(...toCentres);
    });
    centres.push(z[drawIndex(distances, random)]);
  }
  const clusterOf = z.map((row) => argmax(centres.map((centre) => -squaredDistance(row, centre))));
  const { means, weights, pooled } = momentsOf(z, clusterOf, R);
  return { centres: means, shares: weights.map((n) => n / z.length), within: pooled };
}

/** Return the start of EM for a class: shares, means, and the target Ψ of the covariances. */
function startOf(rows, single, R, random) {
  const { mean, sigma, factor, whitening } = single;
  const z = rows.map((row) => apply(whitening, subtract(row, mean)));
  const { centres, shares, within } = clustersOf(z, R, random);
  const scatter = multiply(multiply(factor, within), transpose(factor));
  // Ψ = (W + Σ / R^(2/d)) / (n + 1)
  const ofOneRow = scale(sigma, 1 / R ** (2 / mean.length));
  const psi = scale(add(scatter, ofOneRow), 1 / (rows.length + 1));
  const means = centres.map((centre) => apply(factor, centre).map((value, j) => mean[j] + value));
  return { shares, means, psi };
}

/** Return the sums of the E-step, about the means of the parts, and the log-likelihood. */
function expectation(rows, parts) {
  const R = parts.length;
  const d = rows[0].length;
  const weights = new Array(R).fill(0);
  const sums = zeros(R, d);
  const scatters = range(R).map(() => zeros(d, d));
  const logs = [];
  let likelihood = 0;
  for (const row of rows) {
    const total = logMixture(parts, row, logs);
    likelihood += total;
    for (let r = 0; r < R; r++) {
      const responsibility = Math.exp(logs[r] - total);
      weights[r] += responsibility;
      addDeviation(sums[r], scatters[r], row, parts[r].mean, responsibility);
    }
  }
  return { weights, sums, scatters, likelihood };
}

/** Add w (x − m) to a sum and w (x − m)(x − m)ᵀ to a scatter. */
function addDeviation(total, scatter, row, mean, weight) {
  for (let i = 0; i < row.length; i++) {
    const weighted = weight * (row[i] - mean[i]);
    total[i] += weighted;
    for (let j = 0; j < row.length; j++) {
      scatter[i][j] += weighted * (row[j] - mean[j]);
    }
  }
}

/** Return the parts that maximise the posterior, given the sums of an E-step. */
function maximisation(parts, { weights, sums, scatters }, psi, kappa) {
  const total = sum(weights);
  return parts.map(({ mean }, r) => {
    const shift = sums[r].map((value) => (weights[r] > 0 ? value / weights[r] : 0));
    const aboutNewMean = add(scatters[r], scale(outer(shift, shift), -weights[r]));
    // Σ_r = (S_r + κ Ψ) / (w_r + κ)
    const sigma = scale(add(aboutNewMean, scale(psi, kappa)), 1 / (weights[r] + kappa));
    const newMean = mean.map((value, j) => value + shift[j]);
    return gaussian(weights[r] / total, newMean, sigma);
  });
}

/** Return Σ_r (log|Σ_r| − log|Ψ| + tr(Σ_r⁻¹ Ψ)), which is −2/κ log p(Σ) up to a constant. */
function penaltyOf(parts, psi) {
  const { logDet } = gaussian(1, psi[0], psi);
  const penalties = parts.map((part) => {
    const inverse = multiply(transpose(part.whitening), part.whitening);
    const trace = sum(inverse.map((row, i) => dot(row, psi[i])));
    return part.logDet - logDet + trace;
  });
  return sum(penalties);
}

/** Return the result of EM from a start. */
function run(rows, start, kappa, maxSteps) {
  let parts = start.means.map((mean, r) => gaussian(start.shares[r], mean, start.psi));
  const objectives = [];
  while (objectives.length < maxSteps) {
    const sums = expectation(rows, parts);
    const objective = sums.likelihood - 0.5 * kappa * penaltyOf(parts, start.psi);
    objectives.push(objective);
    const rise = objective - objectives.at(-2); // NaN at the first step
    if (rise < TOLERANCE * rows.length) {
      break;
    }
    parts = maximisation(parts, sums, start.psi, kappa);
  }
  return { parts, start, objectives, objective: objectives.at(-1) };
}

/** Return EM from the start that is best after a few steps; `emSteps` > 0 limits its steps. */
function bestRun(rows, single, R, random, emSteps) {
  const kappa = rows[0].length + 2;
  const trials = range(STARTS).map(() =>
    run(rows, startOf(rows, single, R, random), kappa, TRIAL_STEPS),
  );
  const best = trials[argmax(trials.map((trial) => trial.objective))];
  return run(rows, best.start, kappa, emSteps || MAX_STEPS);
}

/** Return whether the covariance of a class differs from that of its own rows. */
function borrowsVariance(scatter, weight, { sigma }) {
  return scatter.some((row, i) =>
    row.some((value, j) => Math.abs(value / weight - sigma[i][j]) > 1e-9 * sigma[i][i]),
  );
}

/** Return mixtures of R components in each class, or fewer if a class has fewer distinct rows. */
export function fitMixture(x, y, K, { components, priors, emSteps = 0, seed = 1 }) {
  const moments = momentsOf(x, y, K);
  const singles = fitGaussian(x, y, K, {
    covariance: "full",
    divisor: "mle",
    pooling: 0,
    shrinkage: 0,
    target: "diagonal",
    groupOf: range(K),
  });
  const runs = [];
  const classes = range(K).map((k) => {
    const single = singles.classes[k][0];
    const rows = x.filter((_, i) => y[i] === k);
    const R = Math.min(components, new Set(rows.map(String)).size);
    if (R < 2 || borrowsVariance(moments.scatters[k], moments.weights[k], single)) {
      return [single];
    }
    runs[k] = bestRun(rows, single, R, uniform(seed + k), emSteps);
    return runs[k].parts;
  });
  const shares = moments.weights.map((weight) => weight / moments.weight);
  const model = new DensityModel(priors || shares, classes);
  model.runs = runs;
  return model;
}
