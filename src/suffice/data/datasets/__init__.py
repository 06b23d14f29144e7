"""Small labelled tables included in the library; nothing is downloaded."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from suffice.core.text.tables import html_table, titled_html
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    import polars as pl

    from suffice.typing import Floats, Labels

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A built-in table: its name, its target column, and where it comes from.

    Examples
    --------
    >>> from suffice import datasets
    >>> X, y = datasets.load("iris").arrays()
    >>> X.shape, sorted(set(y.tolist()))
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    """

    name: str
    target: str
    n_rows: int
    n_features: int
    n_classes: int
    about: str
    origin: str

    @property
    def path(self) -> Path:
        """The CSV file."""
        return _DATA / f"{self.name}.csv"

    def _repr_html_(self) -> str:
        """Return the contents and origin of the table as HTML."""
        sizes = [
            ["rows", self.n_rows],
            ["features", self.n_features],
            ["classes", self.n_classes],
        ]
        return titled_html(
            f"{self.name}: {self.about}",
            html_table(["of", "number"], sizes),
            f"<p>The target is {escape(self.target)}. Origin: {escape(self.origin)}.</p>",
        )

    def frame(self) -> pl.DataFrame:
        """Return all columns as a polars frame, target last, missing values as null."""
        import polars as pl

        return pl.read_csv(self.path)

    def arrays(self) -> tuple[Floats, Labels]:
        """Return the numeric columns (n, d), missing values as NaN, and the labels (n,)."""
        import polars as pl

        table = self.frame()
        x = table.select(self.feature_names)
        return x.cast(pl.Float64).to_numpy(order="fortran"), table[self.target].to_numpy()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of ``arrays()[0]``."""
        from polars import selectors as of

        return tuple(self.frame().select(of.numeric() - of.by_name(self.target)).columns)


_INDEX = json.loads((_DATA / "index.json").read_text(encoding="utf-8"))
DATASETS: Mapping[str, Dataset] = {entry["name"]: Dataset(**entry) for entry in _INDEX}


def names() -> tuple[str, ...]:
    """Return the names of the built-in datasets.

    Examples
    --------
    >>> from suffice import datasets
    >>> "iris" in datasets.names()
    True
    """
    return tuple(DATASETS)


def load(name: str) -> Dataset:
    """Return a built-in dataset by name.

    Examples
    --------
    >>> from suffice import datasets
    >>> datasets.load("exam").target
    'passed'
    """
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name, DATASETS, 1)
    hint = f"did you mean {near[0]!r}? The" if near else "the"
    msg = f"there is no built-in dataset {name!r}: {hint} datasets are {', '.join(DATASETS)}"
    raise InvalidParameterError(msg)


__all__ = ["DATASETS", "Dataset", "load", "names"]
