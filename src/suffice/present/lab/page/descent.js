// A descent step by step, with its path and whether it converges.
import { dot, range, sum } from "./linalg.js";
import {
  fitLogistic,
  gradientStep,
  logisticAt,
  newtonStep,
  perceptronChange,
  perceptronPass,
  withOnes,
} from "./discriminative.js";

const DIVERGED = 1e6; // a larger loss means that the descent diverges
const LARGEST_SHOWN = 1e4; // larger parameters are not drawn

/** The path of one linear score w_0 + wᵀx, of all later classes against the first class. */
export class Descent {
  constructor(x, y, { method, rate, start }) {
    this.z = withOnes(x);
    this.t = y.map((code) => (code > 0 ? 1 : 0));
    this.D = this.z[0].length;
    this.method = method;
    this.rate = rate;
    this.isPerceptron = method === "perceptron" || method === "batch";
    this.noPenalty = new Array(this.D).fill(0);
    this.place = 0; // number of visited rows, for methods that go row by row
    const first = range(this.D).map((i) => start[i] || 0);
    this.path = [{ w: first, loss: this.loss(first), row: null }];
    const best = fitLogistic(x, this.t, 2, { solver: "newton", l2: 0 });
    this.best = this.isPerceptron || best.separated ? null : best.phi[0];
    this.axes = this.D === 2 ? [0, 1] : [1, 2]; // the two parameters that are drawn
  }

  get last() {
    return this.path.at(-1);
  }

  /** Return −log-likelihood; for the perceptron −Σ t wᵀx over mistakes, with labels t = ±1. */
  loss(w) {
    if (!this.isPerceptron) {
      return logisticAt([w], this.z, this.t, this.noPenalty).loss;
    }
    const losses = this.z.map((row, i) => {
      const score = dot(w, row);
      return Math.max(0, this.t[i] === 1 ? -score : score);
    });
    return sum(losses);
  }

  /** Take one step; return whether the step changed the parameters. */
  step() {
    const { last } = this;
    if (!Number.isFinite(last.loss)) {
      return false;
    }
    const { w, row } = this.next(last.w);
    if (w.every((value, j) => value === last.w[j])) {
      return false;
    }
    this.path.push({ w, loss: this.loss(w), row });
    return true;
  }

  /** Return the parameters after one step, and the row that it used if it was a single row. */
  next(w) {
    const { z, t, rate, noPenalty } = this;
    switch (this.method) {
      case "gd":
        return { w: gradientStep([w], z, t, noPenalty, rate)[0], row: null };
      case "sgd": {
        const row = this.place % z.length;
        this.place += 1;
        return { w: gradientStep([w], [z[row]], [t[row]], noPenalty, rate)[0], row };
      }
      case "newton": {
        const evaluate = (phi) => logisticAt(phi, z, t, noPenalty, true);
        const point = newtonStep(evaluate([w]), evaluate);
        return { w: point === null ? w : point.phi[0], row: null };
      }
      case "batch":
        return { w: perceptronPass([w], z, t, rate, true).w[0], row: null };
      default:
        return this.nextMistake(w);
    }
  }

  /** Return the parameters after the next misclassified row; each row is visited at most once. */
  nextMistake(w) {
    const { z, t, rate } = this;
    for (let seen = 0; seen < z.length; seen++) {
      const row = this.place % z.length;
      this.place += 1;
      const change = perceptronChange([w], z[row], t[row]);
      if (change !== null) {
        return { w: w.map((value, j) => value + rate * change[0] * z[row][j]), row };
      }
    }
    return { w, row: null };
  }

  /** Return a text on the state of the descent, and on whether it converged, bounces or stalls. */
  status() {
    const { last } = this;
    const steps = this.path.length - 1;
    const [first, ...slopes] = last.w.map((value) => value.toFixed(4));
    const loss = last.loss.toFixed(4);
    const position = `Step ${steps}: w₀ = ${first}, w = (${slopes.join(", ")}), loss ${loss}.`;
    if (!Number.isFinite(last.loss) || last.loss > DIVERGED) {
      return `${position} Diverged: the learning rate is too large.`;
    }
    const progress = this.isPerceptron ? this.perceptronProgress() : this.gradientProgress();
    return `${position} ${progress}`;
  }

  perceptronProgress() {
    const { z, t, last } = this;
    const wrong = z.filter((row, i) => perceptronChange([last.w], row, t[i]) !== null).length;
    if (wrong === 0) {
      return "Converged: no row is misclassified.";
    }
    return `${wrong} of ${z.length} rows are on the wrong side.`;
  }

  gradientProgress() {
    const { last } = this;
    const [gradient] = logisticAt([last.w], this.z, this.t, this.noPenalty).gradient;
    const steepest = Math.max(...gradient.map(Math.abs)) / this.z.length;
    if (steepest < 1e-6) {
      return "Converged: the gradient is zero.";
    }
    const recent = this.path.slice(-11).map((point) => point.loss);
    const rises = recent.filter((loss, i) => i > 0 && loss > recent[i - 1] * (1 + 1e-12)).length;
    if (this.method !== "sgd" && rises > 2) {
      return `Bounces: the loss rose in ${rises} of the last ten steps. Lower the rate.`;
    }
    const size = `Mean gradient ${steepest.toPrecision(2)}.`;
    const stalls = this.path.length > 11 && recent[0] - last.loss < 1e-3 * last.loss;
    return stalls ? `Stalls: ten steps hardly changed the loss. ${size}` : size;
  }

  /** Return the two drawn parameters along the path. */
  track() {
    const [i, j] = this.axes;
    return this.shownPath().map((w) => [w[i], w[j]]);
  }

  shownPath() {
    const parameters = this.path.map((point) => point.w);
    return parameters.filter((w) => w.every((value) => Math.abs(value) < LARGEST_SHOWN));
  }

  /** Return a window of the drawn parameters around the path and the minimum. */
  window() {
    const shown = this.shownPath();
    if (this.best) {
      shown.push(this.best);
    }
    return this.axes.flatMap((j) => {
      const values = shown.map((w) => w[j]);
      const low = Math.min(...values);
      const high = Math.max(...values);
      const margin = 0.3 * Math.max(high - low, 1.5);
      return [low - margin, high + margin];
    });
  }

  /** Return the loss over the two drawn parameters, at the current values of all others. */
  surface() {
    const w = [...this.last.w];
    const [i, j] = this.axes;
    return (u, v) => {
      w[i] = u;
      w[j] = v;
      return this.loss(w);
    };
  }
}
