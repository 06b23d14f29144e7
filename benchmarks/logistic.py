"""Logistic regression to the same optimum: ours, scikit-learn's solvers, glum, and the hardware.

``python -m benchmarks logistic [quick] [one-core] [no-sag]``: every fit is unpenalised maximum
likelihood to a gradient of 1e-6; gradient (greatest mean component) and log-loss of what each
returned are computed by one and the same code. Slow fits run once, quick ones take turns, the best
counts. ``one-core`` gives every fit one core and counts processor seconds, which a busy machine
hardly changes.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.linear_model import LogisticRegression as Sklearn
from threadpoolctl import threadpool_limits

from benchmarks.timing import best_of, machine, table
from suffice.core.moments import Moments
from suffice.core.table.table import Table
from suffice.discriminative.logistic_loss import against_first
from suffice.discriminative.newton import Newton
from suffice.discriminative.problem import Problem
from suffice.discriminative.starts import lda_start, zero_start
from suffice.estimators.logistic import LogisticRegression

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(1_000_000, 50, 2), (100_000, 200, 2), (200_000, 50, 10)]
TOL = 1e-6
OTHERS = ("lbfgs", "newton-cholesky", "sag", "glum")


def main(arguments: list[str]) -> None:
    shrink = 10 if "quick" in arguments else 1
    others = [solver for solver in OTHERS if f"no-{solver}" not in arguments]
    clock = _one_core() if "one-core" in arguments else time.perf_counter
    seconds = "processor seconds of one core" if "one-core" in arguments else "seconds"
    print(f"# logistic ({machine()}), {seconds}, tol {TOL:g}, l2 = 0\n")
    for n, d, k in SHAPES:
        x, y = rows(n // shrink, d, k)
        labelled = Table.of(x, y)
        judge = Problem.of(labelled, Moments.of_table(labelled, fourth=False), l2=0.0)
        print(f"## {len(x):.0e} × {d}, {k} classes\n")
        print(table(_fits(x, y, _fits_of_others(k, others), judge, clock)), "\n")
        print(table([_one_step(x, judge, clock)]), "\n")


def _one_core() -> Callable[[], float]:
    """Keep this process to one core; return the clock of its work."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    threadpool_limits(1)
    return time.process_time


def rows(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated features, a third of them skewed, in unit scale, and softmax labels."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) * np.logspace(0, -1.5, d)).T
    skew = x[:, : d // 3]
    skew[:] = np.exp(0.7 * skew / skew.std(0))
    x = (x - x.mean(0)) / x.std(0)
    w = rng.normal(size=(k, d))
    scores = x @ (w - w.mean(0)).T
    scores *= 2 / scores.std()
    scores += rng.normal(size=k) / 2 + rng.gumbel(size=scores.shape)
    return x, scores.argmax(1)


def _fits(
    x: np.ndarray,
    y: np.ndarray,
    others: dict,
    judge: Problem,
    clock: Callable[[], float],
) -> list[dict]:
    ours = LogisticRegression(l2=0, tol=TOL)
    seconds = best_of({"suffice": lambda: ours.fit(x, y)}, rounds=5, clock=clock)
    answers = {"suffice": (np.column_stack([ours.intercept_, ours.coef_]), ours.n_iter_)}
    for name, fit in others.items():
        start = clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers[name] = fit(x, y)
        seconds[name] = clock() - start
        if seconds[name] < 10:
            both = {"suffice": lambda: ours.fit(x, y), name: lambda f=fit: f(x, y)}
            again = best_of(both, 2, clock=clock)
            seconds = {key: min(s, again.get(key, s)) for key, s in seconds.items()}
    return [_row(name, *answers[name], seconds, judge) for name in answers]


def _fits_of_others(k: int, others: list[str]) -> dict:
    fits = {
        f"scikit-learn {solver}": lambda x, y, s=solver: _sklearn(x, y, s)
        for solver in others
        if solver != "glum"
    }
    return fits | ({"glum": _glum} if k == 2 and "glum" in others else {})


def _sklearn(x: np.ndarray, y: np.ndarray, solver: str) -> tuple[np.ndarray, int]:
    # sag has no end near 1e-6: it is stopped after 30 passes
    fit = Sklearn(solver=solver, C=np.inf, tol=TOL, max_iter=30 if solver == "sag" else 1000)
    fit.fit(x, y)
    return np.column_stack([fit.intercept_, fit.coef_]), int(np.max(fit.n_iter_))


def _glum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, int]:
    from glum import GeneralizedLinearRegressor

    fit = GeneralizedLinearRegressor(family="binomial", alpha=0, gradient_tol=TOL)
    fit.fit(x, y.astype(float))
    return np.concatenate([[fit.intercept_], fit.coef_])[None], int(fit.n_iter_)


def _row(
    name: str,
    beta: np.ndarray,
    n_iter: int,
    seconds: dict[str, float],
    judge: Problem,
) -> dict:
    objective = judge.objective
    point = objective.evaluate(judge.scaling.from_original(against_first(beta)))
    return {
        "fit": name,
        "seconds": seconds[name],
        "times ours": round(seconds[name] / seconds["suffice"], 1),
        "iterations": n_iter,
        "gradient": objective.gradient_norm(point),
        "log-loss": f"{point.misfit / objective.design.total_weight:.12f}",
    }


def _one_step(x: np.ndarray, judge: Problem, clock: Callable[[], float]) -> dict:
    start, solve = lda_start(judge), Newton().solve
    seconds = best_of(
        {
            "syrk": lambda: dsyrk(1.0, x.T, lower=1),
            "gradient": lambda: judge.objective.evaluate(start),
            "Hessian": lambda: judge.objective.curve(start),
        },
        rounds=4,
        clock=clock,
    )
    steps = {
        f"Newton steps from {first.__name__.removesuffix('_start')}": solve(
            judge, first(judge), Newton.default
        ).n_iter
        for first in (lda_start, zero_start)
    }
    c = judge.objective.shape[0]
    ratio = seconds["Hessian"] / (seconds["syrk"] * c * (c + 1) / 2)
    return {
        "syrk s": seconds["syrk"],
        "gradient pass s": seconds["gradient"],
        "Hessian pass s": seconds["Hessian"],
        "Hessian / (syrk × blocks)": round(ratio, 2),
        **steps,
    }
