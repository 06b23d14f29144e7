"""``suffice fit``: rows or sums to a saved model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli import models
from suffice.cli.command import subcommand
from suffice.cli.options import learning_data, output
from suffice.cli.terminal import Terminal
from suffice.errors import MissingStatisticsError

if TYPE_CHECKING:
    from suffice.cli.data import Data


@subcommand(
    "fit",
    "suffice fit iris -o iris.suffice",
    "suffice fit iris --model qda --shrinkage 0.1 --prior uniform -o iris.suffice",
    "suffice fit all.moments --model nb -o nb.suffice",
    "suffice fit penguins --model auto -o penguins.suffice",
    "suffice fit wine -m gaussian --shrinkage 0.2 --set target=sphere -o wine.suffice",
)
@learning_data
@output("The model file to write.", required=True)
@click.option(
    "-m",
    "--model",
    type=click.Choice(list(models.KINDS)),
    default="lda",
    show_default=True,
    help="Which model.",
)
@click.option("--covariance", metavar="WORD", help="full, diagonal, spherical or an EDDA code.")
@click.option("--tied/--untied", default=None, help="One covariance for all classes, or one each.")
@click.option(
    "--divisor",
    type=click.Choice(["mle", "unbiased"]),
    help="Divide scatter by the weight, or by the weight less one per mean.",
)
@click.option("--pooling", metavar="SHARE", help="A number in [0, 1], or auto.")
@click.option("--shrinkage", metavar="SHARE", help="A number in [0, 1], oas, ledoit-wolf, auto.")
@click.option("--prior", multiple=True, metavar="LABEL=P", help="uniform, or one for every class.")
@click.option("--temperature", metavar="NUMBER", help="Of the posteriors: 1 is Bayes; or auto.")
@click.option("--reject-cost", type=float, help="Cost of giving no label.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any setting, as JSON."
)
def command(
    terminal: Terminal,
    /,
    data: Data,
    output: Path,
    model: str,
    prior: tuple[str, ...],
    settings: tuple[str, ...],
    **said: Any,
) -> None:
    """Fit a classifier and save it.

    DATA may also be a moments file: then no row is read. What is left to "auto" is chosen by
    cross-validation, which needs rows, in memory.
    """
    kind = models.KINDS[model]
    numbers = ("pooling", "shrinkage", "temperature")
    given = {name: value for name, value in said.items() if value is not None}
    given |= {name: models.number_or_word(given[name]) for name in numbers if name in given}
    given |= dict(map(models.setting, settings))
    estimator = kind.build(given)
    classes, fit = _prepared(estimator, data, kind.storage, terminal)
    if prior:
        estimator.set_params(priors=models.priors(prior, classes))
    with terminal.working(f"fitting {type(estimator).__name__}"):
        fitted = fit()
    fitted.save(output)
    _tell(fitted, output, terminal)


def _prepared(
    estimator: Any, data: Data, storage: str, terminal: Terminal
) -> tuple[Any, Callable[[], Any]]:
    """Return the classes and the way to fit: from sums where they suffice, else from rows."""
    if not models.needs_rows(estimator) or data.is_ours:
        fourth = getattr(estimator, "shrinkage", None) == "ledoit-wolf"
        models.refuse_without_rows(estimator, data.name)
        moments = data.sums(terminal, storage=storage, fourth=fourth)
        return moments.classes, partial(estimator.fit_moments, moments)
    from sklearn.utils import get_tags

    takes = get_tags(estimator).input_tags
    rows = data.rows(categories=takes.categorical or takes.string, holes=takes.allow_nan)
    table = rows.table
    weights = {} if table.weight is None else {"sample_weight": table.weight}
    return table.classes, partial(estimator.fit, rows.frame, table.labels, **weights)


def _tell(fitted: Any, output: Path, terminal: Terminal) -> None:
    d = int(fitted.n_features_in_)
    facts = {"model": type(fitted).__name__, "classes": fitted.classes_, "n_features": d}
    rows = ""
    if hasattr(fitted, "moments_"):
        facts["rows"] = int(fitted.moments_.counts.sum())
        rows = f" to {facts['rows']:,} rows"
    if hasattr(fitted, "log_likelihood"):
        with suppress(MissingStatisticsError):  # moments alone do not tell every model's
            facts["log_likelihood"] = fitted.log_likelihood()
    text = f"{fitted} fitted{rows}, {len(fitted.classes_)} classes, {d} features"
    terminal.written(output, text, **facts)
