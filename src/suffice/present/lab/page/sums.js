// The sums of a Gaussian model (counts, means, scatters), and other points with the same sums.
import { apply, cholesky, inverseLower, normal, range, subtract, uniform } from "./linalg.js";
import { momentsOf } from "./gaussian.js";

/** Return the counts, means and scatters of all classes that have points. */
export function sumsOf({ x, y, K }) {
  const { weights, means, scatters } = momentsOf(x, y, K);
  return { counts: weights, means, scatters };
}

/** Return other rows with the same mean and scatter, or null if the scatter is singular. */
export function rowsOfSameSums(rows, random) {
  const d = rows[0].length;
  const factor = factorOf(rows);
  const shape = range(rows.length).map((i) => shapedRow(i, rows.length, d, random));
  const shapeFactor = factorOf(shape);
  if (rows.length <= d || factor === null || shapeFactor === null) {
    return null;
  }
  // x = μ + L_x L_z⁻¹ (z − z̄),  M = L Lᵀ
  const whitening = inverseLower(shapeFactor);
  const mean = meanOf(rows);
  const centre = meanOf(shape);
  return shape.map((row) => {
    const moved = apply(factor, apply(whitening, subtract(row, centre)));
    return moved.map((value, j) => mean[j] + value);
  });
}

function meanOf(rows) {
  return rows[0].map((_, j) => rows.reduce((total, row) => total + row[j], 0) / rows.length);
}

/** Return L of the scatter L Lᵀ of rows; null if the scatter is singular. */
function factorOf(rows) {
  const { scatters } = momentsOf(
    rows,
    rows.map(() => 0),
    1,
  );
  return cholesky(scatters[0], 1e-12);
}

/** Return a row on a noisy ring or, in one dimension, in one of two heaps. */
function shapedRow(i, n, d, random) {
  const noise = range(d).map(() => 0.12 * normal(random));
  if (d === 1) {
    return [(i % 2 === 0 ? 1 : -1) + noise[0]];
  }
  const angle = (2 * Math.PI * i) / n;
  return [Math.cos(angle) + noise[0], Math.sin(angle) + noise[1]];
}

/** Return other points with the same sums in each class. */
export function pointsOfSameSums(points, dimension, seed) {
  const random = uniform(seed);
  const replaced = [...points];
  for (const k of new Set(points.map((point) => point[2]))) {
    const places = range(points.length).filter((i) => points[i][2] === k);
    const rows = places.map((i) => points[i].slice(0, dimension));
    const others = rowsOfSameSums(rows, random);
    if (others !== null) {
      places.forEach((i, r) => {
        replaced[i] = [others[r][0], others[r][1] ?? 0, k];
      });
    }
  }
  return replaced;
}

/** Return points with class k moved by a step. */
export function shifted(points, k, [dx, dy]) {
  return points.map((point) => {
    return point[2] === k ? [point[0] + dx, point[1] + dy, k] : point;
  });
}

/** Return points with class k stretched by a factor along a direction from its mean. */
export function stretched(points, k, mean, [ux, uy], factor) {
  return points.map((point) => {
    if (point[2] !== k) {
      return point;
    }
    // x + (s − 1) u uᵀ (x − μ)
    const along = (factor - 1) * (ux * (point[0] - mean[0]) + uy * (point[1] - mean[1]));
    return [point[0] + along * ux, point[1] + along * uy, k];
  });
}
