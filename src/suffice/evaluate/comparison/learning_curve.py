"""Error by the number of rows learnt from: generative against discriminative classifiers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.optimize import nnls

from suffice.core.decision.predictions import CRITERIA
from suffice.core.progress import Wish
from suffice.core.table.matrix import is_complete, taken
from suffice.core.table.sampling import ranks_within
from suffice.core.text.numbers import percent
from suffice.core.text.tables import Tabled
from suffice.errors import InvalidParameterError
from suffice.evaluate.comparison.judging import Case, Failure, Outcome, judged
from suffice.evaluate.comparison.models import ComparedModel, parse_models
from suffice.selection.validation.folds import Folds
from suffice.typing import Array, Codes, Floats

MODELS = ("GaussianNB", "LDA", "QDA", "logistic regression")
_SIZES = 9
_LEAST = 2  # rows of the smallest class
_SPAN = 3  # times as many rows at the end of a curve as at its start, to say how it goes on


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """The losses of one model at each size; NaN where it could not be fitted."""

    name: str
    generative: bool  # whether it models the features of each class
    losses: Floats  # error, log-loss, Brier  (S, R, 3)
    failures: tuple[str, ...]  # why it could not be fitted, where it could not

    def mean(self, metric: str = "error") -> Floats:
        """Return the mean over repeats, (S,)."""
        return np.asarray(self.losses[:, :, CRITERIA.index(metric)].mean(1))

    def standard_error(self, metric: str = "error") -> Floats:
        """Return the standard error of the mean, (S,)."""
        each = self.losses[:, :, CRITERIA.index(metric)]
        return np.asarray(each.std(1, ddof=1) / np.sqrt(each.shape[1]))


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Tabled):
    """Losses of every model by the number of training rows, on the same rows."""

    curves: tuple[Curve, ...]
    sizes: Codes  # training rows  (S,)
    n_repeats: int

    def __getitem__(self, name: str) -> Curve:
        curves = {curve.name: curve for curve in self.curves}
        if name not in curves:
            names = ", ".join(map(repr, curves))
            raise InvalidParameterError(f"no curve is called {name!r}: there are {names}")
        return curves[name]

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per model and size."""
        return [
            {"model": curve.name, "n_rows": int(size)}
            | {metric: float(curve.mean(metric)[at]) for metric in CRITERIA}
            | {f"{m}_se": float(curve.standard_error(m)[at]) for m in CRITERIA}
            for curve in self.curves
            for at, size in enumerate(self.sizes)
        ]

    def plot(self, *, theme: Literal["light", "dark"] = "light") -> Array:
        """Draw error and log-loss by the number of rows; return the two axes."""
        from suffice.present.plots.comparisons import learning_curve_figure

        return learning_curve_figure(self, theme)

    def __repr__(self) -> str:
        sizes = f"{len(self.sizes)} sizes from {self.sizes[0]} to {self.sizes[-1]} rows"
        return f"LearningCurve({len(self.curves)} models × {sizes} × {self.n_repeats} repeats)"


def learning_curve(
    X: Any,
    y: Any,
    models: Any = MODELS,
    sizes: Any = None,
    *,
    test: float = 0.3,
    n_repeats: int = 20,
    random_state: int = 0,
    progress: Wish = None,
) -> LearningCurve:
    """Return how error falls with the number of training rows, for each of several models.

    Each repeat keeps a test part apart, orders the other rows at random within each class, and
    lets every model learn from the same first rows. Rows with missing values are left out. Ng &
    Jordan (2001), *Advances in Neural Information Processing Systems* 14, 841–848.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
    models
        As in ``sf.compare``; by default naive Bayes, LDA and QDA against logistic regression.
    sizes : ints, optional
        Numbers of training rows; by default nine, evenly spaced on a log scale.
    test : float in (0, 1), default=0.3
        Share of the rows to judge by.
    n_repeats : int, default=20
        How often the rows are divided anew.
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
            f"n_repeats={n_repeats}: at least two tell how much they vary"
        )
    compared = parse_models(models, random_state)
    whole = is_complete(X)
    if not whole.all() and len(whole) == len(y):
        X, y = (taken(each, np.flatnonzero(whole)) for each in (X, y))
    everything = Folds.of(X, y, [([0], [0])])
    rng = np.random.default_rng(random_state)
    orders = [_order(everything.codes, test, rng) for _ in range(n_repeats)]
    known = _sizes(sizes, everything, len(orders[0][0]))
    return LearningCurve(
        _curves(compared, everything, known, orders, progress), known, n_repeats
    )


@dataclass(frozen=True, slots=True)
class Forecast:
    """The error expected of a model that has learnt from more rows."""

    n_rows: int
    error: float
    low: float  # 95 % interval
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """How the error of one model falls as rows come in, and what more rows would bring."""

    model: str
    sizes: Codes  # training rows  (S,)
    error: Floats  # mean over repeats  (S,)
    forecast: tuple[Forecast, ...]  # from all rows at hand to several times as many

    @property
    def helps(self) -> str:
        now, twice = self.forecast[:2]
        if now.error - twice.error > max(0.05 * now.error, 0.002):
            return "would help"
        return "may or may not help" if twice.low < 0.8 * now.error else "would hardly help"

    @property
    def sentence(self) -> str:
        now, twice = self.forecast[:2]
        return (
            f"More rows {self.helps}: if the curve goes on as it began, with twice as many "
            f"({twice.n_rows:,}) {self.model} misclassifies about {percent(twice.error)} (95 % "
            f"interval {percent(twice.low)} to {percent(twice.high)}), with those at hand "
            f"{percent(now.error)} ({percent(now.low)} to {percent(now.high)})."
        )


def growth(
    model: ComparedModel,
    folds: Folds,
    own: Outcome,
    *,
    n_repeats: int = 8,
    seed: int = 0,
) -> Growth | None:
    """Return the learning curve of a model, extrapolated by a power law (Viering & Loog 2023)."""
    rng, n = np.random.default_rng(seed), len(folds.codes)
    orders = [_order(folds.codes, 0.3, rng) for _ in range(n_repeats)]
    sizes = _sizes(None, folds, len(orders[0][0]), 5)
    if len(sizes) < 3 or sizes[-1] < _SPAN * sizes[0]:
        return None
    (curve,) = _curves((model,), folds, sizes, orders, progress=False)
    errors = curve.losses[:, :, 0]
    if not np.isfinite(errors).all():
        return None
    drawn = [errors, *(errors[:, rng.integers(0, n_repeats, n_repeats)] for _ in range(199))]
    ahead = np.array([n, 2 * n, 4 * n])
    laws = np.stack([_power_law(sizes, e.mean(1), ahead) for e in drawn])
    falls = laws[:, :1] - laws
    least, most = np.quantile(falls, [0.025, 0.975], axis=0)
    # its fall is taken from the error of all rows, whose interval it makes wider
    found = (own.error - falls[0]).clip(0)
    low = (found - np.hypot(own.error - own.interval[0], most - falls[0])).clip(0)
    high = (found + np.hypot(own.interval[1] - own.error, falls[0] - least)).clip(max=1)
    forecast = map(Forecast, *(each.tolist() for each in (ahead, found, low, high)))
    return Growth(curve.name, sizes, curve.mean(), tuple(forecast))


def _power_law(sizes: Codes, errors: Floats, ahead: Codes) -> Floats:
    """Return a + b n^(−c) at other sizes, a and b not under zero, fitted by least squares."""
    best, found = np.inf, np.full(len(ahead), errors[-1])
    for c in np.linspace(0.1, 1.5, 15):
        design = np.stack([np.ones(len(sizes)), (sizes / sizes[0]) ** -c], axis=1)
        (a, b), misfit = nnls(design, errors)
        if misfit < best:
            best, found = misfit, a + b * (ahead / sizes[0]) ** -c
    return found


def _curves(
    models: Sequence[ComparedModel],
    rows: Folds,
    sizes: Codes,
    orders: Any,
    progress: Wish,
) -> tuple[Curve, ...]:
    """Return the losses of models that learn from the first rows of each order."""
    folds = [replace(rows, splits=_prefixes(orders, size)) for size in sizes]
    curves, unfitted = [], np.full((len(orders), 3), np.nan)
    cases = [Case(model, each) for model in models for each in folds]
    found = judged(cases, progress, "learning curve")
    for at, model in enumerate(models):
        results = found[at * len(sizes) :][: len(sizes)]
        losses = [r.fold_losses if isinstance(r, Outcome) else unfitted for r in results]
        failures = tuple(r.message for r in results if isinstance(r, Failure))
        curves.append(Curve(model.name, model.is_generative, np.stack(losses), failures))
    return tuple(curves)


def _order(codes: Codes, test: float, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return training rows in an order whose every start is stratified, and test rows."""
    # a row's rank in its class, as a share of the class
    order = np.argsort(
        (ranks_within(codes, rng) + 0.5) / np.bincount(codes)[codes], kind="stable"
    )
    n_train = len(codes) - round(test * len(codes))
    return order[:n_train], np.sort(order[n_train:])


def _prefixes(orders: list[tuple[Codes, Codes]], size: int) -> tuple[tuple[Codes, Codes], ...]:
    return tuple((np.sort(train[:size]), held) for train, held in orders)


def _sizes(sizes: Any, folds: Folds, n_train: int, n_sizes: int = _SIZES) -> Codes:
    """Return the sizes asked for, or some from the fewest sensible to all."""
    counts = np.bincount(folds.codes)
    # the smallest class has about _LEAST rows in a start of this length
    least = int(np.ceil(_LEAST * len(folds.codes) / counts.min()))
    if sizes is None:
        first = min(max(least, 2 * len(counts)), n_train)
        return np.unique(np.geomspace(first, n_train, n_sizes).round().astype(np.intp))
    known = np.unique(np.asarray(sizes, np.intp))
    if not len(known) or known[0] < 2 or known[-1] > n_train:
        msg = f"sizes must lie between 2 and the {n_train} rows of the training part, got {sizes}"
        raise InvalidParameterError(msg)
    return known
