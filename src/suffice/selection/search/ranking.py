"""A ranking of evaluated candidates, and their weights in an average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from suffice.core.moments import Moments
from suffice.selection.search.candidates import Candidate, doubt_of
from suffice.selection.search.temperatures import best_temperature
from suffice.typing import Floats

_EM_STEPS = 300
# Members with a smaller share are dropped, because they cost time and change almost nothing.
_NEGLIGIBLE = 0.02
_TEMPERATURES = 2.0 ** np.linspace(-1, 1, 9)  # of the average
_SPREAD = 0.2  # prior standard deviation of log T of the average


class Judged(NamedTuple):
    """A candidate, with its posteriors for each held-out row."""

    candidate: Candidate
    true_log: Floats  # log p(true class)  (n,)
    log_posterior: Floats  # log p(k | x)  (K, n)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Candidates, best first, with their posteriors for each held-out row."""

    candidates: tuple[Candidate, ...]
    true_log: Floats  # log p(true class)  (M, n)
    log_posterior: Floats  # log p(k | x)  (M, K, n)
    weight: Floats  # weight of each row  (n,)
    # moments of these rows under each view, by the view's ``id``
    moments: Mapping[int, Moments]

    @classmethod
    def of(
        cls,
        judged: Sequence[Judged],
        weight: Floats,
        moments: Mapping[int, Moments],
    ) -> Self:
        """Return the ranking by log-loss on the rows on which all candidates were evaluated."""
        ranked = sorted(judged, key=lambda each: each.candidate.log_loss)
        n_rows = min(len(each.true_log) for each in ranked)
        return cls(
            candidates=tuple(each.candidate for each in ranked),
            true_log=np.stack([each.true_log[:n_rows] for each in ranked]),
            log_posterior=np.stack([each.log_posterior[:, :n_rows] for each in ranked]),
            weight=weight[:n_rows],
            moments=moments,
        )

    def with_shares(self) -> list[Candidate]:
        """Return the candidates with the weights that make their best average."""
        shares = mixing_weights(self.true_log, self.weight)
        return [
            replace(candidate, weight=share)
            for candidate, share in zip(self.candidates, shares, strict=True)
        ]

    def temperature(self, candidates: Sequence[Candidate]) -> float:
        """Return the temperature of an average with the lowest log-loss of held-out rows.

        The candidates have weights, and the order of the ranking. An average of several models is
        less confident than its members, so the temperature is often below 1.
        """
        shares = np.array([candidate.weight for candidate in candidates])
        members = np.flatnonzero(shares)
        # m_k = Σ_m s_m p_m(k | x)
        n_classes, n_rows = self.log_posterior[0].shape
        mixture = np.zeros((n_classes, n_rows))
        for m in members:
            mixture += shares[m] * np.nan_to_num(np.exp(self.log_posterior[m]))
        true = shares[members] @ np.exp(self.true_log[members])
        doubt = doubt_of(n_rows)
        losses = np.empty((1, len(_TEMPERATURES)))
        for t, temperature in enumerate(_TEMPERATURES):
            # p = (1 − ε) m_true^(1/T) / Σ_k m_k^(1/T) + ε / K
            total = np.maximum(mixture ** (1 / temperature), np.finfo(float).tiny).sum(0)
            p = (1 - doubt) * true ** (1 / temperature) / total + doubt / n_classes
            losses[0, t] = np.average(-np.log(p), weights=self.weight)
        _, best = best_temperature(losses, _TEMPERATURES, n_rows, _SPREAD)
        return float(best[0])

    def averaged(self, chosen: Sequence[int]) -> Floats:
        """Return log p(true class) for the best average of some candidates, (n,)."""
        true_log = self.true_log[list(chosen)]
        top = true_log.max(0)
        shares = mixing_weights(true_log, self.weight)
        return np.asarray(top + np.log(shares @ np.exp(true_log - top)))


def mixing_weights(true_log: Floats, weight: Floats) -> Floats:
    """Return the shares s (M,) that nearly maximise Σ_n w_n log Σ_m s_m p_m.

    Row m of exp(true_log) (M, n) is p_m, the probability of the true class under member m. EM
    starts from equal shares. A pseudo-count of 1/M per member prevents that few rows exclude a
    member.
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
