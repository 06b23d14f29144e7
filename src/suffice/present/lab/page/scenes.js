// Scenes of the course: what scenes.json says, as states of the page.
import { sum } from "./linalg.js";
import { DensityModel, gaussian } from "./gaussian.js";

const told = JSON.parse(document.getElementById("scenes").textContent);
export const START = told.start;
export const SCENES = told.scenes;
/** Return the model of stated parameters; `of` names the class of each Gaussian. */
export function stated({ priors, means, sigmas, of = priors.map((_, k) => k) }) {
  const own = (k) => means.map((_, r) => r).filter((r) => of[r] === k);
  const shares = [...new Set(of)].map((k) => sum(own(k).map((r) => priors[r])));
  return new DensityModel(shares, shares.map((all, k) => own(k).map((r) => gaussian(priors[r] / all, means[r], sigmas[r]))));
}

export const short = (v) => Number(v.toPrecision(4));
/** Return n points [x, y, k] of a model, y = 0 in one dimension. */
export const sampled = (model, n, seed) =>
  model.sample(n, seed).map((row) => [short(row[0]), row.length > 2 ? short(row[1]) : 0, row.at(-1)]);
