"""The error of classifiers as the number of training rows grows, and a forecast of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from suffice.core.decision.predictions import CRITERIA
from suffice.core.progress import Wish
from suffice.core.table.labels import as_labels
from suffice.core.table.matrix import is_complete, taken
from suffice.core.table.sampling import ranks_within
from suffice.core.text.lists import counted
from suffice.core.text.numbers import percent
from suffice.core.text.tables import Row, Tabled
from suffice.errors import InvalidParameterError
from suffice.evaluate.comparison.judging import Case, Failure, Outcome, judged
from suffice.evaluate.comparison.models import ComparedModel, ModelsLike, parse_models
from suffice.selection.validation.folds import Folds
from suffice.typing import Array, Codes, Floats, LabelsLike, RowsLike

MODELS = ("GaussianNB", "LDA", "QDA", "logistic regression")
_N_SIZES = 9
_FEWEST_OF_A_CLASS = 2  # least number of rows of the smallest class, at the smallest size
# a curve is extrapolated only if its largest size is at least this multiple of the smallest
_SPAN = 3
_FEWEST_ERRORS = 5  # with fewer misclassified rows, no fall of the error is forecast


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """The losses of one model at each size; NaN at sizes where the model could not be fitted."""

    name: str
    generative: bool  # whether the model has a density of the features of each class
    losses: Floats  # error, log-loss, Brier  (S, R, 3)
    failures: tuple[str, ...]  # why the model could not be fitted: one message per failed size

    def mean(self, metric: str = "error") -> Floats:
        """Return the mean over repeats, (S,)."""
        return np.asarray(self.losses[:, :, CRITERIA.index(metric)].mean(1))

    def standard_error(self, metric: str = "error") -> Floats:
        """Return the standard error of the mean, (S,)."""
        losses = self.losses[:, :, CRITERIA.index(metric)]
        return np.asarray(losses.std(1, ddof=1) / np.sqrt(losses.shape[1]))

    def rows(self, sizes: Codes) -> list[Row]:
        """Return a mapping per size, with means and standard errors."""
        rows: list[Row] = [{"model": self.name, "n_rows": int(size)} for size in sizes]
        for metric in CRITERIA:
            for row, mean in zip(rows, self.mean(metric).tolist(), strict=True):
                row[metric] = mean
        for metric in CRITERIA:
            for row, error in zip(rows, self.standard_error(metric).tolist(), strict=True):
                row[f"{metric}_se"] = error
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Tabled):
    """The losses of every model by the number of training rows, measured on the same rows."""

    curves: tuple[Curve, ...]
    sizes: Codes  # training rows  (S,)
    n_repeats: int

    def __getitem__(self, name: str) -> Curve:
        for curve in self.curves:
            if curve.name == name:
                return curve
        names = ", ".join(repr(curve.name) for curve in self.curves)
        raise InvalidParameterError(f"no curve is called {name!r}: there are {names}")

    def rows(self) -> list[Row]:
        """Return a mapping per model and size."""
        rows = []
        for curve in self.curves:
            rows += curve.rows(self.sizes)
        return rows

    def plot(self, *, theme: Literal["light", "dark"] = "light") -> Array:
        """Draw error and log-loss by the number of rows; return the two axes."""
        from suffice.present.plots.comparisons import learning_curve_figure

        return learning_curve_figure(self, theme)

    def __repr__(self) -> str:
        return (
            f"LearningCurve({counted(len(self.curves), 'model')} × {len(self.sizes)} sizes from "
            f"{self.sizes[0]} to {self.sizes[-1]} rows × {self.n_repeats} repeats)"
        )


def learning_curve(
    X: RowsLike,
    y: LabelsLike,
    models: ModelsLike = MODELS,
    sizes: npt.ArrayLike | None = None,
    *,
    test: float = 0.3,
    n_repeats: int = 20,
    random_state: int = 0,
    progress: Wish = None,
) -> LearningCurve:
    """Return how the error falls with the number of training rows, for several models.

    Each repeat holds out a test part and shuffles the other rows within each class. For each size,
    all models are fitted to the same first rows. Rows with missing values are left out, and
    identical rows are used once. Ng & Jordan (2001), *Advances in Neural Information Processing
    Systems* 14, 841–848.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
    models
        As in ``sf.compare``; by default naive Bayes, LDA and QDA against logistic regression.
    sizes : ints, optional
        Numbers of training rows; by default nine, evenly spaced on a log scale.
    test : float in (0, 1), default=0.3
        Share of the rows to hold out.
    n_repeats : int, default=20
        Number of random divisions of the rows.
    random_state, progress
        As in ``sf.compare``.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> curve = sf.learning_curve(X, y, ["LDA", "logistic"], sizes=[20, 60, 120], n_repeats=5)
    >>> curve
    LearningCurve(2 models × 3 sizes from 20 to 120 rows × 5 repeats)
    """
    if not 0 < test < 1:
        raise InvalidParameterError(
            f"test must be a share of the rows in (0, 1), got {test!r}"
        )
    if n_repeats < 2:
        raise InvalidParameterError(
            f"n_repeats={n_repeats}: at least two repeats are needed to see how much they vary"
        )
    compared = parse_models(models, random_state)
    complete = is_complete(X)
    if not complete.all() and len(complete) == len(as_labels(y)):
        X = taken(X, np.flatnonzero(complete))
        y = taken(y, np.flatnonzero(complete))
    folds = Folds.of(X, y, [([0], [0])])  # the splits are placeholders: each size has its own
    rows = _distinct_rows(folds)
    rng = np.random.default_rng(random_state)
    orders = [_order(folds.codes[rows], test, rng).among(rows) for _ in range(n_repeats)]
    n_train = len(orders[0].train)
    if sizes is None:
        chosen_sizes = _default_sizes(folds.codes[rows], n_train, _N_SIZES)
    else:
        chosen_sizes = _checked_sizes(sizes, n_train)
    return LearningCurve(
        curves=_curves(compared, folds, chosen_sizes, orders, progress),
        sizes=chosen_sizes,
        n_repeats=n_repeats,
    )


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected error of a model that is fitted to more rows."""

    n_rows: int
    error: float
    low: float  # lower end of the 95 % interval
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """The error of one model by the number of rows, with a forecast for more rows."""

    model: str
    sizes: Codes  # training rows  (S,)
    error: Floats  # mean over repeats  (S,)
    n_repeats: int
    # expected error for the available rows, and for two and four times as many
    forecast: tuple[Forecast, ...]
    # lower end of the 95 % interval of how much the error falls with twice as many rows
    least_fall: float
    has_copies: bool = False  # whether identical rows count once in all numbers of rows

    @property
    def helps(self) -> str:
        """A sentence on whether twice as many rows would lower the error.

        More rows help if the forecast fall is large, if its interval excludes zero, and if enough
        rows are misclassified to tell.
        """
        now, twice = self.forecast[:2]
        is_large = now.error - twice.error > max(0.05 * now.error, 0.002)
        has_enough_errors = now.error * now.n_rows >= _FEWEST_ERRORS
        if is_large and has_enough_errors and self.least_fall > 0:
            return "would help"
        if twice.low < 0.8 * now.error:
            return "may or may not help"
        return "would hardly help"

    @property
    def sentence(self) -> str:
        now, twice = self.forecast[:2]
        beginning = f"More rows {self.helps}"
        if self.helps == "may or may not help":
            beginning = "It is not clear whether more rows would help"
        rows = "distinct rows" if self.has_copies else "rows"
        return (
            f"{beginning}. With twice as many {rows} ({twice.n_rows:,}), {self.model} should "
            f"misclassify about {percent(twice.error)} (95 % interval {percent(twice.low)} to "
            f"{percent(twice.high)}), against {percent(now.error)} now ({percent(now.low)} to "
            f"{percent(now.high)}). The forecast extrapolates the learning curve."
        )


def growth(
    model: ComparedModel,
    folds: Folds,
    outcome: Outcome,
    *,
    n_repeats: int = 8,
    seed: int = 0,
) -> Growth | None:
    """Return the learning curve of a model, extrapolated by a power law (Viering & Loog 2023).

    The result is None if the table is too small for a learning curve.
    """
    rng = np.random.default_rng(seed)
    rows = _distinct_rows(folds)
    n = len(rows)
    orders = [_order(folds.codes[rows], 0.3, rng).among(rows) for _ in range(n_repeats)]
    sizes = _default_sizes(folds.codes[rows], len(orders[0].train), 5)
    if len(sizes) < 3 or sizes[-1] < _SPAN * sizes[0]:
        return None
    (curve,) = _curves((model,), folds, sizes, orders, progress=False)
    errors = curve.losses[:, :, 0]
    if not np.isfinite(errors).all():
        return None
    larger_sizes = np.array([n, 2 * n, 4 * n])
    expected = _power_law(sizes, errors.mean(1), larger_sizes)
    laws = [expected]
    for _ in range(199):  # bootstrap over the repeats
        drawn = errors[:, rng.integers(0, n_repeats, n_repeats)]
        laws.append(_power_law(sizes, drawn.mean(1), larger_sizes))
    falls = np.stack([law[0] - law for law in laws])
    fall = falls[0]
    least, most = np.quantile(falls, [0.025, 0.975], axis=0)
    # forecast = error on all rows − fall. The variances of the two intervals add up.
    low_now, high_now = outcome.interval
    error = (outcome.error - fall).clip(0)
    low = (error - np.hypot(outcome.error - low_now, most - fall)).clip(0)
    high = (error + np.hypot(high_now - outcome.error, fall - least)).clip(max=1)
    forecast = tuple(
        Forecast(int(larger_sizes[i]), float(error[i]), float(low[i]), float(high[i]))
        for i in range(len(larger_sizes))
    )
    return Growth(
        model=curve.name,
        sizes=sizes,
        error=curve.mean(),
        n_repeats=n_repeats,
        forecast=forecast,
        least_fall=float(least[1]),
        has_copies=n < len(folds.codes),
    )


def _power_law(sizes: Codes, errors: Floats, larger_sizes: Codes) -> Floats:
    """Return a + b n^(−c) at the larger sizes, with a, b ≥ 0 and c fitted by least squares."""
    least_misfit = np.inf
    extrapolated = np.full(len(larger_sizes), errors[-1])
    for c in np.linspace(0.1, 1.5, 15):
        design = np.stack([np.ones(len(sizes)), (sizes / sizes[0]) ** -c], axis=1)
        (a, b), misfit = nnls(design, errors)
        if misfit < least_misfit:
            least_misfit = misfit
            extrapolated = a + b * (larger_sizes / sizes[0]) ** -c
    return extrapolated


class Order(NamedTuple):
    """The rows of one repeat."""

    train: Codes  # ordered so that the first m rows are stratified, for every m
    test: Codes

    def among(self, rows: Codes) -> "Order":
        """Return the order with positions in ``rows`` replaced by the row numbers in ``rows``."""
        return Order(train=rows[self.train], test=np.sort(rows[self.test]))


def _curves(
    models: Sequence[ComparedModel],
    rows: Folds,
    sizes: Codes,
    orders: Sequence[Order],
    progress: Wish,
) -> tuple[Curve, ...]:
    """Return the losses of models that are fitted to the first rows of each order."""
    folds = [replace(rows, splits=_splits(orders, size)) for size in sizes]
    cases = [Case(model, each) for model in models for each in folds]
    results = judged(cases, progress, "learning curve")
    curves = []
    for m, model in enumerate(models):
        losses = []
        failures = []
        for result in results[m * len(sizes) : (m + 1) * len(sizes)]:
            if isinstance(result, Failure):
                losses.append(np.full((len(orders), 3), np.nan))
                failures.append(result.message)
            else:
                losses.append(result.fold_losses)
        curves.append(
            Curve(
                name=model.name,
                generative=model.is_generative,
                losses=np.stack(losses),
                failures=tuple(failures),
            )
        )
    return tuple(curves)


def _distinct_rows(folds: Folds) -> Codes:
    """Return the first row of each set of identical rows, or all rows if there are none, (m,)."""
    if folds.copies is None:
        return np.arange(len(folds.codes))
    _, first = np.unique(folds.copies.set_of, return_index=True)
    return np.sort(first)


def _order(codes: Codes, test: float, rng: np.random.Generator) -> Order:
    """Return test rows, and training rows in a random order that is stratified at every size."""
    # sort key: the random rank of a row within its class, divided by the size of the class
    rank_shares = (ranks_within(codes, rng) + 0.5) / np.bincount(codes)[codes]
    order = np.argsort(rank_shares, kind="stable")
    n_train = len(codes) - round(test * len(codes))
    return Order(train=order[:n_train], test=np.sort(order[n_train:]))


def _splits(orders: Sequence[Order], size: int) -> tuple[tuple[Codes, Codes], ...]:
    """Return folds whose training rows are the first ``size`` rows of each order."""
    return tuple((np.sort(order.train[:size]), order.test) for order in orders)


def _default_sizes(codes: Codes, n_train: int, n_sizes: int) -> Codes:
    """Return sizes up to ``n_train``, evenly spaced on a log scale."""
    counts = np.bincount(codes)
    # with this number of rows, the smallest class has about _FEWEST_OF_A_CLASS rows
    fewest = int(np.ceil(_FEWEST_OF_A_CLASS * len(codes) / counts.min()))
    first = min(max(fewest, 2 * len(counts)), n_train)
    return np.unique(np.geomspace(first, n_train, n_sizes).round().astype(np.intp))


def _checked_sizes(sizes: npt.ArrayLike, n_train: int) -> Codes:
    distinct = np.unique(np.asarray(sizes, np.intp))
    if len(distinct) == 0 or distinct[0] < 2 or distinct[-1] > n_train:
        raise InvalidParameterError(
            f"sizes must lie between 2 and the {n_train} rows of the training part, got {sizes!r}"
        )
    return distinct
