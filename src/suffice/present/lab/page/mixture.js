// Mixtures of Gaussians in every class, by EM from k-means++; of eight starts the one that is best after ten steps.
import {
  added, applied, argmax, dot, drawn, outer, range, scaled, sum, times, transposed, uniform, zeros,
} from "./linalg.js";
import { DensityModel, fitGaussian, gaussian, logMixture, momentsOf } from "./gaussian.js";

const STARTS = 8, TRIED = 10, MAX_ITER = 500, TOL = 1e-6;
const distance = (a, b) => sum(a.map((v, j) => (v - b[j]) ** 2));
/** Return clusters of rows z about centres by k-means++: their means, shares, and the scatter within. */
function clusters(z, R, random) {
  const centres = [z[Math.floor(random() * z.length)]];
  while (centres.length < R) {
    // the next centre is drawn with probability ∝ D²
    centres.push(z[drawn(z.map((row) => Math.min(...centres.map((centre) => distance(row, centre)))), random)]);
  }
  const of = z.map((row) => argmax(centres.map((centre) => -distance(row, centre))));
  const { means, weights, pooled } = momentsOf(z, of, R);
  return { centres: means, shares: weights.map((n) => n / z.length), within: pooled };
}
/** Return where EM of one class begins: shares, means, and the target Ψ of its covariances. */
function startOf(rows, one, R, random) {
  const { mean, sigma, factor, whitening } = one, d = mean.length;
  const z = rows.map((row) => applied(whitening, row.map((v, j) => v - mean[j])));
  const { centres, shares, within } = clusters(z, R, random);
  const scatter = times(times(factor, within), transposed(factor));
  // Ψ = (W + Σ / R^(2/d)) / (n + 1)
  const psi = scaled(added(scatter, scaled(sigma, 1 / R ** (2 / d))), 1 / (rows.length + 1));
  const means = centres.map((c) => applied(factor, c).map((v, j) => mean[j] + v));
  return { shares, means, psi };
}
/** Return the parts after an E- and an M-step, and the objective before them. */
function step(rows, parts, psi, kappa) {
  const R = parts.length, d = rows[0].length;
  const w = new Array(R).fill(0), sums = zeros(R, d), scatters = range(R).map(() => zeros(d, d));
  const logs = [];
  let likelihood = 0;
  for (const row of rows) {
    const total = logMixture(parts, row, logs);
    likelihood += total;
    for (let r = 0; r < R; r++) {
      const p = Math.exp(logs[r] - total), { mean } = parts[r];
      w[r] += p;
      for (let i = 0; i < d; i++) {
        sums[r][i] += p * (row[i] - mean[i]);
        for (let j = 0; j < d; j++) scatters[r][i][j] += p * (row[i] - mean[i]) * (row[j] - mean[j]);
      }
    }
  }
  // log p(Σ_r) = −½ κ (log|Σ_r| − log|Ψ| + tr(Σ_r⁻¹ Ψ)) + …
  const logDet = gaussian(1, psi[0], psi).logDet;
  const prior = sum(parts.map((part) => {
    const inverse = times(transposed(part.whitening), part.whitening);
    return part.logDet - logDet + sum(inverse.map((row, i) => dot(row, psi[i])));
  }));
  const following = parts.map(({ mean }, r) => {
    const shift = sums[r].map((v) => (w[r] > 0 ? v / w[r] : 0));
    // Σ_r = (S_r + κ Ψ) / (w_r + κ)
    const S = added(added(scatters[r], scaled(outer(shift, shift), -w[r])), scaled(psi, kappa));
    return gaussian(w[r] / sum(w), mean.map((v, j) => v + shift[j]), scaled(S, 1 / (w[r] + kappa)));
  });
  return { following, objective: likelihood - 0.5 * kappa * prior };
}
/** Return where EM leads from a start. */
function run(rows, start, kappa, most = MAX_ITER) {
  let parts = start.means.map((mean, r) => gaussian(start.shares[r], mean, start.psi));
  const objectives = [];
  while (objectives.length < most) {
    const { following, objective } = step(rows, parts, start.psi, kappa);
    objectives.push(objective);
    if (objectives.length > 1 && objective - objectives.at(-2) < TOL * rows.length) break;
    parts = following;
  }
  return { parts, start, objectives, objective: objectives.at(-1) };
}
/** Return mixtures of R components in each class, fewer where a class has fewer distinct rows. */
export function fitMixture(x, y, K, { components, priors, seed = 1 }) {
  const d = x[0].length, kappa = d + 2, m = momentsOf(x, y, K), runs = [];
  const single = fitGaussian(x, y, K, {
    covariance: "full", divisor: "mle", pooling: 0, shrinkage: 0, target: "diagonal", groupOf: range(K),
  });
  const classes = range(K).map((k) => {
    const rows = x.filter((_, i) => y[i] === k), one = single.classes[k][0];
    const most = Math.min(components, new Set(rows.map(String)).size);
    const own = scaled(m.scatters[k], 1 / m.weights[k]);
    const borrows = own.some((row, i) => row.some((v, j) => Math.abs(v - one.sigma[i][j]) > 1e-9 * one.sigma[i][i]));
    if (most < 2 || borrows) return [one]; // one Gaussian where variance is borrowed from other classes
    const random = uniform(seed + k);
    const tried = range(STARTS).map(() => run(rows, startOf(rows, one, most, random), kappa, TRIED));
    runs[k] = run(rows, tried[argmax(tried.map((each) => each.objective))].start, kappa);
    return runs[k].parts;
  });
  return Object.assign(new DensityModel(priors || m.weights.map((w) => w / m.weight), classes), { runs });
}
