"""Evaluated candidates, best first, and their weights in an average, from held-out rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from suffice.core.moments import Moments
from suffice.selection.search.candidates import Candidate
from suffice.typing import Floats

_EM_STEPS = 300
_NEGLIGIBLE = 0.02  # a smaller share costs time and changes nothing


class Judged(NamedTuple):
    """A candidate, and its log p(true class) of held-out rows."""

    candidate: Candidate
    true_log: Floats  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Candidates, best first, and their log-likelihood of the true class of held-out rows."""

    candidates: tuple[Candidate, ...]
    true_log: Floats  # log p(true class)  (M, n)
    weight: Floats  # of the rows  (n,)
    moments: Mapping[int, Moments]  # of these rows as each view shows them, by its ``id``

    @classmethod
    def of(
        cls,
        judged: Sequence[Judged],
        weight: Floats,
        moments: Mapping[int, Moments],
    ) -> Self:
        """Return the ranking by log-loss, on the rows that all were evaluated on."""
        ranked = sorted(judged, key=lambda each: each.candidate.log_loss)
        n_rows = min(len(each.true_log) for each in ranked)
        return cls(
            candidates=tuple(each.candidate for each in ranked),
            true_log=np.stack([each.true_log[:n_rows] for each in ranked]),
            weight=weight[:n_rows],
            moments=moments,
        )

    def with_shares(self) -> list[Candidate]:
        """Return the candidates with the weights of their best average."""
        shares = mixing_weights(self.true_log, self.weight)
        return [
            replace(candidate, weight=share)
            for candidate, share in zip(self.candidates, shares, strict=True)
        ]

    def averaged(self, chosen: Sequence[int]) -> Floats:
        """Return log p(true class) under the best average of some of the candidates, (n,)."""
        true_log = self.true_log[list(chosen)]
        top = true_log.max(0)
        shares = mixing_weights(true_log, self.weight)
        return np.asarray(top + np.log(shares @ np.exp(true_log - top)))


def mixing_weights(true_log: Floats, weight: Floats) -> Floats:
    """Return shares (M,) that make Σ_n w_n log Σ_m s_m p_m large, p_m of the true class (M, n).

    They are found by EM from equal shares. Every member is credited with 1/M of one more row, so
    that few rows do not rule members out.
    """
    p = np.exp(true_log - true_log.max(0))
    w = weight / weight.sum()
    m, n = p.shape
    shares = np.full(m, 1 / m)
    for _ in range(_EM_STEPS):
        # s_m ← (n s_m E[p_m / Σ_j s_j p_j] + 1/M) / (n + 1)
        shares = (n * shares * (p @ (w / (shares @ p))) + 1 / m) / (n + 1)
    is_negligible = shares < min(_NEGLIGIBLE, shares.max())
    shares = np.where(is_negligible, 0.0, shares)
    return np.asarray(shares / shares.sum())
