"""``suffice show``: the contents of a model or moments file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import suffice
from suffice.cli.command import subcommand
from suffice.cli.options import file_argument
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import counted
from suffice.core.text.numbers import number
from suffice.errors import FileFormatError

if TYPE_CHECKING:
    from suffice.typing import Array

_MOST_CLASSES = 8  # largest number of columns of a table
_MOST_ROWS = 32  # largest number of rows of a table

Header = Mapping[str, Any]
Arrays = Mapping[str, "Array"]
Table = tuple[list[str], list[list[object]]]  # names of the columns, and rows


@subcommand("suffice show iris.suffice", "suffice show all.moments --json")
@file_argument("file")
def show(terminal: Terminal, /, file: Path) -> None:
    """Show the contents of a model or moments file."""
    from suffice.core.moments.stated import is_stated
    from suffice.persistence.load import read

    header, arrays = read(file)
    moments = suffice.Moments.of_archive(header, arrays) if "storage" in header else None
    stated = moments is not None and is_stated(moments)
    if terminal.json:
        document = _document(header, arrays, moments)
        document["stated"] = stated
        if moments is not None and stated:
            document["n_rows"] = 0
            document["counts"] = [0] * len(moments.classes)
        terminal.result(document)
        return
    try:
        lines = _description(file, header, arrays, stated=stated)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        msg = f"the header of {file} has no usable field {error}: write the file again"
        raise FileFormatError(msg) from error
    terminal.result({}, "\n".join(lines))
    if moments is not None:
        columns, rows = _class_table(moments, stated=stated)
        terminal.table(columns, rows)
    elif "coef" in arrays:
        columns, rows = _coefficient_table(header, arrays, arrays["coef"], arrays["intercept"])
        terminal.table(columns, rows)
    elif header.get("holds") == "linear model":
        coef = arrays["weights"]
        # wᵀ(x − c) + b = wᵀx + b − wᵀc
        intercept = arrays["intercepts"] - coef @ arrays["centre"]
        columns, rows = _coefficient_table(header, arrays, coef, intercept)
        terminal.table(columns, rows)


def _document(
    header: Header,
    arrays: Arrays,
    moments: suffice.Moments | None,
) -> dict[str, object]:
    """Return the contents of the file as a document for JSON."""
    document = {name: value for name, value in header.items() if name != "sha256"}
    if moments is not None:
        document["classes"] = moments.classes
        document["weights"] = moments.weights
        document["counts"] = moments.counts
        document["means"] = _means(moments)
    else:
        for name in ("classes", "intercept", "coef"):
            if name in arrays:
                document[name] = arrays[name]
    return document


def _description(file: Path, header: Header, arrays: Arrays, *, stated: bool) -> list[str]:
    """Return lines on the file, its settings, and details that the tables do not show."""
    lines = [f"{file}: {header['suffice']}, format {header['format']}"]
    if "estimator" in header:
        from suffice.persistence.load import unfitted

        lines.append(
            " ".join(repr(unfitted(header)).split())
        )  # only the settings that are not defaults
    lines.append(", ".join(_facts(header, stated=stated)))
    if "storage" in header:  # in this case, the table shows the classes
        return lines
    from suffice.core.text.lists import listed

    classes = [str(label) for label in arrays["classes"].tolist()]
    lines.append(f"{counted(len(classes), 'class')}: {listed(classes, _MOST_CLASSES)}")
    if "choices" in header:
        lines += _members(header, arrays)
    return lines


def _facts(header: Header, *, stated: bool) -> list[str]:
    facts = []
    nouns = {"n_rows": "row", "n_classes": "class", "n_features": "feature"}
    if stated:
        facts.append("stated parameters, no rows")
        del nouns["n_rows"]
    for name, noun in nouns.items():
        number = header.get(name)
        if number is not None:
            facts.append(counted(number, noun))
    if "storage" in header:
        facts.append(f"{header['storage']} scatter")
    if header.get("fourth"):
        facts.append("fourth moments")
    if header.get("transform"):
        facts.append(f"transformed by {header['transform']}")
    return facts


def _members(header: Header, arrays: Arrays) -> list[str]:
    """Return a line for each model of an average, beginning with the largest weight."""
    from suffice.persistence.averages import views_in

    views = views_in(header, arrays)
    lines = []
    for member in sorted(header["choices"], key=lambda member: -member["weight"]):
        if member["weight"] > 0:
            name = member.get("outsider") or views[member["view"]].name
            settings = [
                f"{setting} {member[setting]:.3g}"
                for setting in ("pooling", "shrinkage", "temperature")
                if setting in member
            ]
            lines.append(f"{member['weight']:.0%} {name}: {', '.join(settings)}")
    return lines


def _class_table(moments: suffice.Moments, *, stated: bool) -> Table:
    """Return a table with a column for each class: number of rows, weight or prior, means."""
    names = moments.feature_names or [f"x{j}" for j in range(moments.n_features)]
    rows: list[list[object]] = [
        ["rows", *moments.counts.tolist()],
        ["weight", *moments.weights.tolist()],
    ]
    if stated:
        rows = [["prior", *moments.weights.tolist()]]
    means = _means(moments)
    for j, name in enumerate(names):
        values = ["–" if mean[j] is None else mean[j] for mean in means]
        rows.append([f"mean {name}", *values])
    return _shortened("class", moments.classes.tolist(), rows)


def _means(moments: suffice.Moments) -> list[list[float | None]]:
    """Return the means (K, d), with None for classes without rows."""
    means: list[list[float | None]] = moments.means.tolist()
    for k, count in enumerate(moments.counts):
        if not count:
            means[k] = [None] * moments.n_features
    return means


def _coefficient_table(header: Header, arrays: Arrays, coef: Array, intercept: Array) -> Table:
    """Return a table with a column per score: its intercept and coefficients."""
    from suffice.core.table.indicator_encoding import Encoding

    labels = arrays["classes"].tolist()
    scores = [f"{labels[1]} against {labels[0]}"] if len(labels) == 2 else labels
    encoding = Encoding.from_json(header.get("encoding"))
    names = encoding.feature_names if encoding else header["feature_names"]
    if not names:
        names = [f"x{j}" for j in range(header["n_features"])]
    rows: list[list[object]] = [["intercept", *map(_coefficient, intercept.tolist())]]
    for name, values in zip(names, coef.T.tolist(), strict=True):
        rows.append([name, *map(_coefficient, values)])
    return _shortened("coefficient", scores, rows)


def _coefficient(value: float) -> str:
    """Return a coefficient as text, with enough digits to check a prediction."""
    return number(value, 6)


def _shortened(first: str, labels: Sequence[object], rows: list[list[object]]) -> Table:
    """Return a table with a column for each label, without columns and rows beyond a limit."""
    columns = [first, *(str(label) for label in labels[:_MOST_CLASSES])]
    shown = [row[: 1 + _MOST_CLASSES] for row in rows[:_MOST_ROWS]]
    if len(labels) > _MOST_CLASSES:
        columns.append("…")
        shown = [[*row, "…"] for row in shown]
    if len(rows) > _MOST_ROWS:
        shown.append(["…"] * len(columns))
    return columns, shown
