// A descent step by step: the points it goes through, and how it goes.
import { dot, range, sum } from "./linalg.js";
import {
  fitLogistic, gradientStep, logisticAt, newtonStep, perceptronChange, perceptronPass, withOnes,
} from "./discriminative.js";
/** The path of one linear score w_0 + wᵀx of the second class (and all after it) against the first. */
export class Descent {
  constructor(x, y, { method, rate, start }) {
    const t = y.map((code) => (code ? 1 : 0)), z = withOnes(x), D = z[0].length;
    const first = range(D).map((i) => start[i] || 0), isPerceptron = ["perceptron", "batch"].includes(method);
    Object.assign(this, { x, z, t, method, rate, D, isPerceptron, place: 0, free: first.map(() => 0) });
    this.path = [{ w: first, loss: this.loss(first), row: null }];
    const best = fitLogistic(x, t, 2, { solver: "newton", l2: 0 });
    this.best = this.isPerceptron || best.separated ? null : best.phi[0];
    this.axes = D === 2 ? [0, 1] : [1, 2];
  }
  get last() { return this.path.at(-1); }

  /** Return −log-likelihood, or −Σ over mistakes of t wᵀx with labels t = ±1. */
  loss(w) {
    if (!this.isPerceptron) return logisticAt([w], this.z, this.t, this.free).loss;
    return sum(this.z.map((row, i) => Math.max(0, (this.t[i] ? -1 : 1) * dot(w, row))));
  }
  /** Take one step; return whether it changed anything. */
  step() {
    const { z, t, rate, free, last } = this;
    if (!Number.isFinite(last.loss)) return false;
    let w = last.w, row = null;
    if (this.method === "gd") [w] = gradientStep([w], z, t, free, rate);
    if (this.method === "newton") {
      const at = (phi) => logisticAt(phi, z, t, free, true), there = newtonStep(at([w]), at);
      w = there ? there.phi[0] : w;
    }
    if (this.method === "sgd") {
      row = this.place++ % z.length;
      [w] = gradientStep([w], [z[row]], [t[row]], free, rate);
    }
    if (this.method === "batch") [w] = perceptronPass([w], z, t, rate, true).w;
    if (this.method === "perceptron") {
      // on to the next mistake, at most once round
      for (let seen = 0; seen < z.length; seen++, this.place++) {
        const c = perceptronChange([w], z[this.place % z.length], t[this.place % z.length]);
        if (!c) continue;
        row = this.place++ % z.length;
        w = w.map((v, j) => v + rate * c[0] * z[row][j]);
        break;
      }
    }
    if (w.every((v, j) => v === last.w[j])) return false;
    this.path.push({ w, loss: this.loss(w), row });
    return true;
  }
  /** Say how it goes: arrived, bounces, crawls, or still on its way. */
  status() {
    const { path, last, z, t } = this, steps = path.length - 1, recent = path.slice(-11);
    const [first, ...slopes] = last.w.map((v) => v.toFixed(4));
    const said = `Step ${steps}: w₀ = ${first}, w = (${slopes.join(", ")}), loss ${last.loss.toFixed(4)}. `;
    if (!Number.isFinite(last.loss) || last.loss > 1e6) return `${said}Diverged: the learning rate is too large.`;
    if (this.isPerceptron) {
      const wrong = z.filter((row, i) => perceptronChange([last.w], row, t[i])).length;
      return said + (wrong ? `${wrong} of ${z.length} rows are not on their side.` : "Converged: no row is misclassified.");
    }
    const [gradient] = logisticAt([last.w], z, t, this.free).gradient, steepest = Math.max(...gradient.map(Math.abs)) / z.length;
    const rises = recent.filter((p, i) => i && p.loss > recent[i - 1].loss * (1 + 1e-12)).length;
    if (steepest < 1e-6) return `${said}Converged: the gradient is zero.`;
    if (this.method !== "sgd" && rises > 2) return `${said}Bounces: the loss rose in ${rises} of the last ten steps. Lower the rate.`;
    const stalls = steps > 10 && recent[0].loss - last.loss < 1e-3 * last.loss;
    return `${said}${stalls ? "Stalls: ten steps hardly changed the loss. " : ""}Mean gradient ${steepest.toPrecision(2)}.`;
  }
  /** Return a window of parameters about the path and the minimum. */
  window() {
    const shown = this.path.map(({ w }) => w).filter((w) => w.every((v) => Math.abs(v) < 1e4));
    return this.axes.flatMap((j) => {
      const values = [...shown, this.best || shown[0]].map((w) => w[j]);
      const [low, high] = [Math.min(...values), Math.max(...values)], pad = 0.3 * Math.max(high - low, 1.5);
      return [low - pad, high + pad];
    });
  }
  /** Return the loss over the two parameters that are drawn, the others where the path is now. */
  surface() {
    const w = [...this.last.w], [i, j] = this.axes;
    return (u, v) => { w[i] = u; w[j] = v; return this.loss(w); };
  }
}
