"""The models that can be compared: those with a name, and users' estimators."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice.errors import InvalidParameterError
from suffice.estimators.auto import AutoClassifier, AutoGaussian
from suffice.estimators.gaussian import LDA, QDA, RDA, GaussianNB
from suffice.estimators.least_squares import LeastSquaresClassifier
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.mixture import MixtureClassifier
from suffice.estimators.perceptron import Perceptron
from suffice.evaluate.comparison.competitors import (
    BoostingLibrary,
    CalibratedSvm,
    ChosenNeighbours,
    LibraryBoosting,
    is_installed,
)
from suffice.typing import SklearnClassifier

ModelsLike: TypeAlias = object  # a name, an estimator, several of these, or {name: either}
CONSTANT = "constant"  # the classifier that predicts the class frequencies for every row


class NamedModel(NamedTuple):
    """A classifier that users can select by name."""

    name: str
    make: Callable[[int], SklearnClassifier]  # seed → an unfitted estimator
    aliases: tuple[str, ...] = ()
    is_default: bool = True  # whether it is compared by default
    # library that the model needs; if it is installed, the model is compared by default
    library: BoostingLibrary | None = None


def _constant(seed: int) -> SklearnClassifier:
    from sklearn.dummy import DummyClassifier

    model: SklearnClassifier = DummyClassifier(random_state=seed)
    return model


def _decision_tree(seed: int) -> SklearnClassifier:
    from sklearn.tree import DecisionTreeClassifier

    model: SklearnClassifier = DecisionTreeClassifier(random_state=seed)
    return model


def _random_forest(seed: int) -> SklearnClassifier:
    from sklearn.ensemble import RandomForestClassifier

    model: SklearnClassifier = RandomForestClassifier(random_state=seed)
    return model


def _gradient_boosting(seed: int) -> SklearnClassifier:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model: SklearnClassifier = HistGradientBoostingClassifier(random_state=seed)
    return model


def _nearest_neighbours(_: int) -> SklearnClassifier:
    model: SklearnClassifier = make_pipeline(StandardScaler(), ChosenNeighbours())
    return model


def _weighted_neighbours(_: int) -> SklearnClassifier:
    model: SklearnClassifier = make_pipeline(
        StandardScaler(), ChosenNeighbours(weights="distance")
    )
    return model


def _rbf_svm(_: int) -> SklearnClassifier:
    model: SklearnClassifier = make_pipeline(StandardScaler(), CalibratedSvm())
    return model


NAMED_MODELS = (
    NamedModel(CONSTANT, _constant, ("class frequencies", "base rate", "DummyClassifier")),
    NamedModel("LDA", lambda _: LDA(), ("linear discriminant analysis",)),
    NamedModel("QDA", lambda _: QDA(), ("quadratic discriminant analysis",)),
    NamedModel(
        "GaussianNB", lambda _: GaussianNB(), ("naive bayes", "naive bayes classifier", "nb")
    ),
    NamedModel("RDA", lambda _: RDA(), ("regularised discriminant analysis",)),
    NamedModel(
        "mixture",
        lambda seed: MixtureClassifier(random_state=seed),
        ("mixture of Gaussians", "MixtureClassifier", "mda"),
        is_default=False,
    ),
    NamedModel("AutoGaussian", lambda seed: AutoGaussian(random_state=seed)),
    NamedModel(
        "AutoClassifier",
        lambda seed: AutoClassifier(random_state=seed),
        ("auto",),
    ),
    NamedModel(
        "logistic regression",
        lambda seed: LogisticRegression("auto", random_state=seed),
        ("logistic", "softmax"),
    ),
    NamedModel(
        "perceptron",
        lambda seed: Perceptron(variant="averaged", random_state=seed),
        is_default=False,
    ),
    NamedModel(
        "least squares", lambda _: LeastSquaresClassifier(), ("LeastSquaresClassifier",)
    ),
    NamedModel(
        "nearest neighbours",
        _nearest_neighbours,
        (
            "neighbours",
            "neighbors",
            "nearest neighbors",
            "knn",
            "k neighbors",
            "KNeighborsClassifier",
        ),
    ),
    NamedModel(
        "nearest neighbours (distance)",
        _weighted_neighbours,
        ("neighbours (distance)", "neighbors (distance)", "knn (distance)"),
        is_default=False,
    ),
    NamedModel("RBF-SVM", _rbf_svm, ("svm", "support vector machine", "svc")),
    NamedModel("decision tree", _decision_tree, ("tree", "DecisionTreeClassifier")),
    NamedModel("random forest", _random_forest, ("forest", "RandomForestClassifier")),
    NamedModel(
        "gradient boosting",
        _gradient_boosting,
        ("boosting", "GradientBoostingClassifier", "HistGradientBoostingClassifier"),
    ),
    NamedModel(
        "LightGBM",
        lambda seed: LibraryBoosting("LightGBM", random_state=seed),
        ("lgbm", "LGBMClassifier"),
        is_default=False,
        library="LightGBM",
    ),
    NamedModel(
        "XGBoost",
        lambda seed: LibraryBoosting("XGBoost", random_state=seed),
        ("xgb", "XGBClassifier"),
        is_default=False,
        library="XGBoost",
    ),
    NamedModel(
        "CatBoost",
        lambda seed: LibraryBoosting("CatBoost", random_state=seed),
        ("CatBoostClassifier",),
        is_default=False,
        library="CatBoost",
    ),
)


def model_named(name: str) -> NamedModel:
    """Return the classifier with this name or alias; case, spaces and punctuation are ignored."""
    models = {
        _normalised(spelling): model
        for model in NAMED_MODELS
        for spelling in (model.name, *model.aliases)
    }
    model = models.get(_normalised(name))
    if model is not None:
        return model
    names = ", ".join(repr(each.name) for each in NAMED_MODELS)
    near = get_close_matches(_normalised(name), models, 1)
    if near:
        raise InvalidParameterError(
            f"no classifier is called {name!r}: did you mean {models[near[0]].name!r}? The names "
            f"are {names}; you can also pass an estimator"
        )
    raise InvalidParameterError(
        f"no classifier is called {name!r}: the names are {names}; you can also pass an estimator"
    )


def _normalised(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


# classifiers that take minutes or more to fit or predict very many rows
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
    "LibraryBoosting",
    "ChosenNeighbours",
    "CalibratedSvm",
}


# Classifiers whose predictions depend little on the choice of training rows. All other classifiers
# are assumed to depend on it strongly.
STABLE = {
    "DummyClassifier",
    "GaussianClassifier",
    "GaussianNB",
    "LDA",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "QDA",
    "QuadraticDiscriminantAnalysis",
}
# ρ in the variance σ² (1/n + ρ/n_train) of a cross-validated loss. ``python -m benchmarks levels``
# measures that 95 % intervals then have a coverage of 92.5 to 98.5 %.
STABLE_SHARE = 0.25
UNSTABLE_SHARE = 0.75


# Classifiers whose scores are constant, linear or quadratic in the features.
QUICK = {
    "DummyClassifier",
    "GaussianClassifier",
    "GaussianNB",
    "LDA",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "Perceptron",
    "QDA",
    "QuadraticDiscriminantAnalysis",
    "RDA",
}


# Attributes that only models with a density of the features have. ``sample`` belongs to suffice's
# classifiers, the other two to scikit-learn's naive Bayes, LDA and QDA.
DENSITIES = ("sample", "predict_joint_log_proba", "store_covariance")


@dataclass(frozen=True, slots=True, eq=False)
class ComparedModel:
    """An unfitted classifier and its name in the results."""

    name: str
    estimator: SklearnClassifier  # unfitted; only clones of it are fitted

    @property
    def is_slow(self) -> bool:
        """Whether fitting or predicting very many rows would take minutes or more."""
        return type(core(self.estimator)).__name__ in SLOW

    @property
    def training_share(self) -> float:
        """ρ, the weight of 1/n_train in the variance: folds share training rows."""
        is_stable = type(core(self.estimator)).__name__ in STABLE
        return STABLE_SHARE if is_stable else UNSTABLE_SHARE

    @property
    def predicts_quickly(self) -> bool:
        """Whether scores are constant, linear or quadratic, so that many predictions are cheap."""
        return type(core(self.estimator)).__name__ in QUICK

    @property
    def is_generative(self) -> bool:
        """Whether the model has a density p(x | k) of the features of each class."""
        return any(hasattr(core(self.estimator), name) for name in DENSITIES)

    @property
    def is_of_both_kinds(self) -> bool:
        """Whether the model may average generative and discriminative models."""
        return type(core(self.estimator)).__name__ == "AutoClassifier"

    @property
    def travels(self) -> bool:
        """Whether a worker process would give the same fit.

        The worker must be able to import every part of the model, and every random draw must have a
        seed.
        """
        settings = self.estimator.get_params(deep=True)
        parts: list[object] = [self.estimator]
        parts += [value for value in settings.values() if hasattr(value, "fit")]
        for part in parts:
            if not type(part).__module__.startswith(("sklearn.", "suffice.")):
                return False
        seeds = [value for name, value in settings.items() if name.endswith("random_state")]
        return all(isinstance(seed, int) for seed in seeds)


def core(estimator: object) -> object:
    """Return the last step of a pipeline, or the classifier itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def installed_boosters(seed: int) -> tuple[ComparedModel, ...]:
    """Return the models of the boosting libraries that are installed."""
    return tuple(
        ComparedModel(model.name, model.make(seed))
        for model in NAMED_MODELS
        if model.library is not None and is_installed(model.library)
    )


def parse_models(models: ModelsLike, seed: int) -> tuple[ComparedModel, ...]:
    """Return the models for the argument ``models`` of users; None means the default models."""
    entries: Iterable[object]
    if models is None:
        entries = [model.name for model in NAMED_MODELS if model.is_default]
    elif isinstance(models, str) or hasattr(models, "fit"):
        entries = [models]
    elif isinstance(models, Mapping):
        entries = models.items()
    elif isinstance(models, Iterable):
        entries = models
    else:
        raise InvalidParameterError(
            f"models must be names, estimators or a mapping of names to them, got {models!r}"
        )
    parsed = [_parse_model(entry, seed) for entry in entries]
    if not parsed:
        raise InvalidParameterError("models is empty: name a classifier, or leave it out")
    named = _named(parsed)
    name, times = Counter(model.name for model in named).most_common(1)[0]
    if times > 1:
        raise InvalidParameterError(f"models has {name!r} twice: name each in a mapping")
    return named


def _named(models: list[ComparedModel]) -> tuple[ComparedModel, ...]:
    """Return the models with names; one without a name gets its class name or full settings."""
    short_names = [model.name or type(core(model.estimator)).__name__ for model in models]
    times = Counter(short_names)
    named = []
    for model, short_name in zip(models, short_names, strict=True):
        name = short_name
        if not model.name and times[short_name] > 1:
            name = _in_full(model.estimator)
        named.append(ComparedModel(name, model.estimator))
    return tuple(named)


def _parse_model(entry: object, seed: int) -> ComparedModel:
    """Return the model for a name, an estimator, or a pair of both; its name may be empty."""
    name: object
    estimator: Any  # a name or an estimator, as passed by the user
    if isinstance(entry, str):
        model = model_named(entry)
        return ComparedModel(model.name, model.make(seed))
    if isinstance(entry, tuple) and len(entry) == 2:
        name, estimator = entry
        place = f"models[{name!r}]"
    else:
        name = ""
        estimator = entry
        place = "one of models"
    if isinstance(estimator, str):
        return ComparedModel(str(name), model_named(estimator).make(seed))
    if isinstance(estimator, type):
        raise InvalidParameterError(
            f"{place} is the class {estimator.__name__}: pass an instance, {estimator.__name__}()"
        )
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise InvalidParameterError(
            f"{place} is {estimator!r}: expected a classifier, with fit and predict, or a name"
        )
    if not is_classifier(estimator):
        raise InvalidParameterError(
            f"{place} is {_in_full(estimator)}, which is not a classifier: pass one that "
            "predicts classes"
        )
    return ComparedModel(str(name), estimator)


def _in_full(estimator: object) -> str:
    return " ".join(repr(estimator).split())
