"""``suffice show``: what is inside a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.cli.command import subcommand
from suffice.cli.options import file_argument
from suffice.cli.terminal import Terminal
from suffice.errors import FileFormatError

if TYPE_CHECKING:
    from suffice.moments import Moments

_CLASSES, _FEATURES = 8, 30  # as many as a table stays readable with


@subcommand("show", "suffice show iris.suffice", "suffice show all.moments --json")
@file_argument("file")
def command(terminal: Terminal, /, file: Path) -> None:
    """Show what is inside a model or moments file."""
    from suffice.files import read
    from suffice.moments import Moments

    header, arrays = read(file)
    moments = Moments.of_archive(header, arrays) if "storage" in header else None
    document = {name: value for name, value in header.items() if name != "sha256"}
    if moments is not None:
        document |= {"classes": moments.classes, "weights": moments.weights}
        document |= {"counts": moments.counts, "means": _means(moments)}
    elif "classes" in arrays:
        document |= {"classes": arrays["classes"]}
    if terminal.json:
        terminal.result(document)
        return
    try:
        title = "\n".join([_title(file, header), *_parts(header, arrays)])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        msg = f"{file} has a header that tells nothing of {error}: write the file again"
        raise FileFormatError(msg) from error
    terminal.result(document, title)
    if moments is not None:
        terminal.table(*_by_class(moments))
    elif "coef" in arrays:
        terminal.table(*_coefficients(header, arrays))


def _title(file: Path, header: dict[str, Any]) -> str:
    lines = [f"{file}: {header['suffice']}, format {header['format']}"]
    if "estimator" in header:
        from suffice.files import unfitted

        lines.append(" ".join(repr(unfitted(header)).split()))  # settings that are not defaults
    return "\n".join([*lines, ", ".join(_facts(header))])


def _parts(header: dict[str, Any], arrays: dict[str, Any]) -> Iterator[str]:
    """Yield the classes and, of an average, what is averaged; models of sums have tables."""
    if "storage" in header:
        return
    from suffice.text.lists import listed

    classes = arrays["classes"].tolist()
    yield f"{len(classes):,} classes: {listed([str(label) for label in classes], _CLASSES)}"
    if "choices" not in header:
        return
    from suffice.saved.densities import views_in

    views = views_in(header, arrays)
    for choice in sorted(header["choices"], key=lambda choice: -choice["weight"]):
        if choice["weight"] > 0:
            said = (
                f"{name} {choice[name]:.3g}" for name in ("pooling", "shrinkage", "temperature")
            )
            yield f"{choice['weight']:.0%} {views[choice['view']].name}: {', '.join(said)}"


def _coefficients(
    header: dict[str, Any], arrays: dict[str, Any]
) -> tuple[list[str], list[list[Any]]]:
    """Return a table with a column per score: its intercept and coefficients."""
    labels, d = arrays["classes"].tolist(), header["n_features"]
    scores = [f"{labels[1]} against {labels[0]}"] if len(labels) == 2 else list(map(str, labels))
    names = header["feature_names"] or [f"x{j}" for j in range(d)]
    rows = [["intercept", *arrays["intercept"].tolist()[:_CLASSES]]]
    pairs = zip(names, arrays["coef"].T.tolist(), strict=True)
    rows += [[name, *values[:_CLASSES]] for name, values in list(pairs)[:_FEATURES]]
    return ["coefficient", *scores[:_CLASSES]], rows


def _means(moments: Moments) -> Any:
    """Return the means (K, d); None where a class has no rows."""
    known = zip(moments.means.tolist(), moments.counts.tolist(), strict=True)
    return [mean if count else [None] * len(mean) for mean, count in known]


def _facts(header: dict[str, Any]) -> list[str]:
    """Return what the header tells of the sums, in words."""
    numbers = [(name, header.get(f"n_{name}")) for name in ("rows", "classes", "features")]
    facts = [f"{number:,} {name}" for name, number in numbers if number is not None]
    facts += [f"{header['storage']} scatter"] if "storage" in header else []
    facts += ["fourth moments"] if header.get("fourth") else []
    facts += [f"transformed by {header['transform']}"] if header.get("transform") else []
    return facts


def _by_class(moments: Moments) -> tuple[list[str], list[list[Any]]]:
    """Return a table with a column per class: its rows, its weight, its means."""
    k = slice(_CLASSES)
    more = ["…"] if moments.n_classes > _CLASSES else []
    columns = ["class", *map(str, moments.classes[k].tolist()), *more]
    rows = [
        ["rows", *moments.counts[k].tolist(), *more],
        ["weight", *moments.weights[k].tolist(), *more],
    ]
    names = moments.feature_names or [f"x{j}" for j in range(moments.n_features)]
    columns_of = zip(names, *_means(moments)[k], strict=True)
    for name, *means in list(columns_of)[:_FEATURES]:
        rows.append([f"mean {name}", *("–" if m is None else m for m in means), *more])
    if moments.n_features > _FEATURES:
        rows.append(["…"] * len(columns))
    return columns, rows
