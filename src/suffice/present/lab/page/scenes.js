// Scenes of the course: the contents of scenes.json as states of the page.
import { sum } from "./linalg.js";
import { DensityModel, gaussian } from "./gaussian.js";

const stored = JSON.parse(document.getElementById("scenes").textContent);
export const START = stored.start;
export const SCENES = stored.scenes;

/** Return the model with the stated parameters; `of` is the class of each Gaussian. */
export function statedModel({ priors, means, sigmas, of = priors.map((_, k) => k) }) {
  const classCodes = [...new Set(of)];
  const partsOf = (k) => means.map((_, r) => r).filter((r) => of[r] === k);
  const classPriors = classCodes.map((k) => sum(partsOf(k).map((r) => priors[r])));
  const classes = classPriors.map((classPrior, k) =>
    partsOf(k).map((r) => gaussian(priors[r] / classPrior, means[r], sigmas[r])),
  );
  return new DensityModel(classPriors, classes);
}

/** Return a number rounded to four significant digits. */
export function rounded(value) {
  return Number(value.toPrecision(4));
}

/** Return n points [x, y, k] drawn from a model; y is 0 in one dimension. */
export function sampled(model, n, seed) {
  return model.sample(n, seed).map((row) => {
    const k = row.at(-1);
    const y = row.length > 2 ? rounded(row[1]) : 0;
    return [rounded(row[0]), y, k];
  });
}
