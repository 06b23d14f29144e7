"""How many folds and pooling values the search can afford."""

from dataclasses import dataclass
from typing import Self

from suffice.core.table import Table
from suffice.selection.search.regularisation_grid import POOLINGS, is_wide

ARITHMETIC = 1e11  # limit on the multiplications of the evaluation, which take some seconds
_FEW_ROWS = 500  # with fewer rows, there are ten folds instead of five


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of folds, and the pooling values that are evaluated on the folds."""

    n_folds: int
    poolings: tuple[float, ...] = POOLINGS

    @classmethod
    def of(cls, table: Table) -> Self:
        """Return the largest effort within the limit on arithmetic."""
        n = table.n_rows
        d = table.n_features
        k = table.n_classes
        most = 10 if n < _FEW_ROWS else 5
        most = max(min(most, n // 2), 2)
        five = min(most, 5)
        three = min(most, 3)
        if is_wide(n, d):
            return cls(five, (1.0,))
        efforts = (
            cls(most),
            cls(five),
            cls(five, (0.0, 0.5, 0.95, 1.0)),
            cls(three, (0.5, 0.95, 1.0)),
            cls(three, (0.8, 1.0)),
            cls(three, (1.0,)),
        )
        for effort in efforts:
            if effort.multiplications(n, d, k) <= ARITHMETIC:
                return effort
        return efforts[-1]

    def multiplications(self, n: int, d: int, k: int) -> float:
        """Return the approximate number of multiplications for two views of an (n, d) table."""
        # for each class, fold and λ: the eigenvectors of a matrix, and the rotation of the held-out
        # rows
        each = 10.0 * d**3 + n / self.n_folds * d**2
        n_untied = sum(pooling < 1 for pooling in self.poolings)
        return 2 * self.n_folds * n_untied * k * each

    def describe(self, n_rows: int) -> str:
        compared = (
            f"All settings were compared by {self.n_folds}-fold cross-validation on {n_rows:,} "
            "rows"
        )
        if self.poolings == POOLINGS:
            return f"{compared}."
        poolings = ", ".join(f"{pooling:g}" for pooling in self.poolings)
        return (
            f"{compared}, with pooling {poolings} only, because more settings would take too "
            "long."
        )
