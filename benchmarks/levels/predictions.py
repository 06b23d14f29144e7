"""What is said of predictions: calibration, intervals of shares, sets of classes, coefficients."""

from collections.abc import Iterator

import numpy as np

import suffice as sf
from benchmarks.levels.case import Case, Finding, Range, is_alarm
from suffice.core.decision.error_intervals import effective_rows, wilson
from suffice.evaluate.curves.reliability import reliability
from suffice.evaluate.diagnostics.data import data_checks

LEAST_IN_BIN = 5  # rows


def cases() -> Iterator[Case]:
    yield from _share_cases()
    yield from _other_cases()


def _share_cases() -> Iterator[Case]:
    for n, k in ((40, 2), (40, 4), (250, 3), (3000, 2)):
        for weighted in (False, True):
            kind = ", weighted rows" if weighted else ""
            found = _Stated(n, k, weighted).findings
            yield Case(f"n = {n}, K = {k}{kind}", n, "√p stated instead of p", found)
    for n in (40, 150, 1000):
        for error in (0.03, 0.25):
            for kind in ("rows", "weighted rows", "groups of 5 rows"):
                findings = _Share(n, error, kind).findings
                yield Case(f"{n} {kind}, error {100 * error:.0f} %", n, "", findings)


def _other_cases() -> Iterator[Case]:
    for n, k in ((50, 2), (200, 3), (1000, 3)):
        yield Case(f"n = {n}, K = {k}, 95 % asked", n, "", _Sets(n, k).findings)
    for d, k in ((2, 3), (6, 5), (12, 2)):
        setting = f"QDA, d = {d}, K = {k}, 2000 rows drawn"
        yield Case(setting, 2000, "", _Simulated(d, k, 2000).findings)
    for n, d in ((60, 2), (200, 3), (1000, 5)):
        findings = _Coefficients(n, d).findings
        yield Case(f"logistic regression, n = {n}, d = {d}", n, "coefficient 0.7", findings)
    for n, d in ((25, 10), (25, 100), (100, 30)):
        yield Case(
            f"n = {n}, d = {d}", n, "a column that is the class", _Checks(n, d).findings
        )
    for n, d, n_rare in ((20, 10, 1), (40, 30, 4), (100, 30, 3)):
        setting = f"n = {n}, d = {d}, {n_rare} of one class"
        found = _Checks(n, d, n_rare).findings
        yield Case(setting, n, "a column that is the class", found)


class _Stated:
    def __init__(self, n: int, k: int, weighted: bool):
        self.n = n
        self.k = k
        self.weighted = weighted

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        p = rng.dirichlet(np.full(self.k, 0.7), self.n)
        p = np.maximum(p, 1e-9)
        p /= p.sum(1, keepdims=True)
        y = np.array([rng.choice(self.k, p=row) for row in p])
        stated = p
        if has_effect:
            # overconfident: the odds squared
            stated = p**2 / (p**2).sum(1, keepdims=True)
        seed = int(rng.integers(2**31))
        weight = rng.gamma(2, size=self.n) if self.weighted else None
        calibrated = sf.diagnostics.calibration(
            y,
            stated,
            np.arange(self.k),
            sample_weight=weight,
            simulations=199,
            random_state=seed,
        )
        findings: dict[str, Finding] = {"calibration": is_alarm(calibrated.p_value)}
        happened = y == stated.argmax(1)
        bins = reliability(happened, stated.max(1), weight, bins=5, equal_counts=True)
        if not has_effect:
            # the bar of one bin, drawn at random, covers the mean probability of its rows
            b = int(rng.integers(len(bins.low)))
            findings["bar of a calibration chart"] = (
                bool(bins.low[b] <= bins.stated[b] <= bins.high[b]) is False
            )
            # sf.plot draws bins of equal widths; those with few rows are skipped here
            bins = reliability(happened, stated.max(1), weight)
            filled = np.flatnonzero(bins.counts >= LEAST_IN_BIN)
            b = int(rng.choice(filled))
            findings["bar of a calibration chart, bins of equal widths"] = (
                not bins.low[b] <= bins.stated[b] <= bins.high[b]
            )
        return findings


class _Share:
    """Wilson's interval of an error, as ``select`` and reports of new rows state it."""

    def __init__(self, n: int, error: float, kind: str):
        self.n = n
        self.error = error
        self.kind = kind

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        weights = np.ones(self.n)
        wrong = (rng.random(self.n) < self.error).astype(float)
        grouped = self.kind.startswith("groups")
        if self.kind == "weighted rows":
            weights = rng.gamma(2, size=self.n)
        if grouped:
            n_groups = self.n // 5
            # errors of a group vary:  Beta(a, b) of mean error and correlation 0.2
            a = 4 * self.error
            shares = rng.beta(a, 4 - a, n_groups)
            wrong = rng.binomial(5, shares) / 5
            weights = np.full(n_groups, 5.0)
        share = np.average(wrong, weights=weights)
        n = effective_rows(
            wrong, weights / (1 if grouped else weights.mean()), grouped=grouped
        )
        low, high = wilson(np.asarray(share), np.asarray(n))
        return {"interval of an error": Range(float(low), float(high), self.error)}


class _Sets:
    """Sets of classes that should hold the true one in 95 %."""

    def __init__(self, n: int, k: int):
        self.n = n
        self.k = k

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        means = 1.5 * np.eye(self.k, 4)
        y = rng.integers(0, self.k, self.n)
        held_out = rng.integers(0, self.k, self.n)
        new = rng.integers(0, self.k, 1)
        x = rng.normal(size=(self.n, 4)) + means[y]
        apart = rng.normal(size=(self.n, 4)) + means[held_out]
        row = rng.normal(size=(1, 4)) + means[new]
        fitted = sf.LDA().fit(x, y)
        by_same_rows = fitted.calibrate(x, y).predict_set(row, 0.95).covers(new)
        by_others = fitted.calibrate(apart, held_out, held_out=True).predict_set(row, 0.95)
        return {
            "set of classes, rows of the fit": not bool(by_same_rows[0]),
            "set of classes, rows held out": not bool(by_others.covers(new)[0]),
        }


class _Simulated:
    """The error of a model's own rule, and of another rule, on rows drawn from the model."""

    def __init__(self, d: int, k: int, n_samples: int):
        rng = np.random.default_rng(d)
        y = np.arange(30 * k) % k
        x = rng.normal(size=(30 * k, d)) * (1 + y[:, None] / k) + rng.normal(size=(k, d))[y]
        self.model = sf.QDA().fit(x, y).model_
        self.other = sf.GaussianNB().fit(x, y)
        self.n_samples = n_samples

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        seed = int(rng.integers(2**31))
        bayes = self.model.bayes_error(self.n_samples, random_state=seed)
        other = self.model.true_error(self.other, self.n_samples, random_state=seed)
        findings: dict[str, Finding] = {}
        for name, error in (("Bayes error", bayes), ("true error of a rule", other)):
            half = 2 * error.standard_error
            findings[f"simulated {name}, two standard errors"] = Range(
                error - half, error + half, float(error)
            )
        return findings


class _Coefficients:
    def __init__(self, n: int, d: int):
        self.n = n
        self.d = d

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        beta = np.full(self.d, 0.5)
        beta[0] = 0.7 if has_effect else 0.0
        x = rng.normal(size=(self.n, self.d))
        y = (rng.random(self.n) < 1 / (1 + np.exp(-(x @ beta)))).astype(int)
        fitted = sf.LogisticRegression(l2=0.0).fit(x, y)
        summary = fitted.summary(x, y)
        low, high = summary.odds_intervals
        findings: dict[str, Finding] = {
            "coefficient of logistic regression": is_alarm(float(summary.p_values[0, 1]))
        }
        if not has_effect and self.d > 1:
            findings["interval of an odds ratio"] = Range(
                float(low[0, 2]), float(high[0, 2]), float(np.exp(0.5))
            )
        return findings


class _Checks:
    """Hints at columns that give the class away, or at rows that belong together."""

    def __init__(self, n: int, d: int, n_rare: int | None = None):
        self.n = n
        self.d = d
        self.n_rare = n_rare  # rows of the rarer class, None for classes of random size

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        x = rng.normal(size=(self.n, self.d)).round(2)
        y = rng.integers(0, 2, self.n)
        if self.n_rare is not None:
            y = (np.arange(self.n) < self.n_rare).astype(int)
        if has_effect:
            x[:, 0] = y + 0.01 * rng.normal(size=self.n)
        checks = data_checks(x, y)
        return {"suspicious column or rows": bool(checks.caveats)}
