"""The API reference: a Markdown page for each group of public names, written from docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# page → title, module, names (None: all that no other page of this module has)
GROUPS: dict[str, tuple[str, str, str | None]] = {
    "datasets": ("Get data: built-in sets", "suffice.datasets", None),
    "streams": ("Get data: rows larger than memory", "suffice.streams", None),
    "moments": (
        "Sum data: sufficient statistics and stores",
        "suffice",
        "Moments MomentStore summarize Columns TextFormat load",
    ),
    "gaussian": (
        "Fit: Gaussian classifiers",
        "suffice",
        "GaussianClassifier LDA QDA RDA GaussianNB AutoGaussian AutoClassifier MixtureClassifier "
        "Costs Dirichlet Shrinkage Categorical NormalInverseWishart PowerTransform",
    ),
    "discriminative": (
        "Fit: discriminative models",
        "suffice",
        "LogisticRegression Perceptron LeastSquaresClassifier",
    ),
    "counts": (
        "Fit: count classifiers",
        "suffice",
        "CountNB CountSums MixedNB MixedSums",
    ),
    "sklearn": (
        "Fit: drop-ins for scikit-learn, and the table encoder",
        "suffice.sklearn",
        None,
    ),
    "boundaries": ("Understand: boundaries", "suffice", "Hyperplane Quadric"),
    "diagnostics": ("Check: assumptions, drift and fit", "suffice.diagnostics", None),
    "choosing": ("Choose and compare", "suffice", None),
    "plots": ("Draw: figures", "suffice.plots", None),
    "lectures": ("Teach: the steps of the lectures", "suffice.lectures", None),
}
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S.*)\n((?:(?:[ \t].*)?\n?)*)", re.MULTILINE)


def members_of(group: str) -> dict[str, Any]:
    """Return the public names of a page and what they are."""
    _, module_name, names = GROUPS[group]
    public = public_members(module_name)
    if names is not None:
        return {name: public[name] for name in names.split() if name in public}
    taken = {
        name
        for _, other, listed in GROUPS.values()
        if other == module_name and listed
        for name in listed.split()
    }
    return {name: value for name, value in public.items() if name not in taken}


def public_members(module_name: str) -> dict[str, Any]:
    """Return the public functions and classes of a module, without its submodules."""
    module = importlib.import_module(module_name)
    members = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in members.items() if callable(value)}


def write(folder: Path) -> None:
    """Write the pages of the reference to a folder, an index first."""
    folder.mkdir(parents=True)
    index = [
        "# API reference",
        "",
        "Every public name, ordered by what you want to do: get data, sum them, fit, understand, "
        "check, choose, draw, teach. All examples run.",
        "",
    ]
    for group, (title, module, _) in GROUPS.items():
        members = members_of(group)
        # drop-ins are imported by their full name
        prefix = module if module == "suffice.sklearn" else module.replace("suffice", "sf", 1)
        index += [f"## {title}", "", "| name | |", "|---|---|"]
        page = [f"# {title}", ""]
        for name, value in members.items():
            first = _inline(_doc(value).partition("\n")[0])
            index.append(f"| [`{prefix}.{name}`]({group}.md#{name.lower()}) | {first} |")
            page += [*_member(name, value, prefix), ""]
        index.append("")
        (folder / f"{group}.md").write_text("\n".join(page))
    (folder / "index.md").write_text("\n".join(index))


def _member(name: str, value: Any, prefix: str) -> Iterator[str]:
    """Yield the lines of one public name."""
    yield from (f"## {name}", "")
    if callable(value):
        yield from ("```python", f"{prefix}.{name}{_signature(value)}", "```", "")
    yield from _document(_doc(value))
    if _is_preset(value):
        yield from ("", "Methods: those of [GaussianClassifier](#gaussianclassifier).", "")
    if inspect.isclass(value):
        for verb, method in _methods(value):
            yield from ("", f"### {name}.{verb}", "")
            if callable(method):
                yield from ("```python", f"{verb}{_signature(method)}", "```", "")
            yield from _document(_doc(method))


def _is_preset(value: Any) -> bool:
    """Return whether a class only presets what another one has."""
    parents = value.__mro__[1:] if inspect.isclass(value) else ()
    return any(parent.__name__ == "GaussianClassifier" for parent in parents)


def _methods(cls: type) -> list[tuple[str, Any]]:
    """Return the public methods and properties that are our own; none of a preset."""
    if _is_preset(cls):
        return []
    found = []
    for verb, value in inspect.getmembers_static(cls):
        plain = getattr(value, "__func__", getattr(value, "fget", value))
        ours = (getattr(plain, "__module__", "") or "").startswith("suffice")
        if not verb.startswith("_") and ours and _doc(value):
            found.append((verb, value if isinstance(value, property) else getattr(cls, verb)))
    return found


def _doc(value: Any) -> str:
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")


def _signature(value: Any) -> str:
    """Return the arguments without types, one a line where they are many."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(…)"
    plain = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    written = str(inspect.Signature(plain)).replace("<factory>", "…") if plain else "()"
    if len(written) < 80:
        return written
    lines = [re.sub("<factory>", "…", str(p)) for p in plain]
    named = next((i for i, p in enumerate(plain) if p.kind is p.KEYWORD_ONLY), None)
    if named is not None and not any(p.kind is p.VAR_POSITIONAL for p in plain):
        lines.insert(named, "*")
    return "(\n    " + ",\n    ".join(lines) + ",\n)"


def _inline(text: str) -> str:
    """Return reStructuredText of a line as Markdown."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
    return re.sub(r"(?<![`\w])\|(?!\|)", "∣", text)


def _document(doc: str) -> Iterator[str]:
    """Yield a numpydoc string as Markdown."""
    parts = _SECTION.split(doc + "\n")
    yield from _prose(parts[0])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        yield from ("", f"**{title}**", "")
        if title == "Examples":
            yield from ("```pycon", body.strip("\n"), "```")
        elif title in ("Parameters", "Attributes", "Returns", "Yields", "Raises"):
            yield from _entries(body)
        else:
            yield from _prose(body)


def _prose(text: str) -> Iterator[str]:
    """Yield paragraphs; indented lines of an example stay as they are."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            yield from ("", "```pycon", inspect.cleandoc(paragraph), "```", "")
        elif paragraph.strip():
            yield from (_inline(paragraph), "")


def _entries(body: str) -> Iterator[str]:
    """Yield a list of named things, each with its type and what it is."""
    for head, told in _ENTRY.findall(body):
        name, _, kind = head.partition(" : ")
        words = " ".join(_inline(line.strip()) for line in told.splitlines() if line.strip())
        label = f"`{name}`" if re.fullmatch(r"[\w*, ]+", name) else _inline(name)
        kind = f" · {_inline(kind)}" if kind else ""
        yield f"- {label}{kind}" + (f"<br>{words}" if words else "")
