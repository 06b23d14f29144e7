"""``suffice report`` and ``compare``: which classifier to use, on a page or in the terminal."""

import importlib
import re
import shlex
import sys
import warnings
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

import suffice
from suffice.cli.command import choice, folds, learning_data, output, seed, several, subcommand
from suffice.cli.data import Data
from suffice.cli.terminal import Terminal, check_figure, write_figure
from suffice.core.text.lists import printable, without_passwords
from suffice.errors import InvalidParameterError
from suffice.selection.processes import helped

ROW = "\0row"  # no column is called so
_LARGE = 1 << 24  # bytes of a file beyond which fits are shared by threads
_HELPFUL = ("suffice.evaluate.comparison.judging", "sklearn.ensemble", "sklearn.svm")


def _start_helpers(data: Data, *, when: bool) -> None:
    """Start processes that will help, so that they import while this one does, and reads rows."""
    path = Path(data.name)
    when = when and not (path.is_file() and path.stat().st_size > _LARGE)
    click.get_current_context().with_resource(helped(*_HELPFUL, when=when))


@subcommand(
    "suffice report iris",
    "suffice report wine --format md -o wine.md",
    "suffice report sales.parquet --target churned -o churn.html",
    "suffice report sales.csv --against this_month.csv",
)
@learning_data
@output("The page to write; by default report-DATA.html. The model is saved beside it.")
@choice(
    "--format", "form", of=["html", "md", "json"], text="By default that of the extension."
)
@folds
@click.option(
    "--against", metavar="NEW", help="New rows: have they moved, is the model right?"
)
@click.option(
    "--fast", is_flag=True, help="A first look: few models, three folds, no simulation."
)
@click.option("--force", is_flag=True, help="Replace a page and a model that are there.")
@seed("Of folds and samples.")
def report(
    terminal: Terminal,
    /,
    data: Data,
    output: Any,
    form: Any,
    against: Any,
    **asked: Any,
) -> None:
    """Write a page that says which classifier to use, how good it is, and why."""
    if output is not None and output.exists() and not asked["force"]:
        msg = f"{output} is there already: name another page, or replace it with --force"
        raise InvalidParameterError(msg)
    _start_helpers(data, when=not asked["fast"])
    from suffice.present.report.build import FORMATS, report_of
    from suffice.present.report.choosing import ReportSettings
    from suffice.present.report.usage import Provenance

    stem = _stem(data.name)
    path = output or Path(f"report-{stem}.{form or 'html'}")
    if (written := form or FORMATS.get(path.suffix.lower())) is None:
        msg = f"{path}: no format has this extension: use .html, .md or .json, or name a --format"
        raise InvalidParameterError(msg)
    model = path.with_name(f"{stem}.suffice")
    if not asked.pop("force"):
        path, model = (_unused(each, terminal) for each in (path, model))
    documented = _documented(data, stem, asked.pop("groups"))
    settings = ReportSettings(**asked, progress=False if terminal.quiet else None)
    typed = click.get_current_context().meta["typed"]
    # the page travels: its files lie in no folder of this machine
    words = [re.sub(r"^(--?[\w-]+=)?[/~].*/", r"\1", word) for word in shlex.split(typed)]
    provenance = Provenance(without_passwords(shlex.join(words)), model.name, settings.seed)
    new = None if against is None else _new_rows(against, data, documented)
    made = report_of(documented, settings, provenance, new)
    if kept := hasattr(made.estimator, "save"):
        made.estimator.save(model)
    else:
        terminal.note(
            f"{made.comparison.reference} cannot be kept in a file for this table: the page has "
            "its code; suffice fit saves a model that can, such as --model auto"
        )
    made.save(path, written)
    _tell_verdict(made, path, model if kept else None, terminal)


def _tell_verdict(made: Any, path: Path, model: Path | None, terminal: Terminal) -> None:
    verdict = made.verdict.replace("\N{NO-BREAK SPACE}", " ")
    if not (terminal.quiet or terminal.json):
        click.echo(printable(verdict))
    facts = {
        "model": model and str(model),
        "verdict": verdict,
        "models": made.comparison.rows(),
    }
    terminal.written(path, f"report; {model}: the model" if model else "report", **facts)


def _unused(path: Path, terminal: Terminal) -> Path:
    """Return a path where nothing is, numbered if need be, and say so if it is another one."""
    others = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    found = next(each for each in chain([path], others) if not each.exists())
    if found != path:
        terminal.note(f"{path} is there already: writing {found}; --force replaces it")
    return found


def _stem(name: str) -> str:
    """Return what to call the page of a file, a glob or standard input."""
    stem = Path(name).stem if name != "-" else "stdin"
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in stem) or "data"


def _documented(data: Data, name: str, groups: str | None) -> Any:
    """Return the rows with what names them; what is left out is said now, and on the page."""
    import numpy as np

    from suffice.data.columns.kinds import is_date
    from suffice.data.rows.loading import load_rows
    from suffice.present.report.documented import DocumentedTable

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source, roles = data.opened("a report needs rows", groups)
        chunk = load_rows(source, roles, ROW, groups)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, __file__, 1)
    table, ids = chunk.table, chunk.kept.to_series()
    counted = ids.dtype.is_integer() and not ids.null_count()
    documented = DocumentedTable.of(
        chunk.frame,
        table.labels,
        sample_weight=table.weight,
        name=name,
        target=roles.target,
        ids=ids.to_numpy() if counted else np.asarray(ids.to_list(), dtype=object),
        groups=None if groups is None else chunk.kept.get_column(groups),
        dates=[name for name in roles.numbers if is_date(source.sample.schema[name])],
    )
    notes = (*(str(warning.message) for warning in caught), *documented.notes)
    return replace(documented, id_name=ids.name.lstrip("\0"), notes=notes)


def _new_rows(name: str, data: Data, documented: Any) -> Any:
    """Return the rows of another source, with labels where it has them."""
    import polars as pl

    from suffice.data.columns.roles import roles_for_learning, roles_for_predicting
    from suffice.data.rows.loading import frames_of, load_rows
    from suffice.present.report.trust import NewRows

    source, columns = replace(data, name=name).source(), documented.columns
    schema = suffice.Moments.of(documented.asked, documented.table.labels).schema
    target = documented.target
    if target in source.sample.columns:
        features = suffice.Columns(features=schema or columns)
        chunk = load_rows(source, roles_for_learning(source, target, columns=features))
        return NewRows(chunk.frame, chunk.table.labels, _stem(name))
    roles = roles_for_predicting(source, columns, len(columns), schema=schema)
    return NewRows(
        pl.concat(frames_of(source, roles)).select(roles.features), None, _stem(name)
    )


@subcommand(
    "suffice compare iris",
    "suffice compare wine --cv 5 --plot wine.png",
    "suffice compare wine -m lda -m qda -m 'random forest'",
    "suffice compare wine --add sklearn.svm.SVC",
)
@learning_data
@folds
@several("-m", "--model", "models", of="NAME", text="Only these; repeatable.")
@several("--add", "added", of="CLASS", text="Add by import path, such as sklearn.svm.SVC.")
@seed("Of the folds.")
@output("Also draw it: .png, .svg or .pdf.", option="--plot")
@output("Also write the table to this file.")
def compare(
    terminal: Terminal,
    /,
    data: Data,
    models: Any,
    added: Any,
    plot: Any,
    output: Any,
    **how: Any,
) -> None:
    """Compare classifiers by cross-validation."""
    check_figure(plot, "--plot ")
    _start_helpers(data, when=not models)
    rows, seed, groups = data.rows(how["groups"]), how["seed"], how["groups"]
    said: Any = {
        "sample_weight": rows.table.weight,
        "progress": False if terminal.quiet else None,
    }
    said["groups"] = None if groups is None else rows.kept.get_column(groups)
    compared = rows.frame, rows.table.labels, _chosen_models(models, added, seed), how["cv"]
    result = suffice.compare(*compared, random_state=seed, **said)
    if output is not None:
        import polars as pl

        from suffice.data.formats.writing import write_table

        write_table(pl.DataFrame(result.rows()).lazy(), output)
    if plot is not None:
        write_figure(result.plot()[0].figure, plot)
    _tell(result, terminal)


def _chosen_models(models: tuple[str, ...], added: tuple[str, ...], seed: int) -> Any:
    """Return the models by name, the default ones if none is given, and those added."""
    if not models and not added:
        return None
    from suffice.evaluate.comparison.models import parse_models

    named = parse_models(list(models) or None, seed)
    others = {path.rpartition(".")[2]: _imported(path) for path in added}
    return {member.name: member.estimator for member in named} | others


def _imported(path: str) -> Any:
    """Return an instance of the class at an import path, with its default settings."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        msg = (
            f"--add {path}: {error}; give the import path of a class, such as sklearn.svm.SVC"
        )
        raise InvalidParameterError(msg) from error


def _tell(result: Any, terminal: Terminal) -> None:
    if terminal.json:
        said = {
            "best": result.best,
            "recommended": result.reference,
            "verdict": result.verdict,
        }
        said |= {"notes": list(result.notes), "left_out": list(result.left_out)}
        terminal.result({"models": result.rows(), **said})
    elif sys.stdout.isatty():
        from rich.console import Console

        Console(file=sys.stdout, highlight=False).print(result)
    else:
        terminal.result({}, str(result))
    if terminal.closing and not (terminal.quiet or terminal.json):
        click.echo(f"compared{terminal.closing}", err=True)
