"""Errors, all of them subclasses of ``SufficeError``, and warnings of ``SufficeWarning``."""

import sys
import warnings
from collections.abc import Collection, Sequence
from importlib import import_module
from types import ModuleType
from typing import ClassVar, Self


class SufficeError(ValueError):
    """Base class of all errors; a ``ValueError``, which scikit-learn's tools catch."""


class InvalidInputError(SufficeError):
    """Rows or columns contain values that cannot be used."""


class UnknownTargetError(InvalidInputError):
    """It is not clear which column is the target; ``columns`` lists the candidates."""

    def __init__(self, label: str, columns: Sequence[str]) -> None:
        self.label = label
        self.columns = tuple(columns)
        names = ", ".join(map(repr, columns[:12])) + (", …" if len(columns) > 12 else "")
        super().__init__(
            f"{label}: which column holds the labels? name the target, one of {names}"
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, tuple[str, ...]]]:
        return type(self), (self.label, self.columns)


class InvalidParameterError(SufficeError):
    """A parameter has a value that is not allowed."""


class UnknownLabelError(SufficeError):
    """A label is not one of the classes."""


class TooFewClassesError(SufficeError):
    """Fewer than two classes have rows with positive weight."""


class FeatureMismatchError(SufficeError):
    """The features differ from those of the fit, or have another order."""


class MissingStatisticsError(SufficeError):
    """A model needs sums that were not collected."""


class ForgetError(SufficeError):
    """The rows to remove were never added, or removing them would lose too much precision."""


class FileFormatError(SufficeError):
    """The file was not written by suffice, or is incomplete or damaged."""


class DatabaseError(SufficeError):
    """The database closed the connection, cancelled the query, or changed while it was read."""


class CheckpointError(SufficeError):
    """A checkpoint cannot be written, or cannot be resumed."""


class ClusterError(SufficeError):
    """The cluster does not respond, or has lost its workers."""


class SufficeWarning(UserWarning):
    """The input is valid but may give a surprising result; the message ends with a stable code.

    ``docs/codes.md`` lists the codes, each with an example and a cure.
    """

    code: ClassVar[str] = "SF100"

    def __str__(self) -> str:
        return f"{super().__str__()} [{self.code}]"


class DegenerateDataWarning(SufficeWarning):
    """A class has no variance in some direction, or some columns are combinations of others."""

    code = "SF101"


class UnusedDataWarning(SufficeWarning):
    """Columns or rows are left out; ``columns`` and ``rows`` count them."""

    code = "SF102"

    def __init__(self, message: str, *, columns: int = 0, rows: int = 0) -> None:
        super().__init__(message)
        self.columns = columns
        self.rows = rows


class SeparationWarning(SufficeWarning):
    """A hyperplane separates the classes without error, so the likelihood has no maximum."""

    code = "SF103"


class NotConvergedWarning(SufficeWarning):
    """An iterative solver stopped before it reached its tolerance."""

    code = "SF104"


class ReadingWarning(SufficeWarning):
    """The text or the columns of a table can be read in two ways, and one was chosen."""

    code = "SF105"


class LostDetailWarning(SufficeWarning):
    """Sums keep less detail than the rows: rare levels were merged, or values were rounded."""

    code = "SF106"


def warn(
    message: str | SufficeWarning,
    category: type[SufficeWarning] = SufficeWarning,
) -> None:
    """Issue a warning that points at the caller's line outside this library."""
    frame = sys._getframe(0)
    depth = 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("suffice."):
        frame = frame.f_back
        depth += 1
    warnings.warn(message, category, stacklevel=depth)


def require_word(word: object, words: Collection[str], name: str) -> None:
    """Raise ``InvalidParameterError`` unless the setting ``name`` is one of ``words``."""
    if not isinstance(word, str) or word not in words:
        msg = f"{name} must be one of {', '.join(map(repr, words))}, got {word!r}"
        raise InvalidParameterError(msg)


def extra(module: str, name: str, what: str) -> ModuleType:
    """Import a module of an optional extra; if it is missing, raise with the install command."""
    try:
        return import_module(module)
    except ImportError as error:
        msg = f"{what} needs the extra {name!r}: pip install 'suffice[{name}]'"
        raise InvalidParameterError(msg) from error
