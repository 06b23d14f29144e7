"""Methods that all classifiers share: checks of rows, predictions, files and exports."""

import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.utils import validation

from suffice.core.decision.classifier import Classifier
from suffice.core.model.contributions import RowExplanation
from suffice.core.moments import Moments
from suffice.core.moments.masked_sums import MaskedSums
from suffice.core.moments.stated import is_stated
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import is_foreign, is_on_device, namespace, to_numpy
from suffice.core.table.labels import as_labels, codes_of, has_label, label_array
from suffice.core.table.matrix import (
    as_weights,
    column_names,
    is_mixed,
    refuse_nonfinite,
    refuse_text,
    taken,
    unmasked,
)
from suffice.core.table.notation import Notations
from suffice.core.table.table import require_as_many
from suffice.core.table.text_labels import EncodedLabels, encoded_text
from suffice.core.table.words import texts_of
from suffice.core.text import tables as notebook
from suffice.core.text.lists import counted, quote
from suffice.core.threads import at_most
from suffice.errors import InvalidInputError, InvalidParameterError, UnusedDataWarning, warn
from suffice.estimators.sklearn_bases import BaseEstimator, ClassifierMixin
from suffice.export.write import write_export
from suffice.persistence.fields import State, save
from suffice.typing import Array, Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike

Answer = TypeVar("Answer")
_DENSE_NUMBERS = 1 << 22  # limit on the numbers in a block of sparse rows that is made dense
RandomState = int | np.random.RandomState | np.random.Generator | None


# --- rows and labels as scikit-learn's contract asks -----------------------------------------


def checked_table(
    estimator: "PredictorMixin",
    X: RowsLike,
    y: Any,
    sample_weight: WeightsLike = None,
    *,
    reset: bool,
) -> tuple[RowsLike, LabelsLike, WeightsLike]:
    """Return the rows, labels and weights of a fit; leave out rows without a label."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: pass labels"
        )
    if reset:
        estimator._notations = None
    on_device = is_on_device(X)
    if on_device and is_foreign(y) and namespace(y).isdtype(y.dtype, "integral"):
        validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X, y, sample_weight
    rows = X if on_device else to_numpy(X)
    rows, labels, weights = labelled_rows(rows, to_numpy(y), to_numpy(sample_weight))
    x = _validated(estimator, rows, reset=reset)
    if isinstance(labels, EncodedLabels):
        validation.check_consistent_length(x, labels)
        return x, labels, weights
    # scikit-learn would convert pandas' integers with missing values to floats
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "biuU":
        labels = validation._check_y(
            labels, multi_output=False, y_numeric=False, estimator=estimator
        )
    validation.check_consistent_length(x, labels)
    return x, labels, weights


def labelled_rows(
    X: RowsLike,
    y: LabelsLike,
    weight: WeightsLike,
    *,
    quiet: bool = False,
) -> tuple[RowsLike, LabelsLike, WeightsLike]:
    """Return the rows that have a label, and warn if rows without a label are left out."""
    text = encoded_text(y)
    labels = label_array(y) if text is None else text
    is_labelled = has_label(labels) if labels.ndim == 1 else np.ones(1, bool)
    if is_labelled.all():
        return X, y if text is None else text, weight
    n = len(is_labelled)
    rows = np.flatnonzero(is_labelled)
    require_as_many(validation._num_samples(X), n)
    if not len(rows):
        raise InvalidInputError(
            "no row has a label (every y is None or NaN): label some of them"
        )
    if not quiet:
        n_lost = n - len(rows)
        verbs = ("has", "is") if n_lost == 1 else ("have", "are")
        warn(
            f"{n_lost:,} of {n:,} rows {verbs[0]} no label and {verbs[1]} left out",
            UnusedDataWarning,
        )
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    if np.ndim(to_numpy(weight)) != 0:
        weight = np.ma.asanyarray(to_numpy(weight))[rows]  # keeps the mask of a masked array
    if isinstance(labels, EncodedLabels):
        return taken(X, rows), labels.take(rows), weight
    return taken(X, rows), as_labels(labels[rows]), weight


def checked_rows(estimator: "PredictorMixin", X: RowsLike) -> Any:
    """Return the rows to predict, on the host; raise unless they have the features of the fit."""
    validation.check_is_fitted(estimator)
    return _validated(estimator, to_numpy(X), reset=False)


def _validated(estimator: "PredictorMixin", X: Any, *, reset: bool) -> Any:
    """Return texts, sparse rows or a table in the form that the estimator reads."""
    if isinstance(X, np.ndarray):
        X = to_numpy(X)  # convert short floats, such as bfloat16, to float32
    if estimator._text_column is not None:
        return _validated_texts(estimator, X, estimator._text_column, reset=reset)
    if is_sparse(X):
        return _validated_sparse(estimator, X, reset=reset)
    return _validated_table(estimator, X, reset=reset)


def _validated_texts(
    estimator: "PredictorMixin", X: Any, column: str, *, reset: bool
) -> Array:
    """Return the texts of the estimator's column, (n,)."""
    texts = texts_of(X, column)
    if reset:
        set_features(estimator, 1, (column,))
    return np.array(texts, dtype=object)


def _validated_table(estimator: "PredictorMixin", X: Any, *, reset: bool) -> Any:
    """Return numeric rows as an array; foreign arrays and mixed tables stay unchanged."""
    X = unmasked(X)
    if reset:
        column_names(X)  # raises if two columns have the same name
    if is_foreign(X) or (estimator._takes_categories and _is_mixed_for(estimator, X)):
        validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    if getattr(X, "columns", None) is not None and is_mixed(X):
        for name in X.columns:
            _require_numbers(np.asarray(X[name]), repr(name), estimator)
    elif isinstance(X, np.ndarray) and X.dtype.kind in "Mm":
        _require_numbers(X, "0", estimator)
    elif isinstance(X, (list, tuple)):
        _refuse_lists_of_text(X)
    return validation.validate_data(estimator, X, reset=reset, ensure_all_finite=False)


def _validated_sparse(estimator: "PredictorMixin", X: Any, *, reset: bool) -> Any:
    """Return sparse rows unchanged; raise if the estimator does not accept sparse rows."""
    if not estimator._takes_sparse:
        raise InvalidInputError(
            f"{type(estimator).__name__} cannot read sparse rows, whose sums would be dense: "
            "reduce them first with scikit-learn's TruncatedSVD, use CountNB, or convert few "
            "columns with X.toarray()"
        )
    return validation.validate_data(
        estimator, X, reset=reset, accept_sparse=True, ensure_all_finite=False
    )


def _refuse_lists_of_text(rows: Sequence[object]) -> None:
    """Raise if rows are lists that hold text, and name the first cell."""
    for i, row in enumerate(rows):
        cells = row if isinstance(row, (list, tuple)) else ()
        for j, cell in enumerate(cells):
            if isinstance(cell, (str, bytes)):
                raise InvalidInputError(
                    f"X is a list that holds text (row {i}, column {j}: {quote(cell)}): pass a "
                    "data frame, in which text columns become categories, or encode the text as "
                    "numbers"
                )


def _is_mixed_for(estimator: object, X: RowsLike) -> bool:
    """Return whether the estimator reads rows through a schema of columns."""
    moments = getattr(estimator, "moments_", None)
    if moments is not None and moments.schema is not None:
        return True
    return getattr(estimator, "categorical", None) is not None or is_mixed(X)


def _require_numbers(column: Array, name: str, estimator: object) -> None:
    """Raise an error that names the column if it holds times, text or other objects."""
    taker = type(estimator).__name__
    if column.dtype.kind in "Mm":
        raise InvalidInputError(
            f"column {name} holds times, but {taker} takes numbers only: drop the column, or "
            "convert it to numbers"
        )
    if column.dtype.kind in "OUS":
        refuse_text(column, name)


def feature_names(estimator: object) -> tuple[str, ...] | None:
    """Return the feature names of the fit, or None."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def require_moments(estimator: object, moments: object) -> None:
    """Raise unless ``moments`` are the sums of numeric rows that the estimator learns from."""
    if isinstance(moments, Moments):
        return
    name = type(estimator).__name__
    if isinstance(moments, MaskedSums):
        raise InvalidInputError(
            f"these are the masked sums of {moments.party!r}, which are noise on their own, "
            f"so {name} cannot be fitted to them: add those of all parties with "
            "suffice.privacy.unmask, and pass the total"
        )
    raise InvalidParameterError(
        f"{name} is fitted to Moments, not to {type(moments).__name__}: collect them with "
        "Moments.of(X, y) or summarize(source, target)"
    )


def set_features(
    estimator: "PredictorMixin",
    n_features: int,
    names: Sequence[str] | None,
) -> None:
    """Set the number and names of the features of an estimator that was fitted without rows."""
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


# --- what fitted classifiers offer -----------------------------------------------------------


class SumsToCollect(NamedTuple):
    """Which sums one pass over the rows collects for an estimator; see ``Moments.of``."""

    storage: str = "auto"
    fourth: bool = False


class PredictorMixin(ClassifierMixin, BaseEstimator):
    """Base of all classifiers: labels, files, exports, and predictions on the rows' device."""

    classes_: Labels
    n_features_in_: int
    feature_names_in_: Labels
    # notation of numbers and dates in the text files of the fit
    _notations: Notations | None = None

    @property
    def _n_jobs(self) -> int | None:
        """The number of threads that a call may use; all cores if the class has no ``n_jobs``."""
        return getattr(self, "n_jobs", None)

    def _sums_to_collect(self) -> SumsToCollect | None:
        """Return the sums that one pass must collect for a fit; None if a fit needs the rows."""
        return None

    @property
    def _takes_categories(self) -> bool:
        """Whether rows may be a table with categorical columns."""
        return False

    @property
    def _takes_missing(self) -> bool:
        """Whether rows may have missing values."""
        return False

    @property
    def _text_column(self) -> str | None:
        """The text column whose words are the features, if the rows are texts."""
        return None

    @property
    def _takes_sparse(self) -> bool:
        """Whether rows may be a sparse matrix of SciPy."""
        return False

    @property
    def _scores_sparse(self) -> bool:
        """Whether the model scores sparse rows directly, without making blocks of them dense."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self._takes_categories
        tags.input_tags.allow_nan = self._takes_missing
        tags.input_tags.sparse = self._takes_sparse
        return tags

    @property
    @abstractmethod
    def model_(self) -> Classifier:
        """The fitted classifier, without scikit-learn."""

    @abstractmethod
    def _state(self) -> State:
        """Return what a file keeps in addition to the parameters: header fields and arrays."""

    @abstractmethod
    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """Restore the estimator from the result of ``_state``, and return it."""

    def predict(self, X: RowsLike) -> Labels:
        """Return the action with the lowest expected cost, by default the most probable class."""
        return self._answer(X, Classifier.predict)

    def _answer(self, X: RowsLike, verb: Callable[[Classifier, RowsLike], Answer]) -> Answer:
        validation.check_is_fitted(self)
        x = _validated(self, X, reset=False)
        try:
            with at_most(self._n_jobs):
                if is_sparse(x) and not self._scores_sparse:
                    return self._answer_in_blocks(x, verb)
                return self.model_.answer(verb, x)
        except InvalidInputError:
            # raise for an infinity in the user's rows here, where the error can name its row and
            # column
            if isinstance(x, np.ndarray) and x.dtype.kind == "f":
                refuse_nonfinite(np.where(np.isnan(x), 0.0, x), feature_names(self))
            raise

    def _answer_in_blocks(
        self, x: Any, verb: Callable[[Classifier, RowsLike], Answer]
    ) -> Answer:
        """Return the result of ``verb`` for sparse rows, which are made dense block by block."""
        csr = x.tocsr()
        size = max(_DENSE_NUMBERS // max(csr.shape[1], 1), 1)
        classifier = self.model_
        answers: list[Any] = []
        for start in range(0, csr.shape[0], size):
            block = csr[start : start + size].toarray().astype(np.float64)
            refuse_nonfinite(block, feature_names(self))
            answers.append(classifier.answer(verb, block))
        joined: Any = np.concatenate(answers)
        answer: Answer = joined
        return answer

    def score(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> float:
        """Return the accuracy of ``predict`` among the rows that it does not reject."""
        rows = to_numpy(X)
        labels = as_labels(to_numpy(y))
        weights = to_numpy(sample_weight)
        if not self.model_.decision.can_reject:
            return float(super().score(rows, labels, weights))
        decided = self._answer(rows, Classifier.decide)
        is_right = decided == codes_of(labels, self.classes_, strict=False)
        answered = np.where(decided < len(self.classes_), _weights(weights, decided), 0.0)
        if not answered.any():
            warn(
                "this classifier rejects every row, so it has no accuracy: raise the cost of "
                "rejecting"
            )
            return float("nan")
        return float(np.average(is_right, weights=answered))

    def save(self, path: str | Path) -> None:
        """Write the settings and the fitted model to a ``.suffice`` file: a zip, without pickle."""
        validation.check_is_fitted(self)
        header, arrays = self._state()
        if self._notations is not None:
            header["notations"] = self._notations.to_json()
        save(path, type(self).__name__, self.get_params(deep=False), header, arrays)

    def explain_row(self, x: RowsLike, reference: RowsLike | None = None) -> RowExplanation:
        """Return the log odds of a row as a sum with one contribution for each column.

        The log odds compare the two most probable classes. The contributions are Shapley values of
        the log odds, exact for linear and Gaussian models. For averages, they also add up to the
        log odds.

        Parameters
        ----------
        x : array (d,), or a frame of one row
            The row to explain.
        reference : array (d,), or a frame of one row, optional
            The row that the contributions are relative to; by default the mean of all rows.
        """
        validation.check_is_fitted(self)
        return self.model_.explain_row(x, reference)

    def export(
        self,
        path: str | Path,
        to: Literal["sql", "onnx", "json"],
        *,
        dialect: str | None = None,
        table: str | None = None,
    ) -> None:
        """Write the fitted classifier for another system: a SQL query, ONNX, or JSON.

        Parameters
        ----------
        path : path
            The file to write.
        to : {"sql", "onnx", "json"}
            "sql" is a query that scores the rows of a table, "onnx" a graph for ONNX runtimes, and
            "json" a document with all parameters.
        dialect : {"duckdb", "postgres", "sqlite"}, optional
            The database of the query, DuckDB by default; only for SQL.
        table : str, optional
            The table that the query reads, by default "rows". Dots separate the name of a schema.
            Only for SQL.
        """
        validation.check_is_fitted(self)
        write_export(self, Path(path), to, dialect=dialect, table=table)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram as HTML, with classes and scores after a fit."""
        diagram = super()._html_repr()
        if not hasattr(self, "classes_"):
            return diagram
        # scikit-learn's diagram calls the columns that ``transform`` returns "features"
        plain = re.sub(r">(\d+) features<", r">\1 coordinates of transform<", diagram)
        return plain + self._learnt()

    def _learnt(self) -> str:
        """Return the classes, and their linear scores if they have any, as HTML."""
        classes = notebook.first_rows(self.classes_.tolist())
        n_features = counted(self.n_features_in_, "feature")
        n_classes = counted(len(self.classes_), "class")
        moments = getattr(self, "moments_", None)
        if moments is None:
            title = f"Fitted to {n_features}, {n_classes}"
            tables = [notebook.html_table(["class"], [[label] for label in classes])]
        elif isinstance(moments, Moments) and is_stated(moments):
            title = f"Stated: {n_features}, {n_classes}"
            stated_priors = moments.weights / moments.total_weight
            cells = zip(classes, stated_priors.tolist(), strict=False)
            tables = [notebook.html_table(["class", "prior"], cells)]
        else:
            n_rows = int(moments.counts.sum())
            title = f"Fitted to {n_rows:,} rows, {n_features}, {n_classes}"
            priors = getattr(self, "priors_", moments.weights / moments.total_weight)
            rows = zip(classes, moments.counts.tolist(), priors.tolist(), strict=False)
            tables = [notebook.html_table(["class", "rows", "prior"], rows)]
        coefficients = getattr(self, "coef_", None)
        if coefficients is not None:
            tables.append(self._coefficient_table(classes, coefficients))
        return notebook.titled_html(title, *tables)

    def _coefficient_table(self, classes: Sequence[object], coefficients: Floats) -> str:
        names = feature_names(self) or [f"x{j}" for j in range(self.n_features_in_)]
        shown = notebook.first_rows(names)
        labels = classes if len(coefficients) > 1 else [self.classes_[1]]
        intercepts = np.asarray(getattr(self, "intercept_"))  # noqa: B009 (some have none)
        rows = []
        for label, intercept, w in zip(labels, intercepts, coefficients, strict=False):
            rows.append([label, intercept, *w[: len(shown)]])
        return notebook.html_table(["score of", "intercept", *shown], rows, "Coefficients")


def _weights(sample_weight: WeightsLike, decided: Codes) -> Floats:
    weights = as_weights(sample_weight, len(decided))
    return np.ones(len(decided)) if weights is None else weights


class ScoreMixin(PredictorMixin):
    """Classifiers with a score for each class, which ``decision_function`` returns."""

    def decision_function(self, X: RowsLike) -> Floats:
        """Return the score of each class (n, K); for two classes, that of the second (n,)."""
        scores = self._answer(X, Classifier.scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class PosteriorMixin(PredictorMixin):
    """Classifiers with posterior probabilities of the classes."""

    def predict_proba(self, X: RowsLike) -> Floats:
        """Return p(class | x), shape (n, K)."""
        return self._answer(X, Classifier.posterior)

    def predict_log_proba(self, X: RowsLike) -> Floats:
        """Return log p(class | x), shape (n, K), without underflow far from the data."""
        return self._answer(X, Classifier.log_posterior)


class DensityMixin(PosteriorMixin):
    """Classifiers with a density for each class, from which ``sample`` draws rows."""

    def sample(
        self,
        n: int = 1,
        random_state: RandomState = None,
        *,
        label: Hashable | None = None,
    ) -> tuple[Any, Labels]:
        """Draw rows and labels ``X, y`` from the fitted model; mixed rows are a pandas frame.

        A class is drawn from the priors, then a row from its density. With ``label``, all rows are
        drawn from that class.
        """
        x, y = self.model_.sample(n, _generator(random_state), label)
        if not isinstance(x, dict):
            return x, y
        import pandas as pd

        return pd.DataFrame(x), y


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
