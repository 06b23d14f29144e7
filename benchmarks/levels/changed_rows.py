"""Have rows, or the shares of classes, changed? Drift and prior shift."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

import suffice as sf
from benchmarks.levels.case import DRAWS, Case, Draw, Finding, is_alarm
from suffice.evaluate.diagnostics.drift import Drift
from suffice.typing import Floats

SIZES = (
    (300, 40, 3),
    (1000, 60, 10),
    (200, 200, 4),
    (40, 25, 3),
    (120, 80, 1),
    (3000, 1000, 30),
)
SCALED = "weights of any size times Σw/Σw²"
ONE_COLUMN = "one column by 1 standard deviation"


def cases() -> Iterator[Case]:
    yield from _number_cases()
    yield from _mixed_cases()
    yield from _share_cases()


def _number_cases() -> Iterator[Case]:
    for n, m, d in SIZES:
        for name, draw in DRAWS.items():
            setting = f"{name}, {n} fitted, {m} new, d = {d}"
            yield Case(setting, min(n, m), ONE_COLUMN, Numbers(draw, n, m, d).findings)
    for n, m, d in ((120, 40, 3), (300, 300, 6)):
        for share in (0.1, 0.3):
            setting = (
                f"correlated normal, {100 * share:.0f} % missing, {n} fitted, {m} new, d = {d}"
            )
            findings = Numbers(partial(_with_holes, share), n, m, d).findings
            yield Case(setting, min(n, m), ONE_COLUMN, findings)


def _mixed_cases() -> Iterator[Case]:
    for n, m in ((300, 40), (800, 400)):
        for model in (sf.LDA, sf.GaussianNB):
            for weights in ("", "counts as weights", "weights of any size", SCALED):
                kind = f", {weights}" if weights else ""
                setting = (
                    f"mixed with missing cells, {n} fitted, {m} new, {model.__name__}{kind}"
                )
                yield Case(
                    setting, min(n, m), ONE_COLUMN, _Mixed(model, n, m, weights).findings
                )


def _share_cases() -> Iterator[Case]:
    for n, m, k in (
        (150, 1500, 2),
        (150, 1500, 4),
        (400, 300, 3),
        (400, 300, 8),
        (1500, 1500, 4),
    ):
        for model in (sf.LDA, sf.QDA):
            setting = f"{model.__name__}, K = {k}, {n} fitted, {m} new"
            effect = f"share of one class {1 / k:.2g} to {1.6 / k:.2g}"
            yield Case(setting, min(n, m), effect, _Shares(model, n, m, k).findings, True)


def _any_moved(found: Drift) -> bool | None:
    """Return whether a column has moved, None if none was tested."""
    n_tested = sum(np.isfinite(column.p_value) for column in found.columns)
    return bool(found.moved) if n_tested else None


def _with_holes(share: float, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return correlated normal columns, a share of whose cells is missing."""
    x = DRAWS["correlated normal"](rng, shape)
    x[rng.random(shape) < share] = np.nan
    return x


class Numbers:
    """Columns of one shape."""

    def __init__(self, draw: Draw, n: int, m: int, d: int):
        self.draw = draw
        self.n = n
        self.m = m
        self.d = d

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        old = self.draw(rng, (self.n, self.d))
        new = self.draw(rng, (self.m, self.d))
        if has_effect:
            new[:, 0] += np.nanstd(old[:, 0])
        fitted = sf.LDA().fit(old, np.arange(self.n) % 2)
        found = sf.diagnostics.drift(fitted, new)
        return {
            "drift, any column": _any_moved(found),
            "drift, all together": is_alarm(found.p_value),
        }


class _Mixed:
    """Numbers with missing cells, and categories; weights count rows, or do not."""

    def __init__(self, model: type, n: int, m: int, weights: str):
        self.model = model
        self.n = n
        self.m = m
        self.weights = weights

    def _frame(self, rng: np.random.Generator, n: int) -> pd.DataFrame:
        numbers = pd.DataFrame(
            {
                "a": rng.gamma(2, size=n),
                "b": rng.laplace(size=n),
                "c": rng.poisson(2.0, size=n).astype(float),
            }
        )
        numbers = numbers.mask(rng.random((n, 3)) < 0.15)
        return numbers.assign(
            rare=np.where(rng.random(n) < 0.04, "yes", "no"),
            level=rng.choice(list("pqrst"), n, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
        )

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        n = self.n
        weight = None
        old = self._frame(rng, n)
        if self.weights == "counts as weights":
            # equal rows are given once, with their number
            old = (
                self._frame(rng, 3 * n)[["c", "rare"]].value_counts(dropna=False).reset_index()
            )
            weight = old.pop("count").to_numpy(float)
        if self.weights == "weights of any size":
            weight = rng.gamma(2, size=n)
        if self.weights == SCALED:
            weight = rng.gamma(2, size=n)
            weight *= weight.sum() / (weight @ weight)
        new = self._frame(rng, self.m)
        if self.weights == "counts as weights":
            new = new[["c", "rare"]]
        first = str(old.columns[0])
        if has_effect:
            new = new.assign(**{first: new[first] + old[first].std()})
        y = np.arange(len(old)) % 2
        fitted = self.model().fit(old, y, sample_weight=weight)
        found = sf.diagnostics.drift(fitted, new)
        findings: dict[str, Finding] = {"drift, any column": _any_moved(found)}
        if self.model is sf.LDA:
            # naive Bayes keeps no covariances for a test of all columns
            findings["drift, all together"] = is_alarm(found.p_value)
        return findings


class _Shares:
    """Classes that overlap, in equal or changed shares."""

    def __init__(self, model: type, n: int, m: int, k: int):
        self.model = model
        self.n = n
        self.m = m
        self.k = k

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        k = self.k
        means = 1.5 * np.eye(k)
        shares = np.full(k, 1 / k)
        new_shares = shares
        if has_effect:
            new_shares = np.full(k, (1 - 1.6 / k) / (k - 1))
            new_shares[0] = 1.6 / k
        old = rng.choice(k, self.n, p=shares)
        new = rng.choice(k, self.m, p=new_shares)
        fitted = self.model().fit(rng.normal(size=(self.n, k)) + means[old], old)
        rows = rng.normal(size=(self.m, k)) + means[new]
        return {"prior shift": is_alarm(sf.diagnostics.adapt_priors(fitted, rows)[1].p_value)}
