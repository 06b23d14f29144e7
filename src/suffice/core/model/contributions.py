"""What each column of a row adds to its log odds, and what each feature adds to a divergence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.core.text.numbers import signed_difference
from suffice.core.text.tables import Row, Tabled
from suffice.typing import Codes, Flags, Floats


def replacements(groups: Sequence[Codes], n_columns: int) -> Flags:
    """Return which columns come from the explained row after each step, (1 + G, d)."""
    replaced = np.zeros((len(groups) + 1, n_columns), bool)
    for step, group in enumerate(groups):
        replaced[step + 1 :, group] = True
    return replaced


def parts_of_log_odds(forwards: Floats, backwards: Floats) -> Floats:
    """Return the log odds of the reference and the part of each group of columns, (m, 1 + G).

    ``forwards`` (m, 1 + G) are the log odds as the groups of a reference row are replaced one
    after the other; ``backwards`` as they are put back. Both orders are averaged: a product of two
    columns is shared equally, so that of linear and quadratic scores these are Shapley values.
    """
    parts = np.empty(forwards.shape)
    # forwards starts at the reference row, backwards ends there
    parts[:, 0] = 0.5 * (forwards[:, 0] + backwards[:, -1])
    parts[:, 1:] = 0.5 * (np.diff(forwards, axis=1) - np.diff(backwards, axis=1))
    return parts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowExplanation(Tabled):
    """The log odds of two classes for one row: those of a reference row, and a part per column."""

    predicted: object  # the most probable class
    against: object  # the next one
    reference: float  # log odds of the reference row
    columns: tuple[str, ...]
    parts: Floats  # what each column adds  (d,)

    @property
    def log_odds(self) -> float:
        """Log odds of the row: the reference and all parts."""
        return self.reference + float(self.parts.sum())

    def rows(self) -> list[Row]:
        """Return a row per column, largest part first."""
        order = np.argsort(-np.abs(self.parts), kind="stable")
        return [{"column": self.columns[j], "part": float(self.parts[j])} for j in order]

    def __repr__(self) -> str:
        shown = [
            f"{row['column']} {signed_difference(row['part'])}" for row in self.rows()[:5]
        ]
        return (
            f"RowExplanation({self.predicted} against {self.against}: log odds "
            f"{signed_difference(self.log_odds)} = reference {signed_difference(self.reference)}, "
            f"{', '.join(shown)}{', …' if len(self.parts) > 5 else ''})"
        )


def divergence_of_features(
    priors: Floats,
    means: Floats,
    covariances: Floats,
    groups: Sequence[Codes],
) -> Floats:
    """Return how much divergence between Gaussian classes is lost without each group, (G,).

    The divergence is Σ_kl π_k π_l D(k ‖ l), D that of Kullback and Leibler; without the features B
    both densities are marginal. For classes that share Σ, it is half the squared Mahalanobis
    distance that is lost.

    Parameters
    ----------
    priors, means, covariances : arrays (K,), (K, d), (K, d, d)
    groups : list of G arrays
        Features that belong to one column.
    """
    precisions = np.linalg.inv(covariances)
    lost = np.zeros(len(groups))
    for k in np.flatnonzero(priors > 0):
        for j in np.flatnonzero(priors > 0):
            if j == k:
                continue
            weight = priors[k] * priors[j]
            pushed = precisions[j] @ (means[k] - means[j])  # P_l δ
            spread = precisions[j] @ covariances[k] @ precisions[j]  # P_l Σ_k P_l
            for g, b in enumerate(groups):
                own = precisions[j][np.ix_(b, b)]  # P_l restricted to B
                other = precisions[k][np.ix_(b, b)]
                # D − D₋B = ½ [tr(P_BB⁻¹ (PΣ_kP)_BB) + (Pδ)_Bᵀ P_BB⁻¹ (Pδ)_B − |B|
                #              + log |Q_BB| / |P_BB|],  P of class l and Q of class k
                trace = np.trace(np.linalg.solve(own, spread[np.ix_(b, b)]))
                distance = pushed[b] @ np.linalg.solve(own, pushed[b])
                log_ratio = np.linalg.slogdet(other)[1] - np.linalg.slogdet(own)[1]
                lost[g] += weight * 0.5 * (trace + distance - len(b) + log_ratio)
    return np.maximum(lost, 0.0)
