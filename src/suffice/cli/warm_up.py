"""``suffice warm-up``: compile ahead, when an image is built or a service is installed."""

from collections.abc import Iterator
from typing import Any

from suffice.cli.command import subcommand
from suffice.cli.terminal import Terminal

_ROWS = 30_000  # so many that no part takes the way of small data


@subcommand("warm-up", "suffice warm-up", "NUMBA_CACHE_DIR=/opt/cache suffice warm-up")
def command(terminal: Terminal, /) -> None:
    """Compile all that later commands need, and keep it.

    The code is kept beside the package, in the user's cache folder, or in NUMBA_CACHE_DIR, which
    later commands must be given as well.
    """
    from suffice import compiled
    from suffice.threads import usable_cores

    with terminal.working("compiling"):
        for step in _steps():
            step()
    n = sum(len(kernel.signatures) for kernel in compiled.KERNELS)
    document = {"functions": len(compiled.KERNELS), "compiled": n, "cores": usable_cores()}
    terminal.result(document, f"{n} functions are compiled and kept")


def _steps() -> Iterator[Any]:
    """Yield everyday work on rows of every layout: sums, models, and their answers."""
    import numpy as np

    import suffice as sf

    rng = np.random.default_rng(0)
    y, weights = np.arange(_ROWS) % 3, rng.uniform(1, 2, _ROWS)
    plain = rng.normal(size=(_ROWS, 4)) + y[:, None]
    for x in (plain, np.asfortranarray(plain), plain.astype(np.float32)):
        for storage in ("per-class", "pooled", "diagonal"):
            for weight in (None, weights):
                yield lambda x=x, s=storage, w=weight: sf.Moments.of(x, y, w, storage=s)
        for kind in (sf.LDA, sf.QDA, sf.GaussianNB):
            yield lambda x=x, kind=kind: _asked(kind().fit(x, y), x)
    for x in (plain, np.asfortranarray(plain)):
        for model in (sf.LogisticRegression(), sf.Perceptron(max_iter=5)):
            yield lambda x=x, model=model: _asked(model.fit(x, y), x)
            yield lambda x=x, model=model: _asked(model.fit(x, y > 0), x)


def _asked(fitted: Any, x: Any) -> None:
    """Ask for every kind of answer that a model has."""
    for verb in ("predict", "predict_proba", "predict_log_proba", "log_density"):
        if hasattr(fitted, verb):
            getattr(fitted, verb)(x)
