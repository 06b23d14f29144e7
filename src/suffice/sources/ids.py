"""Columns that name rows rather than describe them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from suffice.sources.kinds import TEXT, kind_of
from suffice.sources.source import values_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import polars as pl

# id, row_id, idCustomer, uuid, key, index, Unnamed: 0, or no name at all
_NAME = re.compile(
    r"|unnamed: \d+|index|rownames?|key|u?u?id|.*[_\-. ](id|uuid|key)|id[_\-. ].*",
    re.IGNORECASE,
)
_CAMEL = re.compile(r".*[a-z](Id|ID)|id[A-Z].*")
_FEW = 20  # rows; fewer distinct texts may be chance


def id_columns(sample: pl.DataFrame, skip: AbstractSet[str | None]) -> list[str]:
    """Return the columns that are ids: no value twice, and the name or the text of one."""
    names = [name for name in sample.columns if name not in skip]
    return [name for name in names if _is_id(name, values_of(sample, name))]


def _is_id(name: str, column: pl.Series) -> bool:
    text = kind_of(column.dtype) == TEXT
    if not (text or column.dtype.is_integer()) or column.n_unique() < len(column):
        return False
    if _NAME.fullmatch(name) or _CAMEL.fullmatch(name):
        return True
    return text and len(column) >= _FEW
