"""Model and moments files by path, as what a command needs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.errors import FileFormatError, InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.moments import Moments


def load_model(path: Path, *, answering: bool = False) -> Any:
    """Return the fitted estimator of a file, or what only answers as it does, loaded quicker."""
    from suffice.files import load, load_answering
    from suffice.moments import Moments

    loaded = load_answering(path) if answering else load(path)
    if isinstance(loaded, Moments):
        msg = f"{path} holds moments, not a model: fit one with suffice fit {path} -o model.suffice"
        raise FileFormatError(msg)
    return loaded


def able(fitted: Any, verb: str, path: Path, cure: str) -> Any:
    """Return a model that has a method, or say that its kind has not."""
    if not hasattr(fitted, verb):
        what = verb.strip("_")
        msg = f"{path} holds the model {type(fitted).__name__}, which has no {what}: {cure}"
        raise InvalidInputError(msg)
    return fitted


def load_moments(path: Path) -> Moments:
    """Return the sums of a file: moments, or those inside a model."""
    from suffice import archive
    from suffice.moments.file import moments_from

    header, arrays = archive.read(path)
    if "storage" not in header:
        msg = f"{path} holds {header['suffice']!r} without sums: give a moments file"
        raise FileFormatError(msg)
    return moments_from(header, arrays)


def label_named(classes: Any, text: str) -> Any:
    """Return the class that a person wrote as text."""
    import difflib

    from suffice.errors import UnknownLabelError

    known = {str(label): label for label in classes.tolist()}
    if text in known:
        return known[text]
    near = difflib.get_close_matches(text, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(list(known)[:12])}"
    msg = f"no class is called {text!r}: {hint}"
    raise UnknownLabelError(msg)
