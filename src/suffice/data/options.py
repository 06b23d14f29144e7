"""The user's choices on columns, text files and where to compute."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeGuard

from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.core.power_transform import PowerTransform
from suffice.core.table.notation import Notation
from suffice.core.table.schema import Schema
from suffice.errors import InvalidParameterError

DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")
NA_VALUES = ("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NULL", "null", "?")

Names: TypeAlias = Sequence[str]
Device: TypeAlias = object  # "cuda", or a torch.device


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of columns that cannot be detected automatically.

    Parameters
    ----------
    features : list of str, or schema of other moments, optional
        The columns to use as features. By default, all informative columns without another role are
        features. Dates become days since 1970; text and Booleans become categories. A schema also
        fixes the levels of its categories.
    ignore : list of str
        Columns to leave out.
    ids : list of str, optional
        Columns that identify rows. They are not used as features, and ``predict_stream`` copies
        them to its output. By default, these are the columns that look like ids.
    categorical : list of str
        Numeric columns that are categories.
    target_kind : {"class"}, optional
        With ``"class"``, labels are names of classes, exactly as written. A number such as 0.5 is
        then a name, and "a" and "A" are two classes.
    merge_labels : bool
        Whether labels are merged into one class, in lower case, if they differ only in case, blanks
        or the spelling of yes and no. By default, such labels raise an error.

    Examples
    --------
    >>> import suffice as sf
    >>> sf.summarize("iris", columns=sf.Columns(ignore=["sepal_width"])).n_features
    3
    """

    features: Names | Schema | None = None
    ignore: Names = ()
    ids: Names | None = None
    categorical: Names = ()
    target_kind: Literal["class"] | None = None
    merge_labels: bool = False

    def __post_init__(self) -> None:
        if self.target_kind not in (None, "class"):
            msg = f"target_kind must be None or 'class', got {self.target_kind!r}"
            raise InvalidParameterError(msg)
        if self.features is not None and not isinstance(self.features, Schema):
            object.__setattr__(self, "features", _names(self.features, "features"))
        object.__setattr__(self, "ignore", _names(self.ignore, "ignore"))
        object.__setattr__(self, "categorical", _names(self.categorical, "categorical"))
        if self.ids is not None:
            object.__setattr__(self, "ids", _names(self.ids, "ids"))

    @classmethod
    def of(cls, columns: Columns | Names | Schema | None) -> Columns:
        """Return ``columns`` as ``Columns``; a list of names, or a schema, gives the features."""
        if columns is None:
            return cls()
        if isinstance(columns, Columns):
            return columns
        return cls(features=columns)

    @property
    def schema(self) -> Schema | None:
        """The schema of the features, if given."""
        return self.features if isinstance(self.features, Schema) else None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features; None if they are detected."""
        if self.features is None:
            return None
        if isinstance(self.features, Schema):
            return tuple(c.name for c in self.features.columns if c.kind != "left out")
        return tuple(self.features)


def _names(names: object, role: str) -> tuple[str, ...]:
    if not _is_list_of_text(names):
        msg = f"{role} must be a list of column names such as ['age', 'height'], got {names!r}"
        raise InvalidParameterError(msg)
    return tuple(names)


def _is_list_of_text(values: object) -> TypeGuard[Collection[str]]:
    if isinstance(values, str) or not isinstance(values, Collection):
        return False
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """The format of a text file; parts that are not given are detected.

    Parameters
    ----------
    delimiter : str, optional
        The character between cells.
    decimal : {".", ","}, optional
        The decimal mark of numbers.
    thousands : {",", ".", " ", "'"}, optional
        The mark between thousands.
    encoding : str, optional
        The encoding, such as ``"utf-16"`` or ``"latin-1"``.
    na_values : list of str
        Further spellings of a missing value, besides an empty cell, NA, N/A, #N/A, NaN, NULL and ?.
    header : bool, optional
        Whether the first line holds the names of the columns.
    skip_rows : int
        Number of lines before the table.
    comment : str, optional
        The text that begins a comment line.
    columns : mapping of str to Notation
        The notation of single columns, by name. For predictions, a model gives the notation of its
        training file.

    Examples
    --------
    >>> import suffice as sf
    >>> sf.TextFormat(delimiter=";", decimal=",", na_values=["-999"]).decimal
    ','
    """

    delimiter: str | None = None
    decimal: Literal[".", ","] | None = None
    thousands: Literal[",", ".", " ", "'"] | None = None
    encoding: str | None = None
    na_values: Names = ()
    header: bool | None = None
    skip_rows: int = 0
    comment: str | None = None
    columns: Mapping[str, Notation] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not _is_list_of_text(self.na_values):
            msg = f"na_values must be a list of texts such as ['-', '-999'], got {self.na_values!r}"
            raise InvalidParameterError(msg)
        object.__setattr__(self, "na_values", tuple(self.na_values))
        if self.delimiter is not None and len(self.delimiter) != 1:
            msg = f"delimiter must be one character, got {self.delimiter!r}"
            raise InvalidParameterError(msg)
        if self.decimal is not None and self.decimal not in DECIMALS:
            msg = f"decimal must be '.' or ',', got {self.decimal!r}"
            raise InvalidParameterError(msg)
        if self.thousands is not None and self.thousands not in THOUSANDS:
            msg = f"thousands must be ',', '.', ' ' or \"'\", got {self.thousands!r}"
            raise InvalidParameterError(msg)
        if self.decimal is not None and self.decimal == self.thousands:
            msg = f"decimal and thousands are both {self.decimal!r}: name two different marks"
            raise InvalidParameterError(msg)
        if self.skip_rows < 0:
            msg = f"skip_rows must be a number of lines, 0 or more, got {self.skip_rows!r}"
            raise InvalidParameterError(msg)
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def missing(self) -> tuple[str, ...]:
        """All spellings of a missing value."""
        return (*NA_VALUES, *self.na_values)


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)  # raises, too, for codecs such as base64 that do not encode text
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError) as error:
        msg = f"there is no encoding {encoding!r}: name one such as utf-8, utf-16 or latin-1"
        raise InvalidParameterError(msg) from error


@dataclass(frozen=True, slots=True)
class Compute:
    """Where sums are computed: on a Dask cluster, a device, in the database, or locally."""

    client: object = None  # a distributed.Client, or the address of its scheduler
    device: Device | None = None
    database: Literal["auto", "database", "local"] = "auto"  # applies to database tables only

    @classmethod
    def of(cls, on: object) -> Compute:
        """Return the parameter ``on``, which is None, one place, or a client and a device."""
        if on is None:
            return cls()
        if isinstance(on, Compute):
            return on
        compute = cls()
        for place in on if isinstance(on, (list, tuple)) else [on]:
            if place == "database":
                compute = replace(compute, database="database")
            elif place == "local":
                compute = replace(compute, database="local")
            elif _is_client(place):
                compute = replace(compute, client=place)
            else:
                compute = replace(compute, device=place)
        return compute


def _is_client(place: object) -> bool:
    """Return whether this is a Dask client or the address of a scheduler."""
    if isinstance(place, str):
        return "://" in place
    return hasattr(place, "scheduler_info")


@dataclass(frozen=True, slots=True)
class SumSettings:
    """Which sums to collect, and how; ``Moments.of`` describes the parameters."""

    storage: str = "auto"
    fourth: bool | None = False
    power: PowerTransform | str | None = None
    device: Device | None = None
    n_jobs: int | None = None
    exact: RoundingGrid | Literal["auto"] | None = None
