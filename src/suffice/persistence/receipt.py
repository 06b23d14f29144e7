"""Receipts of forgetting, with which anybody can check what was removed from exact sums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from suffice import __version__
from suffice.core.moments.moments import Moments
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import FileFormatError, InvalidInputError, MissingStatisticsError
from suffice.persistence import archive

_KIND = "receipt of forgetting"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Receipt:
    """The digests of exact sums before and after a removal, and of the removed rows.

    Anybody who has the remaining rows can sum them on ``grid`` and compare the digest with
    ``after``.
    """

    before: str  # SHA-256
    removed: str
    after: str
    rows_removed: int
    rows_left: int
    features: tuple[str, ...] | None
    storage: str
    grid: dict[str, Any]
    version: str
    time: str  # UTC, ISO 8601

    @classmethod
    def of(cls, before: Moments, removed: Moments, after: Moments) -> Receipt:
        """Return the receipt for ``after``, which is ``before - removed``."""
        if after.exact is None:
            raise MissingStatisticsError(
                "a receipt needs exact sums, because others differ in their last bits from sums "
                "of the remaining rows: collect the sums with exact=grid"
            )
        return cls(
            before=before.digest(),
            removed=removed.digest(),
            after=after.digest(),
            rows_removed=int(removed.counts.sum()),
            rows_left=int(after.counts.sum()),
            features=after.feature_names,
            storage=after.storage,
            grid=after.exact.grid.to_json(),
            version=__version__,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def save(self, path: str | Path) -> None:
        """Write the receipt as JSON."""
        with archive.replacing(path) as file:
            file.write((json.dumps(self.to_json(), indent=1) + "\n").encode())

    def to_json(self) -> dict[str, Any]:
        """Return the receipt as a dictionary of numbers and text."""
        return {"suffice": _KIND, "format": _FORMAT, **asdict(self)}

    @classmethod
    def load(cls, path: str | Path) -> Receipt:
        """Return the receipt in a file that ``save`` wrote."""
        try:
            return cls.from_json(json.loads(Path(path).read_text()))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise FileFormatError(
                f"{path} is not a receipt of suffice forget, or was damaged ({error})"
            ) from error

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Receipt:
        """Return the receipt for the result of ``to_json``; raise a ValueError if it is invalid."""
        fields = dict(document)
        if fields.pop("suffice") != _KIND or fields.pop("format") != _FORMAT:
            raise ValueError("its kind or format is unknown")
        features = fields.pop("features")
        receipt = cls(features=None if features is None else tuple(features), **fields)
        texts = [receipt.before, receipt.removed, receipt.after, receipt.storage]
        texts += [receipt.version, receipt.time, *(receipt.features or ())]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a digest, a name or a time is not text")
        if not all(
            type(n) is int and n >= 0 for n in (receipt.rows_removed, receipt.rows_left)
        ):
            raise ValueError("a number of rows is not a count")
        RoundingGrid.from_json(receipt.grid)
        return receipt

    def verify(self, remaining: Moments, removed: Moments | None = None) -> None:
        """Raise unless the sums of the remaining rows match the receipt.

        Given ``removed``, also check the digests of the removed rows and of the sums before.
        """
        _compare("the remaining rows", self.after, remaining, self.rows_left)
        if removed is None:
            return
        _compare("the removed rows", self.removed, removed, self.rows_removed)
        total = remaining + removed
        _compare("all rows", self.before, total, self.rows_left + self.rows_removed)


def _compare(what: str, stated: str, sums: Moments, n_rows: int) -> None:
    n_found = int(sums.counts.sum())
    if n_found != n_rows:
        raise InvalidInputError(
            f"the receipt does not hold: it states {n_rows:,} rows for {what}, but there are "
            f"{n_found:,}"
        )
    if sums.digest() != stated:
        raise InvalidInputError(
            f"the receipt does not hold: the sums of {what} have the digest {sums.digest()}, but "
            f"it states {stated}"
        )
