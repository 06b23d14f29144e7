// The k nearest neighbours.
import { range } from "./linalg.js";

/** The k nearest rows vote, alike or by 1 / distance. */
export class NeighbourModel {
  constructor(x, y, K, { k, byDistance }) {
    const order = range(x.length).sort((i, j) => x[i][0] - x[j][0]);
    this.K = K;
    this.k = Math.min(k, x.length);
    this.byDistance = byDistance;
    this.hasPosterior = true;
    this.isShare = true;
    // rows in the order of their first feature
    this.y = order.map((i) => y[i]);
    this.first = Float64Array.from(order, (i) => x[i][0]);
    this.second = Float64Array.from(order, (i) => x[i][1] ?? 0);
    // what the last search found, the nearest first
    this.nearest = new Int32Array(this.k);
    this.squares = new Float64Array(this.k);
  }

  /** Find the k nearest rows of x, which are no farther than the rows that were found last. */
  search(x) {
    const u = x[0];
    const v = x[1] ?? 0;
    const { first, second } = this;
    let limit = this.squaredReach(u, v);
    const reach = Math.sqrt(limit) * (1 + 1e-12);
    let count = 0;
    for (let i = this.firstAtLeast(u - reach); i < first.length && first[i] <= u + reach; i++) {
      const dx = first[i] - u;
      const dy = second[i] - v;
      const square = dx * dx + dy * dy;
      const isNear = count < this.k ? square <= limit : square < limit;
      if (isNear) {
        count = this.insert(i, square, count);
        if (count === this.k) {
          limit = this.squares[this.k - 1];
        }
      }
    }
  }

  /** Return the largest squared distance to the rows that were found last. */
  squaredReach(u, v) {
    const { first, second, nearest } = this;
    if (this.k > 1 && nearest[0] === nearest[1]) {
      return Infinity; // nothing has been found yet
    }
    let largest = 0;
    for (const i of nearest) {
      largest = Math.max(largest, (first[i] - u) ** 2 + (second[i] - v) ** 2);
    }
    return largest;
  }

  /** Return the position of the first row whose first feature is at least `value`. */
  firstAtLeast(value) {
    let low = 0;
    let high = this.first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.first[middle] < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Insert a row among the nearest, and return how many there are now. */
  insert(row, square, count) {
    const { nearest, squares } = this;
    let place = Math.min(count, this.k - 1);
    while (place > 0 && squares[place - 1] > square) {
      squares[place] = squares[place - 1];
      nearest[place] = nearest[place - 1];
      place -= 1;
    }
    squares[place] = square;
    nearest[place] = row;
    return Math.min(count + 1, this.k);
  }

  /** Write the share of each class among the neighbours into `out`. */
  scores(x, out) {
    this.search(x);
    out.fill(0);
    let total = 0;
    for (let i = 0; i < this.k; i++) {
      const vote = this.vote(this.squares[i]);
      out[this.y[this.nearest[i]]] += vote;
      total += vote;
    }
    for (let k = 0; k < this.K; k++) {
      out[k] /= total;
    }
    return out;
  }

  vote(square) {
    if (!this.byDistance) {
      return 1;
    }
    const hasExactNeighbour = this.squares[0] === 0;
    if (hasExactNeighbour) {
      return square === 0 ? 1 : 0;
    }
    return 1 / Math.sqrt(square);
  }

  boundary() {
    return null;
  }
}
