"""Settings that no test was tuned on: other shapes, numbers of rows, columns and classes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from benchmarks.levels.case import Case, Draw, Finding, is_alarm
from benchmarks.levels.changed_rows import ONE_COLUMN, Numbers
from benchmarks.levels.classes import EFFECT
from benchmarks.levels.comparison import Pair, Rows
from suffice.typing import Floats

PREFIX = "fresh: "  # of the names of these settings


def _with_outliers(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return normal numbers, one in fifty of which lies about 8 away, with 3 times the spread."""
    far = 8 + 3 * rng.normal(size=shape)
    return np.where(rng.random(shape) < 0.02, far, rng.normal(size=shape))


def _two_humps(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return numbers around −2, and fewer and narrower ones around 2."""
    right = 2 + 0.5 * rng.normal(size=shape)
    return np.where(rng.random(shape) < 0.4, right, -2 + rng.normal(size=shape))


def _many_zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return exponential numbers, two in five of which are replaced by zero."""
    return np.where(rng.random(shape) < 0.4, 0.0, rng.exponential(size=shape))


@dataclass(frozen=True, slots=True)
class Setting:
    """Rows of one shape, and how many there are."""

    shape: str
    draw_numbers: Draw
    n_rows: int  # of a fit
    n_new: int
    n_columns: int
    n_classes: int

    def __str__(self) -> str:
        return f"{PREFIX}{self.shape}, n = {self.n_rows}, d = {self.n_columns}"

    @property
    def n_features(self) -> int:
        """Columns that each of two compared models sees."""
        return self.n_columns

    def draw(self, rng: np.random.Generator) -> Rows:
        """Return rows of two classes and two blocks of columns, of equal worth for the class."""
        y = rng.permutation(np.arange(self.n_rows) % 2)
        d = self.n_columns
        x = self.draw_numbers(rng, (self.n_rows, 2 * d))
        x = x / self.draw_numbers(np.random.default_rng(0), (10_000, 1)).std()
        x[:, [0, 1, d, d + 1]] += 0.8 * y[:, None]
        return Rows(x, y)


SETTINGS = (
    Setting("gamma(0.5)", lambda rng, shape: rng.gamma(0.5, size=shape), 150, 70, 6, 3),
    Setting("Laplace", lambda rng, shape: rng.laplace(size=shape), 90, 45, 2, 2),
    Setting(
        "negative binomial counts",
        lambda rng, shape: rng.negative_binomial(1.5, 0.3, size=shape).astype(float),
        600,
        90,
        8,
        4,
    ),
    Setting("one outlier in fifty", _with_outliers, 240, 120, 5, 3),
    Setting(
        "normal, rounded to halves",
        lambda rng, shape: np.round(2 * rng.normal(size=shape)) / 2,
        400,
        35,
        12,
        2,
    ),
    Setting("two humps", _two_humps, 500, 500, 7, 5),
    Setting("two fifths of zeros, else exponential", _many_zeros, 1200, 50, 15, 4),
    Setting("Weibull(0.8)", lambda rng, shape: rng.weibull(0.8, size=shape), 70, 50, 4, 2),
)


def cases() -> Iterator[Case]:
    for setting in SETTINGS:
        n = setting.n_rows
        m = setting.n_new
        d = setting.n_columns
        k = setting.n_classes
        drift = Numbers(setting.draw_numbers, n, m, d).findings
        yield Case(f"{setting}, {m} new", min(n, m), ONE_COLUMN, drift)
        shares = _UnequalShares(setting).findings
        name = f"{PREFIX}correlated normal, n = {n}, {m} new, d = {d}, K = {k}"
        yield Case(name, min(n, m), "share of the largest class halved", shares)
        classes = _Classes(setting).findings
        yield Case(f"{setting}, K = {k}", n // k, EFFECT, classes)
        normality = _Normality(setting).findings
        name = f"{PREFIX}n = {n}, d = {d}, K = {k}, against {setting.shape}"
        yield Case(name, n // k, setting.shape, normality)
        calibration = _Stated(setting).findings
        name = f"{PREFIX}{n} rows, K = {k}, posteriors near the middle"
        yield Case(name, n, "odds to the power of 1.5", calibration)
    effect = "one of two blocks of features useless"
    for setting in SETTINGS:
        lda = Pair(LinearDiscriminantAnalysis, setting).findings
        yield Case(f"{setting}, LDA compared", setting.n_rows, effect, lda)
        tree = Pair(lambda: DecisionTreeClassifier(max_depth=4, random_state=0), setting)
        yield Case(f"{setting}, tree compared", setting.n_rows, effect, tree.findings)


class _UnequalShares:
    """Classes in unequal shares that overlap; the columns are correlated."""

    def __init__(self, setting: Setting):
        self.setting = setting

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        s = self.setting
        k = s.n_classes
        shares = np.arange(1, k + 1) / (k * (k + 1) / 2)
        new_shares = shares.copy()
        if has_effect:
            new_shares[-1] /= 2
            new_shares /= new_shares.sum()
        means = 1.2 * np.random.default_rng(k).normal(size=(k, s.n_columns))
        mixing = np.eye(s.n_columns) + 0.5
        old = rng.choice(k, s.n_rows, p=shares)
        new = rng.choice(k, s.n_new, p=new_shares)
        x = rng.normal(size=(s.n_rows, s.n_columns)) @ mixing + means[old]
        rows = rng.normal(size=(s.n_new, s.n_columns)) @ mixing + means[new]
        fitted = sf.LDA().fit(x, old)
        return {"prior shift": is_alarm(sf.diagnostics.adapt_priors(fitted, rows)[1].p_value)}


class _Classes:
    """Box's M and Wilks' lambda."""

    def __init__(self, setting: Setting):
        self.setting = setting

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        s = self.setting
        x = s.draw_numbers(rng, (s.n_rows, s.n_columns))
        y = np.arange(s.n_rows) % s.n_classes
        spread = x.copy()
        moved = x.copy()
        if has_effect:
            spread[y == 0] *= 2
            moved[y == 0] += x.std(0)
        box = sf.diagnostics.box_m(sf.Moments.of(spread, y, fourth=True))
        wilks = sf.diagnostics.class_separation(sf.Moments.of(moved, y))
        return {
            "Box's M, any tails": is_alarm(box.p_value),
            "Wilks' lambda": is_alarm(wilks.p_value),
        }


class _Normality:
    """Correlated normal classes, or classes of the shape of the setting."""

    def __init__(self, setting: Setting):
        self.setting = setting

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        s = self.setting
        shape = (s.n_rows, s.n_columns)
        x = s.draw_numbers(rng, shape) if has_effect else rng.normal(size=shape)
        mixing = np.eye(s.n_columns) + 0.3
        y = np.arange(s.n_rows) % s.n_classes
        found = sf.diagnostics.normality(x @ mixing + y[:, None], y)
        return {"normality": is_alarm(found.p_value)}


class _Stated:
    """Posteriors that are right, or too sharp."""

    def __init__(self, setting: Setting):
        self.setting = setting

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        n = self.setting.n_rows
        k = self.setting.n_classes
        p = rng.dirichlet(np.full(k, 2.0), n)
        y = (rng.random((n, 1)) > p.cumsum(1)[:, :-1]).sum(1)
        stated = p
        if has_effect:
            stated = p**1.5 / (p**1.5).sum(1, keepdims=True)
        seed = int(rng.integers(2**31))
        found = sf.diagnostics.calibration(
            y, stated, np.arange(k), simulations=199, random_state=seed
        )
        return {"calibration": is_alarm(found.p_value)}
