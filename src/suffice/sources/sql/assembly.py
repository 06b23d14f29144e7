"""From what a database answers to moments: sums about pilots are moved to the class means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidInputError
from suffice.moments import Moments
from suffice.moments.collect import ratio, two_sum
from suffice.moments.labels import encode
from suffice.moments.scatter import DiagonalScatter, PerClassScatter, PooledScatter, Scatter
from suffice.sources.sql.queries import LABEL, ODD, ROWS, SEEN, WEIGHT

if TYPE_CHECKING:
    import polars as pl

    from suffice.moments.collect import Storage
    from suffice.sources.sql.queries import Queries
    from suffice.typing import Codes, Floats, Labels

_WORST = 1e4  # w δ² / S: what is lost to cancellation is so many times the rounding error


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Sums of each class about the pilots, or about its own centre near them."""

    labels: Labels  # (K,)
    rows: Codes  # usable rows  (K,)
    counts: Codes  # of these, rows of positive weight  (K,)
    weights: Floats  # Σ w  (K,)
    odd: int  # weights that are none
    centres: Floats  # c, measured from the pilots  (K, d)
    sums: Floats  # Σ w z  (K, d)
    squares: Floats  # Σ w z²  (K, d)
    scatter: Scatter  # Σ w z zᵀ

    @classmethod
    def of(
        cls, head: pl.DataFrame, d: int, storage: Storage, pooled: pl.DataFrame | None = None
    ) -> Answer:
        """Return what the answers of a database say."""

        def columns(prefix: str) -> Floats:
            names = [f"{prefix}{j}" for j in range(d)]
            return _numbers(head, names) if names[0] in head.columns else np.zeros((head.height, d))

        squares = _numbers(head, [f"q{j}_{j}" for j in range(d)])
        return cls(
            head.get_column(LABEL).to_numpy(),
            _numbers(head, [ROWS])[:, 0].astype(np.intp),
            _numbers(head, [SEEN])[:, 0].astype(np.intp),
            _numbers(head, [WEIGHT])[:, 0],
            int(head.get_column(ODD).sum()),
            columns("c"),
            columns("s"),
            squares,
            _raw_scatter(head, squares, storage, pooled),
        )

    @property
    def offsets(self) -> Floats:
        """Mean of z, δ = Σ w z / w, (K, d)."""
        return ratio(self.sums, self.weights[:, None])


def keeps_digits(answer: Answer) -> bool:
    """Return whether no spread S = Σ w z² − w δ² has lost more digits than it may."""
    w, delta = answer.weights[:, None], answer.offsets
    with np.errstate(over="ignore", invalid="ignore"):  # told later, by column
        lost, left = w * delta**2, answer.squares - w * delta**2
    if answer.scatter.storage == "pooled":
        lost, left = lost.sum(0), left.sum(0)
    return bool(np.all(lost <= _WORST * left) or not np.isfinite(left).all())


def assembled(answer: Answer, queries: Queries, label: str) -> Moments:
    """Return the moments of the rows, after the checks that every source makes."""
    weight = queries.roles.weight
    if answer.odd:
        msg = (
            f"{label}: {answer.odd:,} values of the weight column {weight!r} are negative or not "
            "finite: correct them, or leave those rows out"
        )
        raise InvalidInputError(msg)
    if not answer.counts.sum():
        return Moments.empty()
    _refuse_infinite(answer, queries, label)
    classes, codes = encode(answer.labels)
    delta = answer.offsets
    # μ = (pilot + c) + δ, each sum in two parts
    high, low = two_sum(queries.pilots, answer.centres)
    means, means_low = two_sum(high, low + delta)
    seen = (answer.weights > 0)[:, None]
    order = np.argsort(codes)
    return Moments(
        classes,
        queries.roles.features,
        answer.counts[order],
        answer.weights[order],
        np.where(seen, means, 0.0)[order],
        np.where(seen, means_low, 0.0)[order],
        # S = Σ w z zᵀ − w δ δᵀ
        answer.scatter.shifted(-answer.weights, delta).taken(order),
        None,
    )


def _refuse_infinite(answer: Answer, queries: Queries, label: str) -> None:
    bad = np.flatnonzero(~np.isfinite(answer.squares).all(0))
    if len(bad):
        name = queries.roles.features[int(bad[0])]
        msg = f"{label}: the squares of column {name!r} overflow: rescale it"
        raise InvalidInputError(msg)


def _raw_scatter(
    head: pl.DataFrame, squares: Floats, storage: Storage, pooled: pl.DataFrame | None
) -> Scatter:
    if storage == "diagonal":
        return DiagonalScatter(squares)
    if pooled is None:
        return PerClassScatter(_matrices(head, squares))
    return PooledScatter(_matrices(pooled, squares.sum(0)[None])[0])


def _matrices(frame: pl.DataFrame, squares: Floats) -> Floats:
    """Return symmetric matrices of the pairs q_i_j and these diagonals, (K, d, d)."""
    d = squares.shape[1]
    i, j = np.triu_indices(d, 1)
    pairs = _numbers(frame, [f"q{a}_{b}" for a, b in zip(i, j, strict=True)])
    matrices = np.zeros((len(squares), d, d))
    matrices[:, i, j] = matrices[:, j, i] = pairs
    matrices[:, np.arange(d), np.arange(d)] = squares
    return matrices


def _numbers(frame: pl.DataFrame, names: list[str]) -> Floats:
    if not names:
        return np.zeros((frame.height, 0))
    columns = [frame.get_column(name).cast(float).fill_null(0.0).to_numpy() for name in names]
    return np.stack(columns, axis=1)
