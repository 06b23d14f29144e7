// Gaussian models: sums per class, covariances, densities and boundaries.
import {
  EPS,
  LOG_2PI,
  add,
  apply,
  cholesky,
  diagonal,
  dot,
  drawIndex,
  inverseLower,
  multiply,
  normal,
  outer,
  range,
  rankTolerance,
  scale,
  scaledCholesky,
  subtract,
  sum,
  symmetricEigen,
  transpose,
  uniform,
  unitScale,
  zeros,
} from "./linalg.js";

// share of the total variance that a direction gets if the classes differ in it but do not vary
const SEPARATING_SHARE = 1e-9;

// ---- sums

/** Return weights, means and scatters of K classes from rows x and codes y.
 *  With `averaged`, a scatter is multiplied by n / (n − 1). */
export function momentsOf(x, y, K, averaged = false) {
  const rowsOfClass = range(K).map((k) => x.filter((_, i) => y[i] === k));
  const weight = x.length;
  const weights = rowsOfClass.map((rows) => rows.length);
  const centre = meanOf(x);
  const means = rowsOfClass.map(meanOf);
  const scatters = rowsOfClass.map((rows, k) => {
    const scatter = rows.map((row) => squareOf(row, means[k])).reduce(add);
    return averaged ? scale(scatter, besselFactor(weights[k])) : scatter;
  });
  const pooled = scatters.reduce(add);
  const between = means.map((mean, k) => scale(squareOf(mean, centre), weights[k])).reduce(add);
  const totals = centre.map((mean, j) => {
    const variance = (pooled[j][j] + between[j][j]) / weight;
    return withoutRounding(variance, mean, 0);
  });
  return { d: x[0].length, K, weights, weight, means, scatters, pooled, between, centre, totals };
}

function meanOf(rows) {
  return rows[0].map((_, j) => sum(rows.map((row) => row[j])) / rows.length);
}

/** Return (x − m)(x − m)ᵀ. */
function squareOf(row, mean) {
  const deviation = subtract(row, mean);
  return outer(deviation, deviation);
}

function besselFactor(n) {
  return n > 1 ? n / (n - 1) : 0;
}

/** Return a variance, or zero if the variance is only a rounding error of the data. */
function withoutRounding(variance, mean, total) {
  const rounding = (16 * EPS) ** 2 * (mean * mean + (total || variance));
  return variance > rounding ? variance : 0;
}

// ---- covariances

/** Return the covariance of each class; tied classes have the same covariance. */
function covariancesOf(moments, settings) {
  const { groupOf } = settings;
  const sigmas = new Array(moments.K);
  for (const group of new Set(groupOf)) {
    const members = range(moments.K).filter((k) => groupOf[k] === group);
    const sigma = covarianceOf(moments, members, settings);
    for (const k of members) {
      sigmas[k] = sigma;
    }
  }
  return sigmas;
}

/** Return the covariance of a group of classes, pooled by λ, shrunk by γ, and never singular. */
function covarianceOf(moments, members, settings) {
  const pooled = pooledCovariance(moments, members, settings);
  const shrunk = shrunkCovariance(moments, pooled, settings);
  const largestMeans = moments.centre.map((_, j) =>
    Math.max(...members.map((k) => Math.abs(moments.means[k][j]))),
  );
  const variancesOf = (sigma) =>
    sigma.map((row, j) => withoutRounding(row[j], largestMeans[j], moments.totals[j]));
  if (settings.covariance === "full") {
    const varies = variancesOf(pooled).every((variance) => variance > 0);
    const isRegular = varies && scaledCholesky(shrunk) !== null;
    return isRegular ? shrunk : filledCovariance(shrunk, moments);
  }
  return diagonalCovariance(moments, variancesOf(shrunk), settings);
}

/** Return S / w of a group after pooling with all classes by the weight λ. */
function pooledCovariance(moments, members, { divisor, pooling }) {
  const scatter = members.map((k) => moments.scatters[k]).reduce(add);
  const weight = sum(members.map((k) => moments.weights[k]));
  // S_g(λ) = (1 − λ) S_g + λ S,   w_g(λ) = (1 − λ) w_g + λ W
  const mix = (own, all) => (1 - pooling) * own + pooling * all;
  const mixedScatter = scatter.map((row, i) =>
    row.map((value, j) => mix(value, moments.pooled[i][j])),
  );
  const mixedWeight = mix(weight, moments.weight);
  const nMeans = mix(members.length, moments.K);
  return divided(mixedScatter, mixedWeight, divisor === "unbiased" ? nMeans : 0);
}

/** Return S / (w − c); zero if w − c is not positive. */
function divided(scatter, weight, correction) {
  const divisor = weight - correction;
  if (divisor > EPS * Math.max(weight, 1)) {
    return scale(scatter, 1 / divisor);
  }
  return zeros(scatter.length, scatter.length);
}

/** Return (1 − γ) Σ + γ T with T = diag Σ, or a sphere in units of pooled standard deviations. */
function shrunkCovariance(moments, sigma, { shrinkage, target }) {
  let targets = sigma.map((row, j) => row[j]);
  if (target === "sphere") {
    // T = (tr(D⁻¹ Σ D⁻¹) / d) D²
    const scales = moments.pooled.map((row, j) => unitScale(row[j] / moments.weight));
    const mean = sum(targets.map((variance, j) => variance / scales[j] ** 2)) / moments.d;
    targets = scales.map((s) => mean * s * s);
  }
  return sigma.map((row, i) =>
    row.map((value, j) => (1 - shrinkage) * value + (i === j ? shrinkage * targets[i] : 0)),
  );
}

/** Return a diagonal or spherical Σ, with the variance of all classes for features without any. */
function diagonalCovariance(moments, variances, { covariance, divisor }) {
  const correction = divisor === "unbiased" ? moments.K : 0;
  const pooled = divided(moments.pooled, moments.weight, correction);
  let own = variances;
  let shared = pooled.map((row, j) =>
    withoutRounding(row[j], moments.centre[j], moments.totals[j]),
  );
  let { totals } = moments;
  if (covariance === "spherical") {
    own = averaged(own);
    shared = averaged(shared);
    totals = averaged(totals);
  }
  return diagonal(own.map((v, j) => v || shared[j] || SEPARATING_SHARE * totals[j] || 1));
}

function averaged(values) {
  const mean = sum(values) / values.length;
  return values.map(() => mean);
}

/** Return a singular Σ, completed with the variance of all classes along directions without any. */
function filledCovariance(sigma, moments) {
  const scales = moments.totals.map(unitScale);
  const tolerance = rankTolerance(moments.d);
  const { directions, variances } = directionsOfAll(moments, scales, tolerance);
  // R = F Fᵀ,  F = diag(s) V diag(√e);  A = F⁻¹ Σ F⁻ᵀ = U diag(a) Uᵀ;  a ≈ 0 becomes 1
  const roots = variances.map(Math.sqrt);
  const F = scales.map((s, j) => directions.map((v, r) => s * v[j] * roots[r]));
  const inverse = directions.map((v, r) => v.map((value, j) => value / roots[r] / scales[j]));
  const A = multiply(multiply(inverse, sigma), transpose(inverse));
  const { values: a, vectors: U } = symmetricEigen(A);
  const u = multiply(transpose(inverse), U);
  const deviations = a.map((value, r) => {
    const noise = tolerance * sum(u.map((row, j) => (row[r] * scales[j]) ** 2));
    return Math.sqrt(value > noise ? value : 1);
  });
  const root = multiply(
    F,
    U.map((row) => row.map((value, r) => value * deviations[r])),
  );
  return multiply(root, transpose(root));
}

/** Return directions in standard units, and the variance of all classes along each direction. */
function directionsOfAll(moments, scales, tolerance) {
  const standardised = (S) =>
    S.map((row, i) => row.map((v, j) => v / moments.weight / scales[i] / scales[j]));
  const { values, vectors } = symmetricEigen(standardised(moments.pooled));
  const columns = transpose(vectors);
  const varying = columns.filter((_, i) => values[i] > tolerance);
  const empty = columns.filter((_, i) => !(values[i] > tolerance));
  const variances = values.filter((value) => value > tolerance);
  if (empty.length === 0) {
    return { directions: varying, variances };
  }
  // along directions without variance within classes, the variance depends on whether the classes
  // differ
  const between = standardised(moments.between);
  const { values: differences, vectors: Q } = symmetricEigen(
    multiply(multiply(empty, between), transpose(empty)),
  );
  return {
    directions: [...varying, ...multiply(transpose(Q), empty)],
    variances: [
      ...variances,
      ...differences.map((value) => (value > tolerance ? SEPARATING_SHARE : 1)),
    ],
  };
}

// ---- densities

/** Return a weighted Gaussian: mean, Σ, L, L⁻¹, and log share − ½ (d log 2π + log|Σ|). */
export function gaussian(share, mean, sigma) {
  const factor = scaledCholesky(sigma) || cholesky(sigma);
  const whitening = inverseLower(factor);
  const logDet = 2 * sum(factor.map((row, i) => Math.log(row[i])));
  const constant = Math.log(share) - 0.5 * (mean.length * LOG_2PI + logDet);
  return { share, mean, sigma, factor, whitening, logDet, constant };
}

/** Return log share + log N(x; μ, Σ). */
function logGaussian({ mean, whitening, constant }, x) {
  let squares = 0;
  for (let i = 0; i < mean.length; i++) {
    let z = 0;
    for (let j = 0; j <= i; j++) {
      z += whitening[i][j] * (x[j] - mean[j]);
    }
    squares += z * z;
  }
  return constant - 0.5 * squares;
}

/** Return the log of the sum of the parts' densities, and write the log of each into `logs`. */
export function logMixture(parts, x, logs) {
  let largest = -Infinity;
  for (let r = 0; r < parts.length; r++) {
    logs[r] = logGaussian(parts[r], x);
    largest = Math.max(largest, logs[r]);
  }
  if (parts.length === 1) {
    return largest;
  }
  let total = 0;
  for (let r = 0; r < parts.length; r++) {
    total += Math.exp(logs[r] - largest);
  }
  return largest + Math.log(total);
}

/** A model with priors and densities: one or several Gaussians in each class. */
export class DensityModel {
  constructor(priors, classes, groupOf = range(priors.length)) {
    this.priors = priors;
    this.classes = classes;
    this.groupOf = groupOf;
    this.K = priors.length;
    this.hasPosterior = true;
    this.isDensity = true;
    this.logPriors = priors.map(Math.log);
    this.logs = [];
  }

  /** Write a_k = log p(x | k) + log π_k into `out`. */
  scores(x, out) {
    for (let k = 0; k < this.K; k++) {
      out[k] = this.logPriors[k] + logMixture(this.classes[k], x, this.logs);
    }
    return out;
  }

  /** Draw rows [x…, k]: a class k from the priors, then x from the density of the class. */
  sample(n, seed) {
    const random = uniform(seed);
    return range(n).map(() => {
      const k = drawIndex(this.priors, random);
      const parts = this.classes[k];
      const shares = parts.map((part) => part.share);
      const { mean, factor } = parts[drawIndex(shares, random)];
      const z = mean.map(() => normal(random));
      const x = apply(factor, z).map((value, j) => mean[j] + value);
      return [...x, k];
    });
  }

  /** Return A (null if linear), b and c of the log odds xᵀAx + bᵀx + c of class i against j. */
  boundary(i, j) {
    if (this.classes[i].length > 1 || this.classes[j].length > 1) {
      return null;
    }
    const first = this.quadraticScore(i);
    const second = this.quadraticScore(j);
    const isLinear = this.groupOf[i] === this.groupOf[j];
    return {
      A: isLinear ? null : scale(add(second.precision, scale(first.precision, -1)), 0.5),
      b: subtract(first.slope, second.slope),
      c: first.constant - second.constant,
    };
  }

  /** Return P, Pμ and the constant in the quadratic score of a class. */
  quadraticScore(k) {
    const { mean, whitening, logDet } = this.classes[k][0];
    const precision = multiply(transpose(whitening), whitening);
    const slope = apply(precision, mean);
    // log p(x | k) + log π_k = −½ xᵀPx + (Pμ)ᵀx + log π_k − ½ (log|Σ| + μᵀPμ) + …
    const constant = this.logPriors[k] - 0.5 * (logDet + dot(mean, slope));
    return { precision, slope, constant };
  }
}

/** Return the Gaussian model for settings: covariance, groupOf, divisor, pooling, shrinkage, target
 *  and priors. */
export function fitGaussian(x, y, K, settings) {
  const moments = momentsOf(x, y, K, settings.divisor === "averaged");
  const sigmas = covariancesOf(moments, settings);
  const priors = settings.priors || moments.weights.map((weight) => weight / moments.weight);
  const classes = moments.means.map((mean, k) => [gaussian(1, mean, sigmas[k])]);
  return new DensityModel(priors, classes, settings.groupOf);
}
