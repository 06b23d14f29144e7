// Small dense matrices (arrays of rows), softmax, seeded random numbers.
export const EPS = 2 ** -52;
export const LOG_2PI = Math.log(2 * Math.PI);

export const range = (n) => Array.from({ length: n }, (_, i) => i);
export const sum = (values) => values.reduce((total, v) => total + v, 0);
export const zeros = (n, m) => range(n).map(() => new Array(m).fill(0));
export const diagonal = (values) => values.map((v, i) => values.map((_, j) => (i === j ? v : 0)));
export const dot = (a, b) => a.reduce((total, v, i) => total + v * b[i], 0);
export const outer = (a, b) => a.map((u) => b.map((v) => u * v));
export const transposed = (A) => A[0].map((_, j) => A.map((row) => row[j]));
export const times = (A, B, columns = transposed(B)) => A.map((row) => columns.map((column) => dot(row, column)));
export const applied = (A, x) => A.map((row) => dot(row, x));
export const scaled = (A, c) => A.map((row) => row.map((v) => c * v));
export const added = (A, B) => A.map((row, i) => row.map((v, j) => v + B[i][j]));
export const argmax = (values) => values.reduce((best, v, k) => (v > values[best] ? k : best), 0);

/** Return the centre of one of n × n cells of a window, counted along the first axis. */
export const cellCentre = ([x0, x1, y0, y1], n, at) =>
  [x0 + (((at % n) + 0.5) / n) * (x1 - x0), y0 + ((Math.floor(at / n) + 0.5) / n) * (y1 - y0)];

// the eigenvalue of a d × d correlation matrix that rounding alone can leave
export const rankTolerance = (d) => 64 * d * EPS;
export const unitScale = (variance) => Math.sqrt(variance > 0 ? variance : 1);
/** Return lower L with M = L Lᵀ, or null where a pivot is below `least`. */
export function cholesky(M, least = 0) {
  const d = M.length, L = zeros(d, d);
  for (let i = 0; i < d; i++) {
    for (let j = 0; j <= i; j++) {
      let v = M[i][j];
      for (let k = 0; k < j; k++) v -= L[i][k] * L[j][k];
      if (i === j && !(v > least)) return null;
      L[i][j] = i === j ? Math.sqrt(v) : v / L[j][j];
    }
  }
  return L;
}
/** Return L of Σ, or null where Σ is singular up to rounding; of correlations, free of units. */
export function scaledCholesky(sigma) {
  const s = sigma.map((row, i) => unitScale(row[i]));
  const L = cholesky(sigma.map((row, i) => row.map((v, j) => v / s[i] / s[j])), rankTolerance(s.length));
  return L && L.map((row, i) => row.map((v) => s[i] * v));
}
/** Return L⁻¹ of a lower triangular L. */
export function inverseLower(L) {
  const d = L.length, inverse = zeros(d, d);
  for (let j = 0; j < d; j++) {
    for (let i = j; i < d; i++) {
      let v = i === j ? 1 : 0;
      for (let k = j; k < i; k++) v -= L[i][k] * inverse[k][j];
      inverse[i][j] = v / L[i][i];
    }
  }
  return inverse;
}
/** Return H⁻¹ b of a positive definite H, its diagonal a little larger where it is singular. */
export function solved(H, b) {
  for (const ridge of [0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1]) {
    const M = H.map((row, i) => row.map((v, j) => (i === j ? v * (1 + ridge) || 1 : v)));
    const L = scaledCholesky(M);
    if (L) {
      const W = inverseLower(L);
      return applied(transposed(W), applied(W, b));
    }
  }
  return b.map(() => 0);
}
/** Return the eigenvalues of a symmetric matrix (d ≤ 2), rising, and eigenvectors as columns. */
export function symmetricEigen(M) {
  if (M.length === 1) return { values: M[0], vectors: [[1]] };
  // the axis of greatest variance lies at the angle θ with tan 2θ = 2b / (a − c)
  const [[a, b], [, c]] = M, theta = 0.5 * Math.atan2(2 * b, a - c), u = Math.cos(theta), v = Math.sin(theta);
  const values = [a * v * v - 2 * b * u * v + c * u * u, a * u * u + 2 * b * u * v + c * v * v];
  return { values, vectors: [[-v, u], [u, v]] };
}
/** Write softmax(a / T) into `out`. */
export function softmax(a, temperature, out) {
  let top = -Infinity, total = 0;
  for (let k = 0; k < a.length; k++) if (a[k] > top) top = a[k];
  for (let k = 0; k < a.length; k++) total += out[k] = Math.exp((a[k] - top) / temperature);
  for (let k = 0; k < a.length; k++) out[k] /= total;
  return out;
}
/** Return a generator of uniform numbers in [0, 1) (mulberry32). */
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Box & Muller
export const normal = (random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
/** Return the index of a draw with these probabilities. */
export function drawn(probabilities, random) {
  let u = random() * sum(probabilities), k = 0;
  while (k < probabilities.length - 1 && (u -= probabilities[k]) >= 0) k++;
  return k;
}
