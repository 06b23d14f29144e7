// The Gaussian family: sums per class, divisors, pooling, shrinkage, densities, boundaries.
import {
  EPS, LOG_2PI, added, applied, cholesky, diagonal, dot, drawn, inverseLower, normal, outer,
  range, rankTolerance, scaled, scaledCholesky, sum, symmetricEigen, times, transposed, uniform, unitScale, zeros,
} from "./linalg.js";

const SEPARATING_SHARE = 1e-9; // of the total variance, where classes differ but do not vary

/** Return weights, means and scatters of K classes from rows x and codes y; averaged: S n / (n − 1). */
export function momentsOf(x, y, K, averaged = false) {
  const d = x[0].length, weight = x.length, rowsOf = range(K).map((k) => x.filter((_, i) => y[i] === k));
  const mean = (rows) => range(d).map((j) => sum(rows.map((row) => row[j])) / rows.length);
  const square = (row, about) => { const z = row.map((v, j) => v - about[j]); return outer(z, z); };
  const centre = mean(x), means = rowsOf.map(mean), weights = rowsOf.map((rows) => rows.length);
  const factors = weights.map((n) => (averaged ? (n > 1 ? n / (n - 1) : 0) : 1));
  const scatters = rowsOf.map((rows, k) => scaled(rows.map((row) => square(row, means[k])).reduce(added), factors[k]));
  const pooled = scatters.reduce(added), between = means.map((m, k) => scaled(square(m, centre), weights[k])).reduce(added);
  const totals = centre.map((m, j) => resolved((pooled[j][j] + between[j][j]) / weight, m, 0));
  return { d, K, weights, weight, means, scatters, pooled, between, centre, totals };
}
/** Return a variance, exactly zero where it is no more than rounding of the data. */
const resolved = (variance, mean, total) =>
  variance > (16 * EPS) ** 2 * (mean * mean + (total || variance)) ? variance : 0;
/** Return the covariance of each class, one per group of tied ones: S / w, pooled by λ, then shrunk by γ. */
function covariances(m, { covariance, divisor, pooling, shrinkage, target }, groupOf) {
  const { d } = m, unbiased = divisor === "unbiased";
  const groups = [...new Set(groupOf)].map((g) => range(m.K).filter((k) => groupOf[k] === g));
  // Σ_g = S_g / w_g, or S_g / (w_g − K_g) with Bessel's correction; zero where nothing is left
  const divided = (scatter, weight, n) => {
    const w = weight - (unbiased ? n : 0);
    return w > EPS * Math.max(weight, 1) ? scaled(scatter, 1 / w) : zeros(d, d);
  };
  const scale = m.centre.map((_, j) => unitScale(m.pooled[j][j] / m.weight));
  const pooledVariances = divided(m.pooled, m.weight, m.K).map((row, j) => resolved(row[j], m.centre[j], m.totals[j]));
  const sigmas = new Array(m.K);
  for (const members of groups) {
    const scatter = members.map((k) => m.scatters[k]).reduce(added), weight = sum(members.map((k) => m.weights[k]));
    const largest = m.centre.map((_, j) => Math.max(...members.map((k) => Math.abs(m.means[k][j]))));
    // S_g(λ) = (1 − λ) S_g + λ S,   w_g(λ) = (1 − λ) w_g + λ W
    const mix = (own, all) => (1 - pooling) * own + pooling * all;
    const lent = scatter.map((row, i) => row.map((v, j) => mix(v, m.pooled[i][j])));
    let sigma = divided(lent, mix(weight, m.weight), mix(members.length, m.K));
    const variances = sigma.map((row, j) => row[j]);
    // (1 − γ) Σ + γ T,  T = diag Σ, or (tr(D⁻¹ Σ D⁻¹) / d) D² with pooled standard deviations D
    const mean = sum(variances.map((v, j) => v / scale[j] ** 2)) / d;
    const T = target === "sphere" ? scale.map((s) => mean * s * s) : variances;
    sigma = sigma.map((row, i) => row.map((v, j) => (1 - shrinkage) * v + (i === j ? shrinkage * T[i] : 0)));
    if (covariance === "full") {
      const varies = variances.every((v, j) => resolved(v, largest[j], m.totals[j]) > 0);
      if (!varies || !scaledCholesky(sigma)) sigma = filled(sigma, m);
    } else {
      let found = [sigma.map((row, j) => resolved(row[j], largest[j], m.totals[j])), pooledVariances, m.totals];
      if (covariance === "spherical") found = found.map((v) => v.map(() => sum(v) / d));
      const [own, shared, totals] = found;
      sigma = diagonal(own.map((v, j) => v || shared[j] || SEPARATING_SHARE * totals[j] || 1));
    }
    for (const k of members) sigmas[k] = sigma;
  }
  return sigmas;
}
/** Return a singular Σ with the variance of all classes where it has none of its own. */
function filled(sigma, m) {
  const scale = m.totals.map(unitScale), tol = rankTolerance(m.d);
  const inUnits = (S) => S.map((row, i) => row.map((v, j) => v / m.weight / scale[i] / scale[j]));
  const { values: e, vectors } = symmetricEigen(inUnits(m.pooled)), between = inUnits(m.between);
  const columns = transposed(vectors);
  const inside = columns.filter((_, i) => e[i] > tol), empty = columns.filter((_, i) => !(e[i] > tol));
  let directions = inside, variances = e.filter((v) => v > tol);
  if (empty.length) {
    // directions without variance inside classes: do the classes differ there?
    const { values: t, vectors: q } = symmetricEigen(times(times(empty, between), transposed(empty)));
    directions = [...inside, ...times(transposed(q), empty)];
    variances = [...variances, ...t.map((v) => (v > tol ? SEPARATING_SHARE : 1))];
  }
  // R = F Fᵀ,  F = diag(s) V diag(√e);  A = F⁻¹ Σ F⁻ᵀ = U diag(a) Uᵀ;  a ≈ 0 becomes 1
  const root = variances.map(Math.sqrt);
  const F = scale.map((s, j) => directions.map((v, r) => s * v[j] * root[r]));
  const inverse = directions.map((v, r) => v.map((value, j) => value / root[r] / scale[j]));
  const { values: a, vectors: U } = symmetricEigen(times(times(inverse, sigma), transposed(inverse)));
  const u = times(transposed(inverse), U);
  const noise = a.map((_, r) => tol * sum(u.map((row, j) => (row[r] * scale[j]) ** 2)));
  const A = times(F, U.map((row) => row.map((v, r) => v * Math.sqrt(a[r] > noise[r] ? a[r] : 1))));
  return times(A, transposed(A));
}
/** A Gaussian with a share: mean, Σ, L⁻¹, and log share − ½ (d log 2π + log|Σ|). */
export function gaussian(share, mean, sigma) {
  const factor = scaledCholesky(sigma) || cholesky(sigma), whitening = inverseLower(factor);
  const logDet = 2 * sum(factor.map((row, i) => Math.log(row[i])));
  const constant = Math.log(share) - 0.5 * (mean.length * LOG_2PI + logDet);
  return { share, mean, sigma, factor, whitening, logDet, constant };
}
/** Return log share + log N(x; μ, Σ). */
function logGaussian({ mean, whitening, constant }, x) {
  let squares = 0;
  for (let i = 0; i < mean.length; i++) {
    let z = 0;
    for (let j = 0; j <= i; j++) z += whitening[i][j] * (x[j] - mean[j]);
    squares += z * z;
  }
  return constant - 0.5 * squares;
}
/** Return log Σ_r of the parts' densities, and write the logarithm of each into `logs`. */
export function logMixture(parts, x, logs) {
  let top = -Infinity, total = 0;
  for (let r = 0; r < parts.length; r++) top = Math.max(top, logs[r] = logGaussian(parts[r], x));
  for (let r = 0; r < parts.length; r++) total += Math.exp(logs[r] - top);
  return parts.length === 1 ? top : top + Math.log(total);
}
/** Class-conditional densities, one Gaussian or several in each class, and priors. */
export class DensityModel {
  constructor(priors, classes, groupOf = range(priors.length)) {
    Object.assign(this, { priors, classes, groupOf, K: priors.length, hasPosterior: true, isDensity: true });
    Object.assign(this, { logPriors: priors.map(Math.log), logs: [] });
  }
  /** Write a_k = log p(x | k) + log π_k into `out`. */
  scores(x, out) {
    for (let k = 0; k < this.K; k++) {
      out[k] = this.logPriors[k] + logMixture(this.classes[k], x, this.logs);
    }
    return out;
  }
  /** Draw a class from π, then x from its density: rows [x…, k]. */
  sample(n, seed) {
    const random = uniform(seed);
    return range(n).map(() => {
      const k = drawn(this.priors, random);
      const c = this.classes[k][drawn(this.classes[k].map((part) => part.share), random)];
      const z = c.mean.map(() => normal(random));
      return [...applied(c.factor, z).map((v, j) => c.mean[j] + v), k];
    });
  }
  /** Return A (null if linear), b, c of the log odds xᵀAx + bᵀx + c of class i against j. */
  boundary(i, j) {
    if (this.classes[i].length > 1 || this.classes[j].length > 1) return null;
    // log p(x | k) + log π_k = −½ xᵀPx + (Pμ)ᵀx + log π_k − ½ (log|Σ| + μᵀPμ) + …
    const [a, b] = [i, j].map((k) => {
      const { mean, whitening, logDet } = this.classes[k][0], P = times(transposed(whitening), whitening), slope = applied(P, mean);
      return { P, slope, value: this.logPriors[k] - 0.5 * (logDet + dot(mean, slope)) };
    });
    const A = this.groupOf[i] === this.groupOf[j] ? null : scaled(added(b.P, scaled(a.P, -1)), 0.5);
    return { A, b: a.slope.map((v, r) => v - b.slope[r]), c: a.value - b.value };
  }
}

/** Return the Gaussian model of settings: covariance, groups, divisor, pooling, shrinkage, target, priors. */
export function fitGaussian(x, y, K, settings) {
  const m = momentsOf(x, y, K, settings.divisor === "averaged"), { groupOf } = settings;
  const sigmas = covariances(m, settings, groupOf);
  const priors = settings.priors || m.weights.map((w) => w / m.weight);
  return new DensityModel(priors, m.means.map((mean, k) => [gaussian(1, mean, sigmas[k])]), groupOf);
}
