"""Levels: how often each test raises an alarm where nothing happened, and where something did.

``python -m benchmarks levels [--only NAME] [--repeats N] [--seed N] [--tables FOLDER ...]``: a row
for each test and setting, with the share of p ≤ 0.05 under the null and under a stated effect. A
test that is silent raises no alarm. With ``--tables``, two random halves of each CSV (header row,
last column the target) and of scikit-learn's tables are compared by ``suffice.diagnostics.drift``.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import suffice as sf
from benchmarks.timing import table
from suffice.core.decision.predictions import wilson
from suffice.data.predict import outlier_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEVEL = 0.05
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "log-normal": lambda rng, shape: rng.lognormal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
    "rare 0/1": lambda rng, shape: (rng.random(shape) < 0.02).astype(float),
}


@dataclass(frozen=True)
class Case:
    """One test in one setting, and whether it raises an alarm with the effect or without it."""

    test: str
    setting: str
    effect: str
    alarm: Callable[[np.random.Generator, bool], bool]


def cases() -> Iterator[Case]:
    """Yield every test, interval and alarm with its settings."""
    yield from _drift_cases()
    yield from _mixed_drift_cases()
    yield from _prior_cases()
    yield from _normality_cases()
    yield from _class_cases()
    yield from _prediction_cases()


def _drift_cases() -> Iterator[Case]:
    sizes = ((500, 30, 5), (2000, 100, 20), (500, 500, 5), (50, 20, 5), (100, 100, 1))
    for n, m, d in (*sizes, (5000, 500, 50)):
        for name, draw in DISTRIBUTIONS.items():

            def moved(rng, has_effect, draw=draw, n=n, m=m, d=d):
                old = draw(rng, (n, d))
                new = draw(rng, (m, d))
                if has_effect:
                    new[:, 0] += old[:, 0].std()
                fitted = sf.LDA().fit(old, rng.integers(0, 2, n))
                return bool(sf.diagnostics.drift(fitted, new).moved)

            def together(rng, has_effect, draw=draw, n=n, m=m, d=d):
                old = draw(rng, (n, d))
                new = draw(rng, (m, d))
                if has_effect:
                    new[:, 0] += old[:, 0].std()
                fitted = sf.LDA().fit(old, rng.integers(0, 2, n))
                return sf.diagnostics.drift(fitted, new).p_value <= LEVEL

            setting = f"{name}, {n} fitted, {m} new, d = {d}"
            effect = "one column by 1 standard deviation"
            yield Case("drift, any column", setting, effect, moved)
            yield Case("drift, all together", setting, effect, together)


def _mixed_drift_cases() -> Iterator[Case]:
    def frame(rng, n):
        numbers = pd.DataFrame(rng.exponential(size=(n, 3)), columns=list("abc"))
        numbers = numbers.mask(rng.random((n, 3)) < 0.1)
        return numbers.assign(
            rare=np.where(rng.random(n) < 0.03, "yes", "no"),
            level=rng.choice(list("uvwxyz"), n, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02]),
        )

    def alarm_of(model, n, m, *, weighted):
        def alarm(rng, has_effect):
            old = frame(rng, n)
            new = frame(rng, m)
            if has_effect:
                new["a"] += 1.0
            weight = rng.integers(1, 4, n).astype(float) if weighted else None
            fitted = model().fit(old, rng.integers(0, 2, n), sample_weight=weight)
            return bool(sf.diagnostics.drift(fitted, new).moved)

        return alarm

    for n, m in ((500, 30), (1000, 500)):
        setting = f"numbers with missing cells and categories, {n} fitted, {m} new"
        effect = "one column by 1 standard deviation"
        for name, model in (("LDA", sf.LDA), ("naive Bayes", sf.GaussianNB)):
            yield Case(
                "drift, any column",
                f"{setting}, {name}",
                effect,
                alarm_of(model, n, m, weighted=False),
            )
        weights = f"{setting}, weights 1 to 3"
        yield Case("drift, any column", weights, effect, alarm_of(sf.LDA, n, m, weighted=True))


def _prior_cases() -> Iterator[Case]:
    for n, m in ((200, 2000), (500, 500), (5000, 5000)):
        for k in (3, 10):
            priors = np.full(k, 0.8 / (k - 1))
            priors[0] = 0.2

            def alarm(rng, has_effect, n=n, m=m, k=k, priors=priors):
                means = 2 * np.eye(k)
                old = rng.integers(0, k, n)
                new = rng.choice(k, m, p=priors) if has_effect else rng.integers(0, k, m)
                fitted = sf.LDA().fit(rng.normal(size=(n, k)) + means[old], old)
                rows = rng.normal(size=(m, k)) + means[new]
                return sf.diagnostics.adapt_priors(fitted, rows)[1].p_value <= LEVEL

            setting = f"K = {k}, {n} fitted, {m} new"
            yield Case("prior shift", setting, f"prior of one class {1 / k:.2g} to 0.2", alarm)


def _normality_cases() -> Iterator[Case]:
    for n, d in (
        (20, 1),
        (22, 20),
        (30, 20),
        (20, 13),
        (48, 13),
        (100, 5),
        (100, 50),
        (500, 50),
    ):

        def alarm(rng, has_effect, n=n, d=d):
            x = rng.exponential(size=(n, d)) if has_effect else rng.normal(size=(n, d))
            return sf.diagnostics.normality(x, np.zeros(n, int)).p_value <= LEVEL

        yield Case("normality", f"n = {n}, d = {d}", "exponential columns", alarm)


def _class_cases() -> Iterator[Case]:
    for n, d, k in ((20, 1, 2), (60, 5, 3), (200, 20, 4), (1000, 5, 10)):
        for name in ("normal", "uniform", "exponential", "log-normal", "t3"):
            draw = DISTRIBUTIONS[name]

            def rows(rng, draw=draw, n=n, d=d, k=k):
                return draw(rng, (n, d)), np.arange(n) % k

            def box(rng, has_effect, rows=rows):
                x, y = rows(rng)
                if has_effect:
                    x[y == 0] *= 2
                return sf.diagnostics.box_m(sf.Moments.of(x, y, fourth=True)).p_value <= LEVEL

            def wilks(rng, has_effect, rows=rows):
                x, y = rows(rng)
                if has_effect:
                    x[y == 0] += x.std(0)
                return sf.diagnostics.class_separation(sf.Moments.of(x, y)).p_value <= LEVEL

            setting = f"{name}, n = {n}, d = {d}, K = {k}"
            yield Case("Box's M", setting, "one class with twice the spread", box)
            yield Case("Wilks' lambda", setting, "one mean by 1 standard deviation", wilks)


def _prediction_cases() -> Iterator[Case]:
    for n in (30, 200, 2000):

        def calibration(rng, has_effect, n=n):
            p = rng.uniform(0.5, 1.0, n)
            stated = np.sqrt(p) if has_effect else p
            y = (rng.random(n) < p).astype(int)
            posteriors = np.stack([1 - stated, stated], axis=1)
            found = sf.diagnostics.calibration(y, posteriors, [0, 1], simulations=199)
            return found.p_value <= LEVEL

        yield Case("calibration", f"n = {n}", "√p stated instead of p", calibration)

        def interval(rng, has_effect, n=n):
            share = rng.binomial(n, 0.15) / n
            low, high = wilson(np.array([share]), np.array([n]))
            truth = 0.3 if has_effect else 0.15
            return not low[0] <= truth <= high[0]

        yield Case("interval of an error", f"n = {n}, error 15 %", "error 30 %", interval)
    for n, d in ((60, 3), (200, 10), (2000, 10)):

        def outlier(rng, has_effect, n=n, d=d):
            y = np.arange(n) % 2
            classifier = sf.LDA().fit(rng.normal(size=(n, d)) + y[:, None], y).model_
            rows = rng.normal(size=(1, d)) + (4.0 if has_effect else 0.0)
            density = classifier.log_density(rows)[0]
            return bool(density < outlier_threshold(classifier, LEVEL))

        yield Case("outlier at a rate of 5 %", f"n = {n}, d = {d}", "row 4 σ away", outlier)
    for n in (40, 100):

        def predictive(rng, has_effect, n=n):
            y = np.arange(n) % 2
            x = rng.exponential(size=(n, 3)) if has_effect else rng.normal(size=(n, 3))
            fitted = sf.QDA().fit(x, y)
            return (
                sf.diagnostics.predictive_check(fitted, x, y, simulations=39).p_value <= LEVEL
            )

        yield Case("predictive check", f"n = {n}, d = 3", "exponential columns", predictive)


def rate(case: Case, repeats: int, seed: int, *, has_effect: bool) -> float:
    """Return the share of alarms in so many repeats."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.mean([case.alarm(rng, has_effect) for _ in range(repeats)]))


def tables_of(folders: list[Path]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the columns of every CSV but its target, and scikit-learn's tables."""
    from sklearn import datasets

    for folder in folders:
        for path in sorted(folder.glob("*.csv")):
            frame = pd.read_csv(path)
            yield path.stem, frame.iloc[:, :-1]
    for load in (datasets.load_breast_cancer, datasets.load_digits, datasets.load_diabetes):
        yield load.__name__.removeprefix("load_"), load(as_frame=True).data


def real_tables(folders: list[Path], seed: int) -> None:
    """Print the alarms of drift on random halves, and with one number shifted."""
    rows = []
    for name, frame in tables_of(folders):
        rng = np.random.default_rng(seed)
        order = rng.permutation(min(len(frame), 20_000))
        half = len(order) // 2
        old = frame.iloc[order[:half]].reset_index(drop=True)
        new = frame.iloc[order[half:]].reset_index(drop=True)
        labels = np.arange(half) % 2
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = sf.LDA(shrinkage=0.5).fit(old, labels)
                moved = sf.diagnostics.drift(fitted, new).moved
                shifted, column = _shifted(new[:500], old)
                named = column in sf.diagnostics.drift(fitted, shifted).moved
        except (ValueError, TypeError) as error:
            print(f"{name}: {error}")
            continue
        rows.append(
            {
                "table": name,
                "rows": len(frame),
                "columns": frame.shape[1],
                "alarm": ", ".join(moved) or "none",
                "shifted": column,
                "named": named,
            }
        )
    print(table(rows))
    print(
        f"\n{sum(row['alarm'] != 'none' for row in rows)} alarms on halves of {len(rows)} "
        f"tables; the shifted column was named in {sum(row['named'] for row in rows)}"
    )


def _shifted(new: pd.DataFrame, old: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return rows whose number of most distinct values is half a standard deviation larger."""
    numbers = old.select_dtypes("number")
    column = str(numbers.nunique().idxmax())
    shifted = new[column] + 0.5 * old[column].std()
    return new.assign(**{column: shifted}), column


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks levels")
    parser.add_argument("--only", default="", help="tests and settings that contain this text")
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", type=Path, nargs="*", help="folders of CSV files")
    options = parser.parse_args(arguments)
    if options.tables is not None:
        real_tables(options.tables, options.seed)
        return
    print("| test | setting | alarms without effect | effect | alarms with it |")
    print("|---|---|---|---|---|")
    for case in cases():
        if options.only not in f"{case.test}, {case.setting}":
            continue
        null = rate(case, options.repeats, options.seed, has_effect=False)
        power = rate(case, options.repeats // 4, options.seed + 1, has_effect=True)
        line = f"| {case.test} | {case.setting} | {null:.3f} | {case.effect} | {power:.2f} |"
        print(line, flush=True)
