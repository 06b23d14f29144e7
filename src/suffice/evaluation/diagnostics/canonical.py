"""Canonical correlations between features and classes, tested one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.evaluation.diagnostics.words import LEVEL, Row, as_frame, axes
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from suffice.evaluation.diagnostics.nulls import ChiSquareTest, FTest
    from suffice.evaluation.diagnostics.roots import Roots
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CanonicalCorrelations(Tabled):
    """Correlations ρ of discriminant coordinates with class membership, falling.

    Test j asks whether ρ_j and all smaller ones are zero.
    """

    roots: Floats  # λ of W⁻¹B  (s,)
    correlations: Floats  # ρ = √(λ/(1 + λ))  (s,)
    lambdas: Floats  # Λ_j = Π_{i ≥ j} (1 − ρ_i²)  (s,)
    f: tuple[FTest, ...]  # Rao's, of each Λ_j
    chi_square: tuple[ChiSquareTest, ...]  # Bartlett's, of each Λ_j

    @classmethod
    def of(cls, roots: Roots) -> CanonicalCorrelations:
        """Return the correlations and tests that the roots of W⁻¹B imply."""
        rest = [roots.without_first(j) for j in range(roots.s)]
        rho = np.sqrt(roots.values / (1 + roots.values))
        lambdas = np.exp([part.log_lambda for part in rest])
        return cls(
            roots.values,
            rho,
            lambdas,
            tuple(part.wilks().f for part in rest),
            tuple(part.bartlett() for part in rest),
        )

    @property
    def p_values(self) -> Floats:
        """Return the p-value of each sequential test by Rao's F, shape (s,)."""
        return np.array([test.p_value for test in self.f])

    @property
    def n_dimensions(self) -> int:
        """Return how many tests in a row, from the first, are below the 5 % level."""
        return int(np.cumprod(self.p_values <= LEVEL).sum())

    def rows(self) -> list[Row]:
        """Return a row for each correlation."""
        return [
            {
                "dimension": j + 1,
                "correlation": float(self.correlations[j]),
                "root": float(self.roots[j]),
                "wilks_lambda": float(self.lambdas[j]),
                "f": f.statistic,
                "df1": f.df1,
                "df2": f.df2,
                "p_value": f.p_value,
                "chi_square": chi.statistic,
                "chi_square_p_value": chi.p_value,
            }
            for j, (f, chi) in enumerate(zip(self.f, self.chi_square, strict=True))
        ]

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame."""
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the correlations, those beyond chance filled."""
        ax = axes(ax)
        place = np.arange(1, len(self.correlations) + 1)
        colors = ["C0" if j < self.n_dimensions else "0.8" for j in range(len(place))]
        ax.bar(place, self.correlations, color=colors)
        ax.set_xticks(place)
        ax.set_ylim(0, 1)
        ax.set_xlabel("discriminant direction")
        ax.set_ylabel("canonical correlation")
        return ax

    def __repr__(self) -> str:
        values = ", ".join(f"{rho:.3g}" for rho in self.correlations[:4])
        more = ", …" if len(self.correlations) > 4 else ""
        return (
            f"{self.n_dimensions} of {len(self.correlations)} canonical correlations "
            f"beyond chance ({values}{more})"
        )
