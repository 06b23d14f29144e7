"""What every classifier offers once it is fitted, read from its ``classifier_``; any as a rule."""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import validation

from suffice import drawing
from suffice.core.decision import Classifier
from suffice.core.table.foreign import is_foreign, is_on_device, like, namespace, to_numpy
from suffice.core.table.labels import as_labels, codes_of, has_label
from suffice.core.table.matrix import as_weights, is_mixed, refuse_nonfinite, taken
from suffice.core.table.table import require_as_many
from suffice.core.text import tables as notebook
from suffice.core.text.lists import counted
from suffice.core.threads import at_most
from suffice.errors import FeatureMismatchError, InvalidInputError, UnusedDataWarning, warn
from suffice.export import onnx, sql
from suffice.persistence.fields import save
from suffice.typing import Codes, Floats, Labels

Answer = TypeVar("Answer")
_NAMELESS = "X does not have valid feature names"  # scikit-learn's words
_NEAR = 1e-6  # of the way from a row to a hyperplane
_PROBES = 1000


def keep(given: dict[str, Any]) -> None:
    """Keep the settings that an ``__init__`` was given, its ``locals()``, under their names."""
    vars(given.pop("self")).update(given)


def checked_table(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights to learn from; rows without a label are left out."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: pass labels"
        )
    there = is_on_device(X)
    if there and is_foreign(y) and namespace(y).isdtype(y.dtype, "integral"):
        validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X, y, sample_weight
    y, sample_weight = map(to_numpy, (y, sample_weight))
    X, y, sample_weight = labelled_rows(X if there else to_numpy(X), y, sample_weight)
    x = _validated(estimator, X, reset=reset)
    known = np.asarray(y)  # scikit-learn makes floats of pandas' own integers
    labels = validation._check_y(
        known, multi_output=False, y_numeric=False, estimator=estimator
    )
    validation.check_consistent_length(x, labels)
    return x, labels, sample_weight


def labelled_rows(X: Any, y: Any, weight: Any, *, quiet: bool = False) -> tuple[Any, Any, Any]:
    """Return the rows that have a label, and say how many have none."""
    labels = np.asarray(to_numpy(y))
    here = has_label(labels) if labels.ndim == 1 else np.ones(1, bool)
    if here.all():
        return X, y, weight
    rows, n = np.flatnonzero(here), len(here)
    require_as_many(validation._num_samples(X), n)
    if not len(rows):
        raise InvalidInputError(
            "no row has a label (every y is None or NaN): label some of them"
        )
    if not quiet:
        warn(
            f"{n - len(rows):,} of {n:,} rows have no label and are left out",
            UnusedDataWarning,
        )
    known = taken(np.asarray(X) if isinstance(X, (list, tuple)) else X, rows)
    weight = weight if np.ndim(to_numpy(weight)) == 0 else np.asarray(to_numpy(weight))[rows]
    return known, as_labels(labels[rows]), weight


def checked_rows(estimator: Any, X: Any) -> Any:
    """Return rows to predict, on the host, with the features seen in fit."""
    validation.check_is_fitted(estimator)
    return _validated(estimator, to_numpy(X), reset=False)


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return rows of numbers as an array; other libraries' arrays and mixed tables as they are."""
    schema = getattr(getattr(estimator, "moments_", None), "schema", None)
    known = schema or getattr(estimator, "categorical", None) is not None
    if is_foreign(X) or ("categorical" in estimator._takes and (known or is_mixed(X))):
        validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    if getattr(X, "columns", None) is not None and is_mixed(X):
        for name in X.columns:
            _require_numbers(np.asarray(X[name]), repr(name), estimator)
    elif isinstance(X, np.ndarray) and X.dtype.kind in "Mm":
        _require_numbers(X, "0", estimator)
    return validation.validate_data(estimator, X, reset=reset, ensure_all_finite=False)


def _require_numbers(column: Any, name: str, estimator: Any) -> None:
    """Refuse a column that holds times, text or other objects, by its name."""
    what = "times" if column.dtype.kind in "Mm" else ""
    if column.dtype.kind in "OUS":
        try:
            column.astype(np.float64)
        except (TypeError, ValueError) as error:
            what = f"no numbers ({error})"
    if what:
        msg = (
            f"column {name} holds {what}, and {type(estimator).__name__} takes numbers only: "
        )
        raise InvalidInputError(msg + "drop it, or turn it into numbers")


def feature_names(estimator: Any) -> tuple[str, ...] | None:
    """Return the names seen in fit, if there were any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def set_features(estimator: Any, n_features: int, names: Sequence[str] | None) -> None:
    """Tell an estimator which features it was fitted to, where no rows did."""
    estimator.n_features_in_ = n_features
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


class PredictorMixin(ClassifierMixin, ABC):
    """Labels, files, reports, and scoring where the data lives."""

    classes_: Labels
    n_jobs: int | None = None
    _takes: Any = ()  # beside complete rows of numbers: tags of scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in self._takes:
            setattr(tags.input_tags, kind, True)
        return tags

    @property
    @abstractmethod
    def classifier_(self) -> Classifier:
        """The fitted classifier, free of scikit-learn."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a file keeps beside the settings: fields of the header, and arrays."""

    @abstractmethod
    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return the estimator as it was when ``_state`` was kept."""

    def predict(self, X: Any) -> Labels:
        """Return the action of least expected cost for each row: by default the best class."""
        return self._answer(X, Classifier.predict)

    def _answer(self, X: Any, verb: Callable[[Classifier, Any], Answer]) -> Answer:
        validation.check_is_fitted(self)
        x = _validated(self, X, reset=False)
        try:
            with at_most(self.n_jobs):
                return cast("Answer", self.classifier_.answer(verb, x))
        except InvalidInputError:
            # what a view of the rows makes of an infinity is told by its place in the rows
            if isinstance(x, np.ndarray) and x.dtype.kind == "f":
                refuse_nonfinite(np.where(np.isnan(x), 0.0, x), feature_names(self))
            raise

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of ``predict`` among the rows that it answers."""
        X, y, sample_weight = map(to_numpy, (X, y, sample_weight))
        if not self.classifier_.decision.can_reject:
            return float(super().score(X, y, sample_weight))
        decided, weight = self._decided(X, sample_weight)
        right = decided == codes_of(as_labels(y), self.classes_, strict=False)
        kept = np.where(decided < len(self.classes_), weight, 0.0)
        if not kept.any():
            warn("this classifier rejects every row: it has no accuracy")
            return float("nan")
        return float(np.average(right, weights=kept))

    def rejection_rate(self, X: Any, sample_weight: Any = None) -> float:
        """Return the share of rows that ``predict`` refuses to answer; see ``reject_cost``."""
        decided, weight = self._decided(X, sample_weight)
        return float(np.average(decided == len(self.classes_), weights=weight))

    def _decided(self, X: Any, sample_weight: Any) -> tuple[Codes, Floats]:
        """Return the code of the action for each row, and its weight."""
        decided = self._answer(to_numpy(X), Classifier.decide)
        weight = as_weights(sample_weight, len(decided))
        return decided, np.ones(len(decided)) if weight is None else weight

    def save(self, path: str | Path) -> None:
        """Write a ``.suffice`` file: settings and what was learnt in one zip, never pickle."""
        validation.check_is_fitted(self)
        save(path, type(self).__name__, self._settings(), *self._state())

    def _settings(self) -> dict[str, Any]:
        return dict(self.get_params())

    def report(self, X: Any, y: Any, path: str | Path | None = None, **options: Any) -> Any:
        """Return a report about this classifier, fitted anew, on these rows; see ``sf.report``."""
        return drawing.report(X, y, path, estimator=self, **options)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and what was learnt if anything was."""
        diagram: str = super()._html_repr()
        if "classes_" not in vars(self):
            return diagram
        # scikit-learn counts what ``transform`` gives, and calls it features
        plain = re.sub(r">(\d+) features<", r">\1 coordinates of transform<", diagram)
        return plain + self._learnt()

    def _learnt(self) -> str:
        """Return the classes, and how each scores a row where that is linear."""
        classes, d = notebook.first_rows(self.classes_.tolist()), self.n_features_in_
        moments, coefficients = getattr(self, "moments_", None), getattr(self, "coef_", None)
        columns, of = {"class": classes}, ""
        if moments is not None:
            priors = getattr(self, "priors_", moments.weights / moments.total_weight).tolist()
            columns |= {"rows": moments.counts.tolist(), "prior": priors}
            of = f"{int(moments.counts.sum()):,} rows, "
        said = f"Fitted to {of}{counted(d, 'feature')}, {counted(len(self.classes_), 'class')}"
        parts = [notebook.html_table(list(columns), zip(*columns.values(), strict=False))]
        if coefficients is not None:
            names = notebook.first_rows(feature_names(self) or [f"x{j}" for j in range(d)])
            who = classes if len(coefficients) > 1 else [self.classes_[1]]
            scores = zip(who, self.intercept_, coefficients, strict=False)
            lines = [[label, intercept, *w[: len(names)]] for label, intercept, w in scores]
            head = ["score of", "intercept", *names]
            parts.append(notebook.html_table(head, lines, "Coefficients"))
        return notebook.titled_html(said, *parts)

    to_sql, to_ibis, to_onnx = sql.to_sql, sql.to_ibis, onnx.to_onnx


class ScoreMixin(PredictorMixin):
    """A score of each class."""

    def decision_function(self, X: Any) -> Floats:
        """Return the score of the second class against the first (n,), or of each class (n, K)."""
        scores = self._answer(X, Classifier.scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class PosteriorMixin(PredictorMixin):
    """Probabilities of the classes."""

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | x), shape (n, K)."""
        return self._answer(X, Classifier.posterior)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class | x), shape (n, K), exact far from the data."""
        return self._answer(X, Classifier.log_posterior)


class DensityMixin(PosteriorMixin):
    """A density of the rows, to judge new ones by and to draw from."""

    def impute(self, X: Any) -> Any:
        """Return the rows, each empty number filled by its mean given the rest of the row."""
        return _with_columns(X, self._answer(to_numpy(X), Classifier.impute))

    def sample_missing(self, X: Any, random_state: Any = None) -> Any:
        """Return the rows, each empty number drawn given the rest of the row."""
        rng, x = _generator(random_state), to_numpy(X)
        return _with_columns(X, self._answer(x, lambda known, x: known.sample_missing(x, rng)))

    def class_log_density(self, X: Any) -> Floats:
        """Return log p(x | class), shape (n, K)."""
        return self._answer(X, Classifier.class_log_density)

    def log_density(self, X: Any) -> Floats:
        """Return log p(x), shape (n,): low values are outliers."""
        return self._answer(X, Classifier.log_density)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Labels]:
        """Draw rows and labels from the fitted model: ``X, y``; mixed rows as a pandas frame."""
        x, y = self.classifier_.sample(n, _generator(random_state))
        if not isinstance(x, dict):
            return x, y
        import pandas as pd

        return pd.DataFrame(x), y


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    return np.random.default_rng(random_state)


def _with_columns(X: Any, found: Any) -> Any:
    """Return a frame with other columns of numbers; arrays of numbers in kind."""
    if not isinstance(found, dict):
        return like(found, X)
    if hasattr(X, "assign"):
        return X.assign(**found)
    import polars as pl

    return pl.DataFrame(X).with_columns(**{name: pl.Series(v) for name, v in found.items()})


class DecisionRule(NamedTuple):
    """A fitted classifier, ours or scikit-learn's, asked about rows of a model."""

    classifier: Any
    classes: Labels  # of the model  (K,)
    columns: list[int] | slice  # of the model's rows, in the order that the rule reads them

    @classmethod
    def of(cls, classifier: Any, classes: Labels, names: tuple[str, ...] | None) -> Self:
        """Return the rule; where both have names of features, they must be the same ones."""
        known = getattr(classifier, "feature_names_in_", None)
        if names is None or known is None:
            return cls(classifier, classes, slice(None))
        if set(known) != set(names):
            msg = f"the rule reads the features {list(known)}, and the model has {list(names)}"
            raise FeatureMismatchError(msg)
        return cls(classifier, classes, [names.index(name) for name in known])

    def decide(self, x: Any) -> Codes:
        """Return the code of the class that each row is given, (n,); −1 where it is refused."""
        rows = x[:, self.columns] if isinstance(x, np.ndarray) else x
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_NAMELESS, category=UserWarning)
            predicted = np.asarray(self.classifier.predict(rows))
        reject = getattr(self.classifier, "reject_label", None)
        here = has_label(predicted) & (True if reject is None else predicted != reject)
        codes = np.full(len(predicted), -1)
        codes[here] = codes_of(as_labels(predicted[here]), self.classes)
        return codes

    def hyperplane(self, x: Any) -> tuple[Floats, float] | None:
        """Return (w, w_0) if the second of two classes is where wᵀx + w_0 > 0, else None."""
        # believed if answers change there and only there: at rows, and beside their projections
        found = (getattr(self.classifier, name, ()) for name in ("coef_", "intercept_"))
        coef, intercept = (np.asarray(values) for values in found)
        plain = isinstance(x, np.ndarray) and len(self.classes) == 2
        if (
            not plain
            or coef.shape != (1, x.shape[1])
            or intercept.shape != (1,)
            or not coef.any()
        ):
            return None
        w, w_0 = np.empty(x.shape[1]), float(intercept[0])
        w[self.columns] = coef[0]
        rows = x[:_PROBES]
        y = rows @ w + w_0
        # x − (1 ∓ ε) y(x) w / ‖w‖²
        step = y[:, None] * (w / (w @ w))
        probes = np.concatenate([rows, rows - (1 - _NEAR) * step, rows - (1 + _NEAR) * step])
        sides, decided = np.concatenate([y, y, -y]) > 0, self.decide(probes)
        if np.array_equal(decided, sides):
            return w, w_0
        return (-w, -w_0) if np.array_equal(decided, ~sides) else None
