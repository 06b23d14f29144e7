"""``suffice show``, ``boundary``, ``sample`` and ``export``: what a file of ours holds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import suffice
from suffice.cli.command import (
    choice,
    file_argument,
    option,
    output,
    seed,
    several,
    subcommand,
)
from suffice.cli.data import able, load_model
from suffice.cli.terminal import Terminal, write_table
from suffice.errors import FileFormatError, InvalidInputError
from suffice.export.onnx import to_onnx
from suffice.export.sql import to_sql

_CLASSES, _ROWS = 8, 32  # as many as a table stays readable with
_AT_ONCE = 100_000


@subcommand("suffice show iris.suffice", "suffice show all.moments --json")
@file_argument("file")
def show(terminal: Terminal, /, file: Path) -> None:
    """Show what is inside a model or moments file."""
    from suffice.persistence.load import read

    header, arrays = read(file)
    moments = suffice.Moments.of_archive(header, arrays) if "storage" in header else None
    document = {name: value for name, value in header.items() if name != "sha256"}
    if moments is not None:
        document |= {"classes": moments.classes, "weights": moments.weights}
        document |= {"counts": moments.counts, "means": _means(moments)}
    else:
        document |= {n: arrays[n] for n in ("classes", "intercept", "coef") if n in arrays}
    if terminal.json:
        terminal.result(document)
        return
    try:
        title = "\n".join(_told(file, header, arrays))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        msg = f"{file} has a header that tells nothing of {error}: write the file again"
        raise FileFormatError(msg) from error
    terminal.result(document, title)
    if moments is not None:
        terminal.table(*_by_class(moments))
    elif "coef" in arrays:
        terminal.table(*_coefficients(header, arrays))


def _told(file: Path, header: dict[str, Any], arrays: dict[str, Any]) -> Iterator[str]:
    """Yield what a file is, its settings, and what tables do not tell: classes, an average."""
    yield f"{file}: {header['suffice']}, format {header['format']}"
    if "estimator" in header:
        from suffice.persistence.load import unfitted

        yield " ".join(repr(unfitted(header)).split())  # settings that are not defaults
    numbers = [(name, header.get(f"n_{name}")) for name in ("rows", "classes", "features")]
    facts = [f"{number:,} {name}" for name, number in numbers if number is not None]
    facts += [f"{header['storage']} scatter"] if "storage" in header else []
    facts += ["fourth moments"] if header.get("fourth") else []
    facts += [f"transformed by {header['transform']}"] if header.get("transform") else []
    yield ", ".join(facts)
    if "storage" in header:
        return
    from suffice.core.text.lists import listed
    from suffice.persistence.averages import views_in

    classes = arrays["classes"].tolist()
    yield f"{len(classes):,} classes: {listed([str(label) for label in classes], _CLASSES)}"
    views = views_in(header, arrays) if "choices" in header else []
    for one in sorted(header.get("choices", ()), key=lambda one: -one["weight"]):
        if one["weight"] > 0:
            told = [name for name in ("pooling", "shrinkage", "temperature") if name in one]
            said = ", ".join(f"{name} {one[name]:.3g}" for name in told)
            yield f"{one['weight']:.0%} {one.get('outsider') or views[one['view']].name}: {said}"


def _cut(first: str, labels: Sequence[Any], rows: Sequence[Sequence[Any]]) -> tuple[Any, Any]:
    """Return a table with a column per label, as much of it as stays readable."""
    more = ["…"] if len(labels) > _CLASSES else []
    shown = [[name, *values[:_CLASSES], *more] for name, *values in rows[:_ROWS]]
    columns = [first, *map(str, labels[:_CLASSES]), *more]
    return columns, shown + [["…"] * len(columns)] * (len(rows) > _ROWS)


def _coefficients(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Return a table with a column per score: its intercept and coefficients."""
    from suffice.core.table.schema import Encoding

    labels = arrays["classes"].tolist()
    scores = [f"{labels[1]} against {labels[0]}"] if len(labels) == 2 else labels
    encoding = Encoding.from_json(header.get("encoding"))
    known = encoding.feature_names if encoding else header["feature_names"]
    names = known or [f"x{j}" for j in range(header["n_features"])]
    pairs = zip(names, arrays["coef"].T.tolist(), strict=True)
    rows = [["intercept", *arrays["intercept"].tolist()], *([name, *b] for name, b in pairs)]
    return _cut("coefficient", scores, rows)


def _means(moments: suffice.Moments) -> Any:
    """Return the means (K, d); None where a class has no rows."""
    known = zip(moments.means.tolist(), moments.counts.tolist(), strict=True)
    return [mean if count else [None] * len(mean) for mean, count in known]


def _by_class(moments: suffice.Moments) -> Any:
    """Return a table with a column per class: its rows, its weight, its means."""
    names = moments.feature_names or [f"x{j}" for j in range(moments.n_features)]
    means = zip(names, *_means(moments), strict=True)
    known = [[f"mean {name}", *("–" if m is None else m for m in of)] for name, *of in means]
    rows = [["rows", *moments.counts.tolist()], ["weight", *moments.weights.tolist()], *known]
    return _cut("class", moments.classes.tolist(), rows)


@subcommand(
    "suffice boundary iris.suffice versicolor virginica",
    "suffice boundary iris.suffice setosa virginica --latex",
)
@file_argument("model")
@click.argument("class_a", metavar="A")
@click.argument("class_b", metavar="B")
@option("--digits", text="", type=click.IntRange(1, 17), default=4)
@click.option("--latex", is_flag=True, help="Write the equation in LaTeX.")
def boundary(
    terminal: Terminal,
    /,
    model: Path,
    class_a: str,
    class_b: str,
    digits: int,
    *,
    latex: bool,
) -> None:
    """Print where two classes are equally probable.

    The left-hand side is positive where A is the more probable.
    """
    from suffice.core.table.labels import label_written

    fitted = able(load_model(model), "boundary", model, "fit one model, such as lda or qda")
    labels = [label_written(text, fitted.classes_) for text in (class_a, class_b)]
    border = fitted.boundary(*labels)
    text = border.latex(digits) if latex else border.equation(digits)
    document = {"kind": type(border).__name__, "labels": labels, "equation": text}
    parts = {field.name: getattr(border, field.name) for field in fields(border)}
    arrays = {name: value for name, value in parts.items() if hasattr(value, "tolist")}
    terminal.result({**document, **arrays}, text)


@subcommand(
    "suffice sample iris.suffice -n 5 --seed 1",
    "suffice sample iris.suffice -n 100000 -o synthetic.parquet",
)
@file_argument("model")
@option("-n", "--number", text="", type=click.IntRange(min=0), default=1000)
@seed("For the same rows again.", None)
@option("--label", text="Name of the label column.", default="label")
@output("The file to write; without it CSV goes to standard output.")
def sample(
    terminal: Terminal,
    /,
    model: Path,
    number: int,
    seed: int | None,
    label: str,
    output: Path,
) -> None:
    """Draw rows from a fitted model.

    A class is drawn from the priors, then a row from the density of the class.
    """
    from suffice.persistence.load import load_classifier

    fitted = load_classifier(model)
    if not fitted.has_density:
        msg = f"{model} holds a model which has no densities: fit a Gaussian one, such as lda"
        raise InvalidInputError(msg)
    if label in ("", *fitted.columns):
        what = f"column {label!r} is a feature: name another" if label else "name the column"
        raise InvalidInputError(f"{what}, such as --label class")
    write_table(_drawn(fitted, number, seed, label), output, terminal, number)


def _drawn(fitted: Any, number: int, seed: int | None, label: str) -> Any:
    """Return the rows as a lazy table that is drawn while it is written."""
    import numpy as np
    from polars.io.plugins import register_io_source

    rng = np.random.default_rng(seed)

    def frames(*_: Any) -> Iterator[Any]:
        for start in range(0, number, _AT_ONCE):
            yield _frame(fitted, min(_AT_ONCE, number - start), rng, label)

    schema = _frame(fitted, 1, np.random.default_rng(0), label).schema
    return register_io_source(frames, schema=schema)


def _frame(fitted: Any, number: int, rng: Any, label: str) -> Any:
    import polars as pl

    x, y = fitted.sample(number, rng)
    if not isinstance(x, dict):  # of columns of several kinds
        names = fitted.feature_names or [f"x{j}" for j in range(x.shape[1])]
        x = dict(zip(names, x.T, strict=True))
    text = {name: pl.String for name, column in x.items() if column.dtype.kind in "OU"}
    columns = {name: column.tolist() for name, column in x.items()}
    return pl.DataFrame({**columns, label: y.tolist()}, schema_overrides=text)


@subcommand(
    "suffice export iris.suffice --to json -o iris.json",
    "suffice export iris.suffice --to sql --table flowers --keep id",
    "suffice export iris.suffice --to onnx -o iris.onnx",
)
@file_argument("model")
@choice("--to", "kind", of=["json", "sql", "onnx"], text="The format.", default="json")
@option("--table", text="Of SQL: the table; dots part schemas.", default="rows")
@choice("--dialect", of=["duckdb", "postgres", "sqlite"], text="Of SQL.", default="duckdb")
@several("--keep", text="Of SQL: copy beside the answers.")
@output("The file to write; without it standard output.")
def export(
    terminal: Terminal,
    /,
    model: Path,
    kind: str,
    output: Path | None,
    table: str,
    **said: Any,
) -> None:
    """Write a model in a format that other programs read.

    JSON holds all that scoring needs; SQL is a query of label and posteriors for every row of a
    table; ONNX is a graph for any ONNX runtime.
    """
    from suffice.export.document import document_text, to_document
    from suffice.persistence.archive import replacing

    if kind == "onnx" and output is None and (terminal.json or sys.stdout.isatty()):
        raise click.UsageError("ONNX is not for reading: name a file with -o")
    typed, default = click.get_current_context().get_parameter_source, ParameterSource.DEFAULT
    for name in ("table", "dialect", "keep"):
        if kind != "sql" and typed(name) is not default:
            raise click.UsageError(f"--{name} is of SQL: leave it out, or say --to sql")
    fitted = load_model(model)
    if kind == "onnx":
        data: bytes = to_onnx(fitted).SerializeToString()
    elif kind == "sql":
        data = to_sql(fitted, table.split("."), **said).encode() + b";\n"
    else:
        data = document_text(to_document(fitted)).encode() + b"\n"
    if output is not None:
        with replacing(output) as file:
            file.write(data)
        terminal.written(output, f"{kind}, {len(data):,} bytes", bytes=len(data))
    elif terminal.json and kind == "sql":
        terminal.result({kind: data.decode().strip()})
    else:
        sys.stdout.buffer.write(data)
