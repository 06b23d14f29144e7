// The k nearest neighbours.
import { range } from "./linalg.js";

/** A model in which the k nearest rows vote, with weight 1 or 1 / distance. */
export class NeighbourModel {
  constructor(x, y, K, { k, byDistance }) {
    const order = range(x.length).sort((i, j) => x[i][0] - x[j][0]);
    this.K = K;
    this.k = Math.min(k, x.length);
    this.byDistance = byDistance;
    this.hasPosterior = true;
    this.isShare = true;
    // rows sorted by their first feature
    this.y = order.map((i) => y[i]);
    this.first = Float64Array.from(order, (i) => x[i][0]);
    this.second = Float64Array.from(order, (i) => x[i][1] ?? 0);
    // the result of the last search, nearest first
    this.nearest = new Int32Array(this.k);
    this.squares = new Float64Array(this.k);
  }

  /** Find the k rows nearest to x; the rows of the last search bound their distance. */
  search(x) {
    const { first, second, nearest, squares, k } = this;
    const u = x[0];
    const v = x[1] ?? 0;
    let limit = this.squaredReach(u, v);
    const reach = Math.sqrt(limit) * (1 + 1e-12);
    let count = 0;
    for (let i = this.firstAtLeast(u - reach); i < first.length && first[i] <= u + reach; i++) {
      const dx = first[i] - u;
      const dy = second[i] - v;
      const square = dx * dx + dy * dy;
      if (square < limit || (count < k && square === limit)) {
        insertSorted(nearest, squares, Math.min(count, k - 1), i, square);
        count += 1;
        if (count >= k) {
          limit = squares[k - 1];
        }
      }
    }
  }

  /** Return the largest squared distance to the rows of the last search. */
  squaredReach(u, v) {
    const { first, second, nearest, k } = this;
    if (k > 1 && nearest[0] === nearest[1]) {
      return Infinity; // there was no search yet
    }
    let largest = 0;
    for (let r = 0; r < k; r++) {
      const dx = first[nearest[r]] - u;
      const dy = second[nearest[r]] - v;
      largest = Math.max(largest, dx * dx + dy * dy);
    }
    return largest;
  }

  /** Return the position of the first row whose first feature is at least `value`. */
  firstAtLeast(value) {
    const { first } = this;
    let low = 0;
    let high = first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (first[middle] < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Write the share of each class among the neighbours into `out`. */
  scores(x, out) {
    this.search(x);
    const { y, nearest, squares, byDistance } = this;
    const hasExactNeighbour = squares[0] === 0;
    out.fill(0);
    let total = 0;
    for (let r = 0; r < this.k; r++) {
      const weight = byDistance ? voteByDistance(squares[r], hasExactNeighbour) : 1;
      out[y[nearest[r]]] += weight;
      total += weight;
    }
    for (let k = 0; k < this.K; k++) {
      out[k] /= total;
    }
    return out;
  }

  boundary() {
    return null;
  }
}

/** Insert a row into rows sorted by distance, of which the one at position `last` is dropped. */
function insertSorted(nearest, squares, last, row, square) {
  let place = last;
  while (place > 0 && squares[place - 1] > square) {
    squares[place] = squares[place - 1];
    nearest[place] = nearest[place - 1];
    place -= 1;
  }
  squares[place] = square;
  nearest[place] = row;
}

/** Return the vote 1 / distance; if there are rows at distance 0, only they vote. */
function voteByDistance(square, hasExactNeighbour) {
  if (hasExactNeighbour) {
    return square === 0 ? 1 : 0;
  }
  return 1 / Math.sqrt(square);
}
