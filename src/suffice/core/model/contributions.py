"""Contributions of columns to a row's log odds, and of features to a divergence.

Group by group, the values of a reference row are replaced with those of the explained row; a_g are
the log odds after the groups 1 … g are replaced. Then the values of the reference row are put back
in the same order; b_g are the log odds after the groups 1 … g are put back. The part of group g is
½ [(a_g − a_{g−1}) − (b_g − b_{g−1})]. All parts add up to the difference between the log odds of
the row and those of the reference row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.core.text.numbers import signed_difference
from suffice.core.text.tables import Row, Tabled
from suffice.typing import Codes, Flags, Floats


def replacements(groups: Sequence[Codes], n_columns: int) -> Flags:
    """Return which columns come from the explained row after 0, 1, …, G steps, (1 + G, d)."""
    replaced = np.zeros((len(groups) + 1, n_columns), bool)
    for step, group in enumerate(groups):
        replaced[step + 1 :, group] = True
    return replaced


def parts_of_log_odds(forwards: Floats, backwards: Floats) -> Floats:
    """Return the log odds of the reference and the part of each group of columns, (m, 1 + G).

    ``forwards`` (m, 1 + G) holds the log odds a_g while groups are replaced, ``backwards`` the log
    odds b_g while they are put back in the same order. The average of both divides a product of two
    columns equally between these columns. For linear and quadratic scores, the parts are therefore
    Shapley values.
    """
    parts = np.empty(forwards.shape)
    # log odds of the reference row = a_0 = b_G: forwards starts there, and backwards ends there
    parts[:, 0] = 0.5 * (forwards[:, 0] + backwards[:, -1])
    # part_g = ½ [(a_g − a_{g−1}) − (b_g − b_{g−1})]
    parts[:, 1:] = 0.5 * (np.diff(forwards, axis=1) - np.diff(backwards, axis=1))
    return parts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowExplanation(Tabled):
    """The log odds of two classes for a row, as the reference row's plus one part per column."""

    predicted: object  # the most probable class
    against: object  # the second most probable class
    reference: float  # log odds of the reference row
    columns: tuple[str, ...]
    parts: Floats  # contribution of each column  (d,)

    @property
    def log_odds(self) -> float:
        """Log odds of the row: the log odds of the reference row plus all parts."""
        return self.reference + float(self.parts.sum())

    def rows(self) -> list[Row]:
        """Return a table row for each column, with the largest part first."""
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
    """Return the divergence between classes that is lost without each group of features, (G,).

    The divergence is Σ_kl π_k π_l D(k ‖ l), where D is the Kullback–Leibler divergence. D₋B, the
    divergence of the marginal densities without the features B, replaces D to give what is left. If
    classes share Σ, D is half the squared Mahalanobis distance.

    Parameters
    ----------
    priors, means, covariances : arrays (K,), (K, d), (K, d, d)
    groups : list of G arrays
        Features of each group, such as those of one column.
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
                #              + log |Q_BB| / |P_BB|],  P = Σ_l⁻¹, Q = Σ_k⁻¹, l is ``j``
                trace = np.trace(np.linalg.solve(own, spread[np.ix_(b, b)]))
                distance = pushed[b] @ np.linalg.solve(own, pushed[b])
                log_ratio = np.linalg.slogdet(other)[1] - np.linalg.slogdet(own)[1]
                lost[g] += weight * 0.5 * (trace + distance - len(b) + log_ratio)
    return np.maximum(lost, 0.0)
