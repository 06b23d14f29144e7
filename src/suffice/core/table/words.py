"""Rows of word counts from a text column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.table.count_rows import CountRows
from suffice.core.table.schema import Category, Schema
from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.typing import RowsLike

# a word has two or more letters, digits or underscores, as in scikit-learn's CountVectorizer
_WORD = re.compile(r"\b\w\w+\b")


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case and in the order of the text."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """The name of a text column, and the words that are counted in it."""

    name: str
    vocabulary: tuple[str, ...]  # distinct words  (d,)

    @classmethod
    def of(cls, name: str, texts: Iterable[str]) -> TextColumn:
        """Return the column with all words of these texts, sorted."""
        words: set[str] = set()
        for text in texts:
            words.update(words_of(text))
        return cls(name, tuple(sorted(words)))

    @property
    def schema(self) -> Schema:
        """The schema of a table with this column, which accepts any text."""
        return Schema((Category(self.name, (), other=True),))

    def rows(self, X: RowsLike) -> CountRows:
        """Return how often each vocabulary word occurs in each text; other words are ignored."""
        from scipy.sparse import csr_array

        position = {word: j for j, word in enumerate(self.vocabulary)}
        columns: list[int] = []
        starts = [0]
        for text in texts_of(X, self.name):
            columns.extend(position[word] for word in words_of(text) if word in position)
            starts.append(len(columns))
        shape = (len(starts) - 1, len(self.vocabulary))
        # a word that occurs twice gives two cells of 1, which ``of_sparse`` adds up
        cells = (
            np.ones(len(columns)),
            np.array(columns, np.int64),
            np.array(starts, np.int64),
        )
        return CountRows.of_sparse(csr_array(cells, shape=shape))


def texts_of(X: Any, name: str) -> list[str]:
    """Return the texts of a column of a frame, or of a sequence, with "" for missing texts."""
    cells = X
    columns = getattr(X, "columns", None)
    if columns is not None:
        if name not in columns:
            raise FeatureMismatchError(
                f"the table has no text column {name!r}: it has {quoted(list(columns), 10)}"
            )
        cells = X[name]
    values = np.asarray(cells, dtype=object)
    if values.ndim != 1:
        raise InvalidInputError(
            f"texts must be a frame with the column {name!r} or a sequence of texts, found an "
            f"array of shape {values.shape}: give one text for each row"
        )
    return [_text_in(cell, row, name) for row, cell in enumerate(values.tolist())]


def _text_in(cell: object, row: int, name: str) -> str:
    if isinstance(cell, str):
        return cell
    is_nan = isinstance(cell, float) and math.isnan(cell)
    if cell is None or is_nan or type(cell).__name__ == "NAType":  # a pandas frame
        return ""
    raise InvalidInputError(
        f"column {name!r} must hold texts, but row {row} holds {cell!r}: convert the column to text"
    )
