// The scene as text for Python: lines that fit the model, its sums, or its parameters.
import { sumsOf } from "./sums.js";
import { session } from "./session.js";

/** Return the constructor of the model in Python. */
function constructorOf(state, fit) {
  const settings = [];
  if (state.stated && fit.model?.priors) {
    settings.push(`priors=${JSON.stringify(fit.model.priors)}`);
  }
  const gaussian = [...settings];
  if (state.divisor !== "mle") {
    gaussian.push(`divisor="${state.divisor}"`);
  }
  if (state.shrinkage > 0) {
    gaussian.push(shrinkageOf(state));
  }
  const pooled = state.pooling > 0 ? [...gaussian, `pooling=${state.pooling}`] : gaussian;
  const own = {
    lda: () => `sf.LDA(${gaussian.join(", ")})`,
    qda: () => `sf.QDA(${pooled.join(", ")})`,
    partial: () => `sf.GaussianClassifier(tied=${tiedOf(state, fit)}${tail(pooled)})`,
    naive: () => `sf.GaussianClassifier("diagonal"${tail(pooled)})`,
    spherical: () => `sf.GaussianClassifier("spherical"${tail(pooled)})`,
    mixture: () => `sf.MixtureClassifier(${state.components}${tail(settings)})`,
    logistic: () => `sf.LogisticRegression(l2=${state.l2})`,
    perceptron: () => "sf.Perceptron()",
    squares: () => "sf.LeastSquaresClassifier()",
    neighbours: () => `KNeighborsClassifier(${state.k})`,
    tree: () => "DecisionTreeClassifier()",
    forest: () => "RandomForestClassifier()",
    AutoGaussian: () => "sf.AutoGaussian()",
  };
  return own[state.model]();
}

function tail(settings) {
  return settings.map((setting) => `, ${setting}`).join("");
}

function shrinkageOf({ shrinkage, target }) {
  if (target === "sphere") {
    return `shrinkage=sf.Shrinkage(${shrinkage}, target="sphere")`;
  }
  return `shrinkage=${shrinkage}`;
}

/** Return the groups of classes that share a covariance, in Python's syntax. */
function tiedOf(state, fit) {
  const labels = (ks) => `[${ks.map((k) => JSON.stringify(state.labels[k])).join(", ")}]`;
  const shared = fit.present.filter((k) => state.tied[k]);
  const alone = fit.present.filter((k) => !state.tied[k]).map((k) => labels([k]));
  const groups = shared.length > 0 ? [labels(shared), ...alone] : alone;
  return `[${groups.join(", ")}]`;
}

const SCIKIT_LEARN = {
  neighbours: "from sklearn.neighbors import KNeighborsClassifier\n",
  tree: "from sklearn.tree import DecisionTreeClassifier\n",
  forest: "from sklearn.ensemble import RandomForestClassifier\n",
};

/** Return lines of Python that fit the same model to the same points. */
export function pythonText() {
  const { state, fit } = session;
  const labels = fit.present.map((k) => state.labels[k]);
  const extra = SCIKIT_LEARN[state.model] ?? "";
  return `${extra}import numpy as np, suffice as sf
X = np.array(${JSON.stringify(fit.x)})
y = np.array(${JSON.stringify(labels)})[${JSON.stringify(fit.y)}]
model = ${constructorOf(state, fit)}.fit(X, y)
print(model.predict(X[:3]), 1 - model.score(X, y))
`;
}

/** Return the sums of each class as JSON, which is all that a Gaussian model needs. */
export function momentsText() {
  const { state, fit } = session;
  const classes = fit.present.map((k) => state.labels[k]);
  return JSON.stringify({ classes, ...sumsOf(fit) }, null, 1);
}

/** Return lines of Python that make a model with the fitted densities and save it to a file. */
export function modelText() {
  const { state, fit } = session;
  const { model } = fit;
  const isPlain = model?.isDensity && model.classes.every((parts) => parts.length === 1);
  if (!isPlain) {
    return "Only Gaussian classes have such parameters: choose LDA, QDA or naive Bayes.";
  }
  const parts = model.classes.map(([part]) => part);
  return `import suffice as sf
model = sf.GaussianClassifier.from_parameters(
    priors=${JSON.stringify(model.priors)},
    means=${JSON.stringify(parts.map((part) => part.mean))},
    covariances=${JSON.stringify(parts.map((part) => part.sigma))},
    classes=${JSON.stringify(fit.present.map((k) => state.labels[k]))},
)
model.save("scene.suffice")
`;
}
