// Small dense matrices (arrays of rows), softmax, seeded random numbers.
export const EPS = 2 ** -52;
export const LOG_2PI = Math.log(2 * Math.PI);

/** Return 0, 1, …, n − 1. */
export function range(n) {
  return Array.from({ length: n }, (_, i) => i);
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** Return the position of the largest value; of equals, the first. */
export function argmax(values) {
  let best = 0;
  for (let k = 1; k < values.length; k++) {
    if (values[k] > values[best]) {
      best = k;
    }
  }
  return best;
}

// ---- vectors and matrices

export function zeros(n, m) {
  return range(n).map(() => new Array(m).fill(0));
}

export function diagonal(values) {
  return values.map((value, i) => values.map((_, j) => (i === j ? value : 0)));
}

export function dot(a, b) {
  return a.reduce((total, value, i) => total + value * b[i], 0);
}

export function outer(a, b) {
  return a.map((u) => b.map((v) => u * v));
}

export function subtract(a, b) {
  return a.map((value, i) => value - b[i]);
}

export function transpose(A) {
  return A[0].map((_, j) => A.map((row) => row[j]));
}

export function multiply(A, B) {
  const columns = transpose(B);
  return A.map((row) => columns.map((column) => dot(row, column)));
}

/** Return the vector A x. */
export function apply(A, x) {
  return A.map((row) => dot(row, x));
}

export function scale(A, factor) {
  return A.map((row) => row.map((value) => factor * value));
}

export function add(A, B) {
  return A.map((row, i) => row.map((value, j) => value + B[i][j]));
}

/** Return the centre of one of n × n cells of a window, numbered along the first axis. */
export function cellCentre([x0, x1, y0, y1], n, cell) {
  const column = cell % n;
  const row = Math.floor(cell / n);
  return [x0 + ((column + 0.5) / n) * (x1 - x0), y0 + ((row + 0.5) / n) * (y1 - y0)];
}

// ---- factorisations

/** Return the largest eigenvalue that is a rounding error in a d × d correlation matrix. */
export function rankTolerance(d) {
  return 64 * d * EPS;
}

/** Return the standard deviation; 1 if the variance is zero. */
export function unitScale(variance) {
  return variance > 0 ? Math.sqrt(variance) : 1;
}

/** Return the lower triangular L with M = L Lᵀ, or null if a pivot is not above `least`. */
export function cholesky(M, least = 0) {
  const d = M.length;
  const L = zeros(d, d);
  for (let i = 0; i < d; i++) {
    for (let j = 0; j < i; j++) {
      L[i][j] = (M[i][j] - partialDot(L[i], L[j], j)) / L[j][j];
    }
    const pivot = M[i][i] - partialDot(L[i], L[i], i);
    if (!(pivot > least)) {
      return null;
    }
    L[i][i] = Math.sqrt(pivot);
  }
  return L;
}

/** Return Σ a_k b_k over the first n entries. */
function partialDot(a, b, n) {
  let total = 0;
  for (let k = 0; k < n; k++) {
    total += a[k] * b[k];
  }
  return total;
}

/** Return L with Σ = L Lᵀ, or null if the correlations are singular up to rounding. */
export function scaledCholesky(sigma) {
  const scales = sigma.map((row, i) => unitScale(row[i]));
  const correlations = sigma.map((row, i) => row.map((value, j) => value / scales[i] / scales[j]));
  const L = cholesky(correlations, rankTolerance(scales.length));
  if (L === null) {
    return null;
  }
  return L.map((row, i) => row.map((value) => scales[i] * value));
}

/** Return the inverse of a lower triangular matrix. */
export function inverseLower(L) {
  const d = L.length;
  const inverse = zeros(d, d);
  for (let j = 0; j < d; j++) {
    inverse[j][j] = 1 / L[j][j];
    for (let i = j + 1; i < d; i++) {
      let total = 0;
      for (let k = j; k < i; k++) {
        total -= L[i][k] * inverse[k][j];
      }
      inverse[i][j] = total / L[i][i];
    }
  }
  return inverse;
}

const RIDGES = [0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1];

/** Return H⁻¹ b for a positive definite H; a singular H gets a slightly larger diagonal. */
export function solve(H, b) {
  for (const ridge of RIDGES) {
    const M = H.map((row) => [...row]);
    for (let i = 0; i < M.length; i++) {
      M[i][i] = M[i][i] * (1 + ridge) || 1;
    }
    const L = scaledCholesky(M);
    if (L !== null) {
      const inverse = inverseLower(L);
      return apply(transpose(inverse), apply(inverse, b));
    }
  }
  return b.map(() => 0);
}

/** Return the ascending eigenvalues of a symmetric matrix (d ≤ 2), and eigenvectors as columns. */
export function symmetricEigen(M) {
  if (M.length === 1) {
    return { values: M[0], vectors: [[1]] };
  }
  const [[a, b], [, c]] = M;
  // the axis with the largest variance has the angle θ with tan 2θ = 2b / (a − c)
  const theta = 0.5 * Math.atan2(2 * b, a - c);
  const u = Math.cos(theta);
  const v = Math.sin(theta);
  const small = a * v * v - 2 * b * u * v + c * u * u;
  const large = a * u * u + 2 * b * u * v + c * v * v;
  const vectors = [
    [-v, u],
    [u, v],
  ];
  return { values: [small, large], vectors };
}

// ---- probabilities

/** Write softmax(a / T) into `out`. */
export function softmax(a, temperature, out) {
  let largest = -Infinity;
  for (let k = 0; k < a.length; k++) {
    if (a[k] > largest) {
      largest = a[k];
    }
  }
  let total = 0;
  for (let k = 0; k < a.length; k++) {
    out[k] = Math.exp((a[k] - largest) / temperature);
    total += out[k];
  }
  for (let k = 0; k < a.length; k++) {
    out[k] /= total;
  }
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

/** Return a standard normal number (Box & Muller). */
export function normal(random) {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/** Return a position drawn with probabilities proportional to the weights. */
export function drawIndex(weights, random) {
  let rest = random() * sum(weights);
  for (let k = 0; k < weights.length - 1; k++) {
    rest -= weights[k];
    if (rest < 0) {
      return k;
    }
  }
  return weights.length - 1;
}
