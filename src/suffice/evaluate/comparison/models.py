"""The models compared, competitors in their fair form: known by name or passed, and their sizes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice.errors import InvalidParameterError
from suffice.estimators.auto import AutoGaussian
from suffice.estimators.gaussian import LDA, QDA, RDA, GaussianNB
from suffice.estimators.least_squares import LeastSquaresClassifier
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.perceptron import Perceptron
from suffice.typing import Floats, Labels

CONSTANT = "constant"  # the classifier that states the class frequencies for every row
NUMBERS = np.array([1, 3, 5, 7, 9, 13, 19, 27, 39])  # of neighbours
PENALTIES = (1.0, 10.0)  # C of the support vector machine
MOST_SECONDS = 12.0  # that all fits of one standard model may take
ALLOWED = {"logistic regression": 60.0}  # seconds of those that no comparison should lack


# of scikit-learn only what a model needs is imported, and only when it is made or fitted
class ChosenNeighbours(ClassifierMixin, BaseEstimator):
    """Nearest neighbours, their number the one of least Brier score of leave-one-out votes."""

    def __init__(self, weights: str = "uniform") -> None:
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        from sklearn.neighbors import KNeighborsClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        able = NUMBERS[len(codes) > NUMBERS]
        known = KNeighborsClassifier(int(able[-1]), weights=self.weights).fit(X, y)
        near = known.kneighbors(return_distance=False)  # of each row, itself left out
        truth = np.eye(len(self.classes_))[codes]
        votes = truth[near].cumsum(1)
        briers = [np.square(votes[:, k - 1] / k - truth).sum() for k in able]
        self.neighbours_ = known.set_params(n_neighbors=int(able[np.argmin(briers)]))
        return self

    def predict(self, X: Any) -> Labels:
        return np.asarray(self.neighbours_.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        return np.asarray(self.neighbours_.predict_proba(X))


class CalibratedSvm(ClassifierMixin, BaseEstimator):
    """RBF-SVM: C of least log-loss, by a logistic regression on decisions of three folds."""

    def fit(self, X: Any, y: Any) -> Self:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import SVC

        self.classes_, codes = np.unique(y, return_inverse=True)
        folds = StratifiedKFold(3, shuffle=True, random_state=0)  # rows may come in order
        least = np.inf
        for machine in (SVC(C=c) for c in PENALTIES):
            scores = cross_val_predict(machine, X, codes, cv=folds, method="decision_function")
            scores = scores.reshape(len(codes), -1)
            link = LogisticRegression(max_iter=1000, tol=1e-3).fit(scores, codes)
            loss = -link.predict_log_proba(scores)[np.arange(len(codes)), codes].mean()
            if loss < least:
                least, self.link_, self.machine_ = loss, link, machine
        self.machine_.fit(X, codes)
        return self

    def predict(self, X: Any) -> Labels:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def predict_proba(self, X: Any) -> Floats:
        scores = self.machine_.decision_function(X)
        return np.asarray(self.link_.predict_proba(scores.reshape(len(scores), -1)))


class KnownModel(NamedTuple):
    """A classifier people ask for by name."""

    name: str
    make: Callable[[int], Any]  # seed → an estimator that is not fitted
    also: tuple[str, ...] = ()  # what else it is called
    is_standard: bool = True  # whether it is compared where nobody names models


def _theirs(home: str, kind: str) -> Callable[[int], Any]:
    """Return what makes one of scikit-learn's, whose module is imported only then."""
    return lambda seed: getattr(import_module(f"sklearn.{home}"), kind)(random_state=seed)


def _scaled(kind: type[Any], **settings: Any) -> Callable[[int], Any]:
    """Return what makes a competitor that sees standard units."""
    return lambda _: make_pipeline(StandardScaler(), kind(**settings))


KNOWN_MODELS = (
    KnownModel(
        CONSTANT, _theirs("dummy", "DummyClassifier"), ("class frequencies", "base rate")
    ),
    KnownModel("LDA", lambda _: LDA(), ("linear discriminant analysis",)),
    KnownModel("QDA", lambda _: QDA(), ("quadratic discriminant analysis",)),
    KnownModel("GaussianNB", lambda _: GaussianNB(), ("naive bayes", "nb")),
    KnownModel("RDA", lambda _: RDA(), ("regularised discriminant analysis",)),
    KnownModel("AutoGaussian", lambda seed: AutoGaussian(random_state=seed), ("auto",)),
    KnownModel(
        "logistic regression",
        lambda seed: LogisticRegression("auto", random_state=seed),
        ("logistic", "softmax"),
    ),
    KnownModel(
        "perceptron",
        lambda seed: Perceptron(variant="averaged", random_state=seed),
        is_standard=False,
    ),
    KnownModel("least squares", lambda _: LeastSquaresClassifier()),
    KnownModel(
        "nearest neighbours",
        _scaled(ChosenNeighbours),
        ("neighbours", "neighbors", "nearest neighbors", "knn", "k neighbors"),
    ),
    KnownModel(
        "nearest neighbours (distance)",
        _scaled(ChosenNeighbours, weights="distance"),
        ("neighbours (distance)", "neighbors (distance)", "knn (distance)"),
        is_standard=False,
    ),
    KnownModel("RBF-SVM", _scaled(CalibratedSvm), ("svm", "support vector machine", "svc")),
    KnownModel("decision tree", _theirs("tree", "DecisionTreeClassifier"), ("tree",)),
    KnownModel("random forest", _theirs("ensemble", "RandomForestClassifier"), ("forest",)),
    KnownModel(
        "gradient boosting",
        _theirs("ensemble", "HistGradientBoostingClassifier"),
        ("boosting",),
    ),
)


class FitSize(NamedTuple):
    """Rows, columns as they are encoded, and classes of a fit; and what EM is about."""

    rows: int
    columns: int
    classes: int
    holed: int = 0  # columns of numbers, where any of these is missing


# about how long one fit to n rows, d columns and k classes takes
SECONDS: Mapping[str, Callable[[int, int, int, int], float]] = {
    # longer where directions without variance are filled, and where h columns have holes: EM takes
    # hundreds of steps where rows are few
    "LDA": lambda n, d, k, h: (1e-9 if n < d + k else 1e-10) * d**3 + 1e-5 * h**3,
    "QDA": lambda n, d, k, h: (
        (1e-9 if n < k * (d + 2) else 1e-10) * k * d**3
        + (7.5e-6 if n < k * (h + 2) else 1.5e-6) * k * h**3
    ),
    "LDA (OAS)": lambda _, d, *__: 4e-10 * d**3,
    "QDA (OAS)": lambda _, d, k, __: 4e-10 * k * d**3,
    "least squares": lambda _, d, *__: 2e-10 * d**3,
    # searches keep to a budget
    "RDA": lambda n, d, k, _: min(
        (5 if n < k * (d + 2) else 1) * k * (5e-3 + 1.5e-6 * d**3), 6.0
    ),
    "AutoGaussian": lambda n, d, k, _: (
        0.05 + 4e-3 * k + 2e-7 * d**3 + 5e-6 * min(n, 20_000) * d
    ),
    # the penalty is chosen by the curvature of all coefficients
    "logistic regression": lambda n, d, k, _: (
        1.1e-8 * n * ((k - 1) * d) ** 2 + 1.2e-8 * n * k**3 if k * (d + 1) <= 1500 else 1e4
    ),
    "RBF-SVM": lambda n, d, k, _: 0.02 * k + 1.5e-7 * n**2 * (1 + d / 50),
    "random forest": lambda n, d, *_: float(0.1 + 6e-6 * n * np.sqrt(d * np.log2(n))),
    # 100 trees, of more than two classes for each of them
    "gradient boosting": lambda n, d, k, _: (
        (1 if k == 2 else k) * min(31, 1 + n // 40) * (4e-3 + 1.2e-4 * d)
    ),
}


def seconds_to_fit(name: str, size: FitSize) -> float:
    """Return what one fit takes, about; 0 where it is not known."""
    return SECONDS[name](*size) if name in SECONDS else 0.0


def known_model(name: str) -> KnownModel:
    """Return the classifier a person means, or say which there are."""
    known = {
        _bare(word): model for model in KNOWN_MODELS for word in (model.name, *model.also)
    }
    found = known.get(_bare(name))
    if found is None:
        near = get_close_matches(_bare(name), known, 1)
        hint = f"did you mean {known[near[0]].name!r}? " if near else ""
        names = ", ".join(repr(model.name) for model in KNOWN_MODELS)
        msg = (
            f"no classifier is called {name!r}: {hint}there are {names}; or pass an estimator"
        )
        raise InvalidParameterError(msg)
    return found


def _bare(name: str) -> str:
    """Return a name without case, spaces and marks, and without the word classifier."""
    return "".join(filter(str.isalnum, name.casefold())).removesuffix("classifier")


SLOW = {
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "GaussianProcessClassifier",
    "GradientBoostingClassifier",
    "KNeighborsClassifier",
    "MLPClassifier",
    "NuSVC",
    "Perceptron",
    "RadiusNeighborsClassifier",
    "RandomForestClassifier",
    "SVC",
    "ChosenNeighbours",
    "CalibratedSvm",
}


# what classifiers with densities have: ours, scikit-learn's naive Bayes, and its LDA and QDA
DENSITIES = ("class_log_density", "log_density", "predict_joint_log_proba", "store_covariance")


@dataclass(frozen=True, slots=True, eq=False)
class ComparedModel:
    """A classifier under the name it is reported by."""

    name: str
    estimator: Any  # never fitted: clones of it are

    @property
    def is_slow(self) -> bool:
        """Whether fitting or predicting very many rows would take minutes or more."""
        return type(core(self.estimator)).__name__ in SLOW

    @property
    def is_generative(self) -> bool:
        """Whether it models the features of each class, p(x | k)."""
        return any(hasattr(core(self.estimator), name) for name in DENSITIES)

    @property
    def travels(self) -> bool:
        """Whether another process would fit it alike: known there, and drawing from a seed."""
        settings = self.estimator.get_params(deep=True)
        parts = [
            self.estimator,
            *(value for value in settings.values() if hasattr(value, "fit")),
        ]
        seeds = [value for name, value in settings.items() if name.endswith("random_state")]
        known = all(
            type(part).__module__.startswith(("sklearn.", "suffice.")) for part in parts
        )
        return known and all(isinstance(seed, int) for seed in seeds)


def core(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def parse_models(models: Any, seed: int) -> tuple[ComparedModel, ...]:
    """Return the models that users name; None is all standard ones."""
    if models is None:
        models = [known.name for known in KNOWN_MODELS if known.is_standard]
    if isinstance(models, str) or hasattr(models, "fit"):
        models = [models]
    if isinstance(models, Mapping):
        models = list(models.items())
    if not isinstance(models, Iterable):
        msg = f"models must be names, estimators or a mapping of both, got {models!r}"
        raise InvalidParameterError(msg)
    given = [_model(entry, seed) for entry in models]
    if not given:
        raise InvalidParameterError("models is empty: name a classifier, or leave it out")
    # those without a name are called by their class, or by their settings
    short = [m.name or type(core(m.estimator)).__name__ for m in given]
    again = {name for name, times in Counter(short).items() if times > 1}
    compared = tuple(
        ComparedModel(
            m.name or (_in_full(m.estimator) if name in again else name), m.estimator
        )
        for m, name in zip(given, short, strict=True)
    )
    name, times = Counter(model.name for model in compared).most_common(1)[0]
    if times > 1:
        raise InvalidParameterError(f"models has {name!r} twice: name each in a mapping")
    return compared


def affordable(
    models: tuple[ComparedModel, ...],
    n_fits: int,
    size: FitSize,
) -> tuple[tuple[ComparedModel, ...], tuple[str, ...]]:
    """Return the known models that there is time to fit, and who takes too long, with the time."""
    times = {m.name: n_fits * seconds_to_fit(m.name, size) for m in models}
    slow = {name: t for name, t in times.items() if t > ALLOWED.get(name, MOST_SECONDS)}
    said = {name: "hours" if t > 3600 else f"about {t:,.0f} s" for name, t in slow.items()}
    left_out = tuple(f"{name} would take {time}" for name, time in said.items())
    return tuple(m for m in models if m.name not in slow), left_out


def _model(entry: Any, seed: int) -> ComparedModel:
    if isinstance(entry, str):
        known = known_model(entry)
        return ComparedModel(known.name, known.make(seed))
    name, estimator = entry if isinstance(entry, tuple) and len(entry) == 2 else ("", entry)
    if isinstance(estimator, str):
        estimator = known_model(estimator).make(seed)
    where = f"models[{name!r}]" if name else "one of models"
    if isinstance(estimator, type):
        msg = f"{where} is the class {estimator.__name__}: pass an instance, {estimator.__name__}()"
        raise InvalidParameterError(msg)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        msg = (
            f"{where} is {estimator!r}: expected a classifier, with fit and predict, or a name"
        )
        raise InvalidParameterError(msg)
    if not is_classifier(estimator):
        raise InvalidParameterError(
            f"{where} is {_in_full(estimator)}, which is no classifier"
        )
    return ComparedModel(str(name), estimator)


def _in_full(estimator: Any) -> str:
    return " ".join(repr(estimator).split())


def is_readable(fitted: Any) -> bool:
    """Whether a rule can be written down: one equation for each class, or one tree."""
    return any(
        hasattr(core(fitted), name) for name in ("coef_", "model_", "tree_", "_strategy")
    )


def n_parameters(fitted: Any) -> float:
    """Return the number of free parameters, NaN where rows are kept instead or it is not known."""
    model = core(fitted)
    for attribute, count in _COUNTS.items():
        if hasattr(model, attribute):
            return float(count(model))
    return np.nan


def _of_average(model: Any) -> float:
    """Return those of every model averaged, and their shares."""
    inner = [getattr(member.model, "inner", member.model) for member in model.members_]
    sizes = [n_parameters(m.fitted) if hasattr(m, "fitted") else m.n_parameters for m in inner]
    return float(np.sum(sizes)) + len(sizes) - 1


def _of_tree(model: Any) -> float:
    # a feature and a threshold at each split, K − 1 probabilities at each leaf
    leaves = model.tree_.n_leaves
    return float(2 * (model.tree_.node_count - leaves) + leaves * (len(model.classes_) - 1))


def _of_scores(model: Any) -> float:
    # only differences of the scores of K classes matter
    per_score = np.shape(model.coef_)[-1] + bool(np.any(getattr(model, "intercept_", 0)))
    return float((len(model.classes_) - 1) * per_score)


# fitted attribute → what it says of the number of parameters, the first that is there
_COUNTS: dict[str, Callable[[Any], Any]] = {
    "model_": lambda model: getattr(model.model_, "n_parameters", np.nan),
    "members_": _of_average,
    "tree_": _of_tree,
    "coefs_": lambda model: sum(map(np.size, (*model.coefs_, *model.intercepts_))),
    "coef_": _of_scores,
    "_strategy": lambda model: len(model.classes_) - 1,
    "estimators_": lambda model: sum(map(n_parameters, np.ravel(model.estimators_))),
}
