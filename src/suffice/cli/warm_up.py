"""``suffice warm-up``: compile once, so that later commands start at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import suffice
from suffice.cli.command import subcommand
from suffice.cli.terminal import Terminal

if TYPE_CHECKING:
    from suffice.typing import Array

_ROWS = 30_000  # number of rows that is large enough for the compiled loops


@subcommand("suffice warm-up", "NUMBA_CACHE_DIR=/opt/cache suffice warm-up")
def warm_up(terminal: Terminal, /) -> None:
    """Compile and cache the code that later commands need.

    The code is stored next to the package, in the user's cache folder, or in NUMBA_CACHE_DIR. If
    you set that variable here, set it for later commands, too.
    """
    from suffice.core import compiled
    from suffice.core.threads import usable_cores

    with terminal.working("compiling"):
        _use_everything()
    n_compiled = sum(len(loop.signatures) for loop in compiled.COMPILED_FUNCTIONS)
    document = {
        "functions": len(compiled.COMPILED_FUNCTIONS),
        "compiled": n_compiled,
        "cores": usable_cores(),
    }
    terminal.result(document, f"{n_compiled} functions are compiled and kept")


def _use_everything() -> None:
    """Collect sums, fit models and predict, with rows in every memory layout."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = np.arange(_ROWS) % 3
    weights = rng.uniform(1, 2, _ROWS)
    rows = rng.normal(size=(_ROWS, 4)) + y[:, None]
    by_column = np.asfortranarray(rows)
    for x in (rows, by_column, rows.astype(np.float32)):
        for storage in ("per-class", "pooled", "diagonal"):
            suffice.Moments.of(x, y, storage=storage)
            suffice.Moments.of(x, y, weights, storage=storage)
        for gaussian in (suffice.LDA(), suffice.QDA(), suffice.GaussianNB()):
            _predict_everything(gaussian.fit(x, y), x)
    for x in (rows, by_column):
        for linear in (suffice.LogisticRegression(), suffice.Perceptron(max_iter=5)):
            _predict_everything(linear.fit(x, y), x)
            _predict_everything(linear.fit(x, y > 0), x)


def _predict_everything(fitted: Any, x: Array) -> None:
    fitted.predict(x)
    if hasattr(fitted, "predict_proba"):
        fitted.predict_proba(x)
        fitted.predict_log_proba(x)
    if fitted.model_.has_density:
        fitted.model_.log_density(x)
