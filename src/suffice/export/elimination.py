"""Stages of a query that integrate missing features out of a full covariance.

The last stage has a column r for each class, g_mᵀ P_mm⁻¹ g_m, which is subtracted from Δ². It also
has a column l for each covariance, log|P_mm|. ``Marginal`` gives the equations.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from suffice.export.dialect import Stage, added, double, product, square
from suffice.export.marginal import Marginal
from suffice.export.reading import ColumnReading

_FAR = "1e150"  # farthest value whose square does not overflow


def any_missing(
    number: int,
    marginal: Marginal,
    features: Sequence[int],
    reading: ColumnReading,
) -> Iterator[Stage]:
    """Yield P x, then one step of Gaussian elimination for each feature that may be missing.

    A step changes only the rows in which the feature is missing. ``number`` distinguishes the
    columns of several covariances.
    """
    precision = marginal.precision
    classes = marginal.classes.tolist()
    lower_half = [(i, j) for i in features for j in features if i >= j]
    later_features = {j: [i for i in features if i > j] for j in features}
    p = {(i, j): reading.dialect.as_double(precision[i, j]) for i, j in lower_half}
    # g = P x − P μ for each class
    g = {}
    for k, pull in zip(classes, marginal.pulls, strict=True):
        g.update({(k, j): f"(q{number}_{j} - {double(pull[j])})" for j in features})
    r = dict.fromkeys(classes, "0e0")
    log_det = "0e0"
    yield {f"q{number}_{j}": product(precision[j]) for j in features}
    for j in features:
        flag = reading.flags[j]
        pivot = p[j, j]
        stage = {}
        # P ← P − p pᵀ / p_j  with p = P_:j
        for a, b in lower_half:
            if b > j:
                step = f"{p[a, j]} * {p[b, j]} / {pivot}"
                stage[f"p{number}_{a}_{b}"] = f"{p[a, b]} - {_if_missing(flag, step)}"
        for k in classes:
            # g ← g − p g_j / p_j
            for i in later_features[j]:
                step = f"{p[i, j]} * ({g[k, j]} / {pivot})"
                stage[f"g{k}_{i}"] = f"{g[k, i]} - {_if_missing(flag, step)}"
            # r ← r + g_j² / p_j
            stage[f"r{k}"] = (
                f"CASE WHEN {flag} = 0 THEN {r[k]} WHEN ABS({g[k, j]}) < {_FAR} "
                f"THEN {r[k]} + {square(g[k, j])} / {pivot} END"
            )
        # log|P_mm| ← log|P_mm| + log p_j
        stage[f"l{number}"] = f"{log_det} + {_if_missing(flag, f'LN({pivot})')}"
        yield stage
        # the next step reads the columns of this stage
        p = {(a, b): f"p{number}_{a}_{b}" for a, b in p}
        g = {(k, i): f"g{k}_{i}" for k, i in g}
        r = {k: f"r{k}" for k in classes}
        log_det = f"l{number}"


def _if_missing(flag: str | None, value: str) -> str:
    return f"CASE WHEN {flag} = 1 THEN {value} ELSE 0e0 END"


def one_missing(
    number: int, marginal: Marginal, flags: Sequence[str | None]
) -> Iterator[Stage]:
    """Yield linear forms y, then r and l, which are NULL if more than one column is missing.

    For each column, the block of P for the case that it is missing is inverted in advance.
    """
    precision = marginal.precision
    columns = [flag for flag in dict.fromkeys(flags) if flag]
    forms: Stage = {}
    drop_cases: dict[int, list[str]] = {k: [] for k in marginal.classes.tolist()}
    log_det_cases = []
    for flag in columns:
        block = [j for j, other in enumerate(flags) if other == flag]
        factor = np.linalg.cholesky(precision[np.ix_(block, block)])
        # g_mᵀ P_mm⁻¹ g_m = |L⁻¹ (P x)_m − L⁻¹ (P μ)_m|²,  P_mm = L Lᵀ
        names = [f"y{number}_{j}" for j in block]
        for y, weights in zip(names, np.linalg.solve(factor, precision[block]), strict=True):
            forms[y] = product(weights)
        is_near = " AND ".join(f"ABS({y}) < {_FAR}" for y in names)
        pulls = np.linalg.solve(factor, marginal.pulls.T[block]).T
        for cases, pull in zip(drop_cases.values(), pulls, strict=True):
            squares = []
            for y, value in zip(names, pull, strict=True):
                squares.append(square(f"({y} - {double(value)})"))
            drop = f"CASE WHEN {is_near} THEN {added(squares)} END"
            cases.append(f"WHEN {flag} = 1 THEN {drop}")
        log_det = 2 * float(np.log(np.diagonal(factor)).sum())
        log_det_cases.append(f"WHEN {flag} = 1 THEN {double(log_det)}")
    yield forms
    several = f"WHEN {added(columns)} > 1 THEN NULL"
    stage = {}
    for k, cases in drop_cases.items():
        stage[f"r{k}"] = f"CASE {several} {' '.join(cases)} ELSE 0e0 END"
    stage[f"l{number}"] = f"CASE {several} {' '.join(log_det_cases)} ELSE 0e0 END"
    yield stage
