"""What a model assumes of its classes: normality, one covariance, means, its own draws."""

from collections.abc import Iterator

import numpy as np

import suffice as sf
from benchmarks.levels.case import CONTINUOUS, DRAWS, Case, Finding, is_alarm
from suffice.data.density_threshold import fitted_row_threshold, outlier_threshold

NORMALITY_SIZES = (
    (25, 1),
    (25, 3),
    (40, 10),
    (60, 30),
    (150, 8),
    (400, 20),
    (1500, 5),
    (300, 50),
)
CLASS_SIZES = ((40, 2, 2), (60, 1, 2), (90, 4, 3), (300, 12, 3), (800, 3, 8))
NORMAL = ("normal", "correlated normal")
HEAVY_TAILED = ("log-normal", "t3", "contaminated normal")
EFFECT = "one class: twice the spread, mean by 1 standard deviation"


def cases() -> Iterator[Case]:
    yield from _class_cases()
    yield from _model_cases()


def _class_cases() -> Iterator[Case]:
    for n, d in NORMALITY_SIZES:
        for n_classes in (1, 3):
            setting = f"{n} rows a class, d = {d}, K = {n_classes}"
            yield Case(setting, n, "gamma(2) columns", _Normal(n, d, n_classes).findings)
    for n, d, k in CLASS_SIZES:
        for name in CONTINUOUS:
            setting = f"{name}, n = {n}, d = {d}, K = {k}"
            findings = _Classes(name, n, d, k).findings
            yield Case(setting, n // k, EFFECT, findings)


def _model_cases() -> Iterator[Case]:
    for n, d in ((60, 2), (60, 6), (300, 4)):
        for model in (sf.QDA, sf.LDA, sf.GaussianNB):
            setting = f"{model.__name__}, n = {n}, d = {d}"
            yield Case(setting, n, "Laplace columns", _OwnDraws(model, n, d).findings, True)
    for n, d in ((60, 2), (60, 8), (200, 12), (1000, 20)):
        for model in (sf.LDA, sf.QDA):
            setting = f"{model.__name__}, n = {n}, d = {d}"
            yield Case(
                setting, n, "row 5 standard deviations away", _Far(model, n, d).findings
            )


class _Normal:
    def __init__(self, n: int, d: int, k: int):
        self.n = n
        self.d = d
        self.k = k

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        shape = (self.n * self.k, self.d)
        x = rng.gamma(2, size=shape) if has_effect else DRAWS["correlated normal"](rng, shape)
        found = sf.diagnostics.normality(x, np.arange(len(x)) % self.k)
        return {"normality": is_alarm(found.p_value)}


class _Classes:
    def __init__(self, name: str, n: int, d: int, k: int):
        self.name = name  # of the shape
        self.n = n
        self.d = d
        self.k = k

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        x = DRAWS[self.name](rng, (self.n, self.d))
        y = np.arange(self.n) % self.k
        spread = x.copy()
        moved = x.copy()
        if has_effect:
            spread[y == 0] *= 2
            moved[y == 0] += x.std(0)
        box = sf.diagnostics.box_m(sf.Moments.of(spread, y, fourth=True))
        wilks = sf.diagnostics.class_separation(sf.Moments.of(moved, y))
        # with heavy tails the result says that its level is at most 5 %
        heavy = ", heavy tails" if self.name in HEAVY_TAILED else ""
        findings = {
            f"Box's M{heavy}": is_alarm(box.p_value),
            "Wilks' lambda": is_alarm(wilks.p_value),
        }
        if self.name in NORMAL:
            # these assume normal classes
            findings["Box's M without fourth moments"] = is_alarm(box.cumulants.p_value)
            findings["Box's M by χ²"] = is_alarm(box.chi_square.p_value)
            if not has_effect:
                excess = box.log_det_excess[0]
                half = 2 * box.log_det_errors[0]
                findings["bar of a log determinant"] = not -half <= excess <= half
        return findings


class _OwnDraws:
    """The predictive check, whose null distribution is simulated."""

    def __init__(self, model: type, n: int, d: int):
        self.model = model
        self.n = n
        self.d = d

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        shape = (self.n, self.d)
        x = rng.laplace(size=shape) if has_effect else rng.normal(size=shape)
        y = np.arange(self.n) % 2
        x[y == 0] += 1.0
        seed = int(rng.integers(2**31))
        found = sf.diagnostics.predictive_check(
            self.model().fit(x, y), x, y, simulations=39, random_state=seed
        )
        row = found.rows()[int(rng.integers(len(found.rows())))]
        findings: dict[str, Finding] = {
            "predictive check": is_alarm(found.p_value),
            "predictive check, one class and feature": is_alarm(row["p_value"]),
        }
        if not has_effect:
            # one quantile of one class, drawn at random
            k = int(rng.integers(found.quantiles.shape[1]))
            q = int(rng.integers(found.quantiles.shape[2]))
            low, high = found.envelope[:, k, q]
            findings["band of the chart of distances"] = (
                not low <= found.quantiles[0, k, q] <= high
            )
        return findings


class _Far:
    """Rows of the same population flagged as outliers, at a stated rate of 5 %."""

    def __init__(self, model: type, n: int, d: int):
        self.model = model
        self.n = n
        self.d = d

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        y = np.arange(self.n) % 2
        x = rng.normal(size=(self.n, self.d)) + y[:, None]
        fitted = self.model().fit(x, y)
        row = rng.normal(size=(1, self.d)) + int(rng.integers(2))
        if has_effect:
            row[0, 0] += 5.0
        density = fitted.model_.log_density(row)[0]
        findings: dict[str, Finding] = {
            "outlier at a rate of 5 %": bool(density < outlier_threshold(fitted.model_, 0.05))
        }
        if not has_effect:
            of_fit = fitted.model_.log_density(x[:1])[0]
            threshold = fitted_row_threshold(fitted.model_, 0.05)
            findings["outlier of the report at a rate of 5 %"] = bool(of_fit < threshold)
        return findings
