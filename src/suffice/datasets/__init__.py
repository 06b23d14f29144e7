"""Small labelled tables that come with the library: nothing is downloaded."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
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

    def frame(self) -> Any:
        """Return every column as a polars frame, target last, missing cells null."""
        import polars as pl

        return pl.read_csv(self.path)

    def arrays(self) -> tuple[Floats, Labels]:
        """Return the numeric columns (n, d), missing cells NaN, and the labels (n,)."""
        from polars import selectors as of

        table = self.frame()
        x = table.select(of.numeric() - of.by_name(self.target))
        return x.cast(float).to_numpy(order="fortran"), table[self.target].to_numpy()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of ``arrays()[0]``."""
        from polars import selectors as of

        return tuple(self.frame().select(of.numeric() - of.by_name(self.target)).columns)


# fmt: off
_ALL = (
    Dataset("iris", "species", 150, 4, 3,
            "three kinds of iris by the sizes of sepal and petal, in cm",
            "Anderson 1935; Fisher 1936"),
    Dataset("penguins", "species", 344, 7, 3,
            "three kinds of penguin; text columns and missing cells included",
            "Gorman, Williams & Fraser 2014 (palmerpenguins)"),
    Dataset("wine", "cultivar", 178, 13, 3,
            "three Italian wines by their chemical analysis", "Forina et al. 1988"),
    Dataset("breast_cancer", "diagnosis", 569, 30, 2,
            "malignant or benign by the shapes of cell nuclei",
            "Street, Wolberg & Mangasarian 1993"),
    Dataset("digits", "digit", 1797, 64, 10,
            "handwritten digits as 8 × 8 pixels, three of them constant",
            "Alpaydin & Kaynak 1998"),
    Dataset("exam", "passed", 20, 1, 2,
            "hours of study and whether the exam was passed", "the classical logistic example"),
    Dataset("fish", "species", 159, 6, 7,
            "seven kinds of fish by weight, three lengths, height and width",
            "Brofeldt 1917; Puranen 1996"),
)
# fmt: on

DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def names() -> tuple[str, ...]:
    """Return the names of the built-in data sets."""
    return tuple(DATASETS)


def load(name: str) -> Dataset:
    """Return a built-in data set by name.

    Examples
    --------
    >>> from suffice import datasets
    >>> datasets.load("exam").target
    'passed'
    """
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name, DATASETS, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = f"no built-in data set is called {name!r}: {hint}there are {', '.join(DATASETS)}"
    raise InvalidParameterError(msg)


__all__ = ["DATASETS", "Dataset", "load", "names"]
