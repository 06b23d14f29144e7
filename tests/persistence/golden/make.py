"""Write the golden files of the current format: ``python tests/persistence/golden/make.py``.

Files that are there stay as they are. ``--overwrite`` writes all of them anew, which is right only
while no version with this format has been released.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import suffice as sf
from suffice import datasets
from suffice.persistence.archive import FORMAT_VERSION
from suffice.persistence.moments_file import arrays_of

HERE = Path(__file__).parent / f"format-{FORMAT_VERSION}"
NEW = np.array(
    [[5.1, 3.5, 1.4, 0.2], [6.0, 2.7, 5.1, 1.6], [6.3, 3.3, 6.0, 2.5], [5.7, 2.8, 4.1, 1.3]]
)


def models():
    """Yield name and unfitted estimator of every kind that saves."""
    costs = {("setosa", "virginica"): 5.0, ("versicolor", "virginica"): 2.5}
    yield "lda", sf.LDA()
    yield "qda", sf.QDA(divisor="unbiased", priors=[0.5, 0.3, 0.2])
    yield "nb", sf.GaussianNB(priors="uniform")
    yield "rda", sf.RDA()
    yield "tied-groups", sf.GaussianClassifier(tied=[["setosa"], ["versicolor", "virginica"]])
    yield "temperature", sf.LDA(temperature=0.5)
    yield "spherical", sf.GaussianClassifier("spherical", temperature=2.0)
    yield "costs", sf.LDA(costs=sf.Costs(costs, reject=0.2, reject_label="?"))
    yield "oas", sf.QDA(shrinkage=sf.Shrinkage("oas", target="sphere"))
    yield "ledoit-wolf", sf.QDA(shrinkage="ledoit-wolf")
    yield "transform", sf.QDA(power="yeo-johnson", temperature="auto")
    yield "predictive", sf.QDA(estimate="predictive")
    yield "map", sf.QDA(estimate=_prior(), priors=sf.Dirichlet(1.0))
    yield "edda", sf.GaussianClassifier("VEI")
    yield "edda-auto", sf.GaussianClassifier("auto")
    yield "least-squares", sf.LeastSquaresClassifier()
    yield "logistic", sf.LogisticRegression()
    yield "perceptron", sf.Perceptron(variant="averaged")
    yield "mixture", sf.MixtureClassifier({"setosa": 1, "versicolor": 2, "virginica": 3})
    yield "mixture-diagonal", sf.MixtureClassifier(2, "diagonal", tied="class")
    yield "auto", sf.AutoGaussian()
    yield "auto-classifier", sf.AutoClassifier()


def moments():
    """Yield name and moments of every storage and kind of label."""
    x, y = datasets.load("iris").arrays()
    codes = np.unique(y, return_inverse=True)[1]
    yield "per-class", sf.Moments.of(x, y, fourth=False)
    yield "pooled", sf.Moments.of(x, codes, storage="pooled", fourth=False)
    yield "diagonal", sf.Moments.of(x, codes == 1, storage="diagonal", fourth=False)
    yield "fourth", sf.Moments.of(x, codes.astype(float), fourth=True)
    yield "transformed", sf.Moments.of(x, y, power="yeo-johnson", fourth=False)
    yield "weighted", sf.Moments.of(x, y, np.linspace(0, 2, len(y)), fourth=False)
    yield "empty", sf.Moments.empty()
    rows = datasets.load("penguins").frame()
    yield "mixed", sf.Moments.of(rows.drop("species"), rows["species"], fourth=False)
    yield "holes", sf.Moments.of(np.where(x > 6.5, np.nan, x), y, fourth=False)


def _prior():
    return sf.NormalInverseWishart(np.full(4, 3.0), 0.5, np.eye(4), 8.0)


def answers(model):
    """Return what a model says of the new rows."""
    answered = {"predict": model.predict(NEW)}
    if hasattr(model, "predict_proba"):
        answered["predict_proba"] = model.predict_proba(NEW)
    if hasattr(model, "decision_function"):
        answered["decision_function"] = model.decision_function(NEW)
    if model.model_.has_density:
        answered["log_density"] = model.model_.log_density(NEW)
    return {name: np.asarray(values).tolist() for name, values in answered.items()}


def sums(m):
    """Return the numbers of moments."""
    return {
        "classes": m.classes.tolist(),
        "counts": m.counts.tolist(),
        "weights": m.weights.tolist(),
        "means": m.means.tolist(),
        "scatter": arrays_of(m)["scatter"].tolist(),
        "storage": m.storage,
    }


def main(overwrite):
    """Write what is not there yet, or everything anew."""
    HERE.mkdir(exist_ok=True)
    if overwrite:
        for path in HERE.iterdir():
            path.unlink()
    known = HERE / "expected.json"
    expected = {"models": {}, "moments": {}}
    if known.exists():
        expected = json.loads(known.read_text())
    x, y = datasets.load("iris").arrays()
    for name, model in models():
        if name in expected["models"]:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(x, y)
        fitted.save(HERE / f"{name}.suffice")
        expected["models"][name] = answers(fitted)
    for name, m in moments():
        if name in expected["moments"]:
            continue
        m.save(HERE / f"{name}.moments")
        expected["moments"][name] = sums(m)
    known.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--overwrite", action="store_true", help="write every file anew")
    main(parser.parse_args().overwrite)
