"""``suffice datasets``, ``lab`` and ``warm-up``: what is there before any data is."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import suffice as sf
from suffice.cli.command import data_argument, output, subcommand
from suffice.cli.terminal import Terminal, write_table

_ROWS = 30_000  # so many that no part takes the way of small data


@subcommand(
    "suffice datasets", "suffice datasets iris -o iris.csv", "suffice datasets penguins"
)
@data_argument("name", required=False)
@output("The file to write; without it CSV goes to standard output.")
def datasets(terminal: Terminal, /, name: str | None, output: Path | None) -> None:
    """List the built-in data sets, or write one."""
    from suffice.data.datasets import DATASETS, load

    if name is not None:
        frame = load(name).frame()
        return write_table(frame.lazy(), output, terminal, frame.height)
    cards = [asdict(card) for card in DATASETS.values()]
    fields = ["name", "n_rows", "n_features", "n_classes", "target", "about"]
    terminal.result({"datasets": cards})
    columns = [field.removeprefix("n_") for field in fields]
    return terminal.table(columns, [[card[field] for field in fields] for card in cards])


@subcommand(
    "suffice lab --save lab.html",
    "suffice lab",
    "suffice lab iris",
    "suffice lab sales.parquet --target churned --no-browser",
)
@data_argument(required=False)
@click.option("-t", "--target", metavar="COLUMN", help="The column of labels.")
@output("Write the page, less what needs Python, and serve nothing.", option="--save")
@click.option("--browser/--no-browser", default=True, help="Open it in a browser (default).")
def lab(
    terminal: Terminal,
    /,
    data: str | None,
    target: str | None,
    save: Path | None,
    *,
    browser: bool,
) -> None:
    """Play with classifiers: paint points, see every model, descend, follow the course."""
    from suffice.persistence.archive import replacing
    from suffice.present.lab import page

    if save is not None:
        if data or target:
            msg = "a page that is saved shows no table: leave DATA and --target out"
            raise click.UsageError(msg)
        with replacing(save) as file:
            file.write(page().encode())
        return terminal.written(save, "the lab; open it in a browser")
    from suffice.present.lab.server import Lab, LabTable, serve

    def opened(address: str) -> None:
        terminal.result({"address": address}, address)
        terminal.note("press Ctrl-C to end")
        if browser:
            click.launch(address)

    try:
        serve(Lab(LabTable.opened(data, target) if data else None), opened)
    except KeyboardInterrupt:
        terminal.note("the lab has ended")


@subcommand("suffice warm-up", "NUMBA_CACHE_DIR=/opt/cache suffice warm-up")
def warm_up(terminal: Terminal, /) -> None:
    """Compile all that later commands need, and keep it.

    The code is kept beside the package, in the user's cache folder, or in NUMBA_CACHE_DIR, which
    later commands must be given as well.
    """
    from suffice.core import compiled
    from suffice.core.threads import usable_cores

    with terminal.working("compiling"):
        _everyday_work()
    functions = compiled.COMPILED_FUNCTIONS
    n = sum(len(function.signatures) for function in functions)
    document = {"functions": len(functions), "compiled": n, "cores": usable_cores()}
    terminal.result(document, f"{n} functions are compiled and kept")


def _everyday_work() -> None:
    """Collect sums, fit models and ask them, on rows of every layout."""
    import numpy as np

    rng = np.random.default_rng(0)
    y, weights = np.arange(_ROWS) % 3, rng.uniform(1, 2, _ROWS)
    plain = rng.normal(size=(_ROWS, 4)) + y[:, None]
    for x in (plain, np.asfortranarray(plain), plain.astype(np.float32)):
        for storage in ("per-class", "pooled", "diagonal"):
            for weight in (None, weights):
                sf.Moments.of(x, y, weight, storage=storage)
        for kind in (sf.LDA, sf.QDA, sf.GaussianNB):
            _ask(kind().fit(x, y), x)
    for x in (plain, np.asfortranarray(plain)):
        for model in (sf.LogisticRegression(), sf.Perceptron(max_iter=5)):
            _ask(model.fit(x, y), x)
            _ask(model.fit(x, y > 0), x)


def _ask(fitted: Any, x: Any) -> None:
    """Ask for every kind of answer that a model has."""
    for verb in ("predict", "predict_proba", "predict_log_proba", "log_density"):
        if hasattr(fitted, verb):
            getattr(fitted, verb)(x)
