"""Multivariate analysis of variance as functions of the roots of W⁻¹B.

Letters as in the literature: d features, q = K − 1 differences, v degrees of freedom of W,
s = min(d, q) roots λ, m = (|d − q| − 1)/2, n = (v − d − 1)/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.evaluation.diagnostics.nulls import ChiSquareTest, FTest

if TYPE_CHECKING:
    from suffice.evaluation.diagnostics.words import Row
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """One way to sum up the roots, with its F test."""

    name: str
    value: float
    f: FTest
    kind: str  # "exact", "approximate", or "bound": p is at least the one given

    def row(self) -> Row:
        """Return name, value, F, degrees of freedom and p-value."""
        test = self.f.row()
        head = {"criterion": self.name, "value": self.value, "f": test.pop("statistic")}
        return head | test | {"kind": self.kind}


@dataclass(frozen=True, slots=True, eq=False)
class Roots:
    """The roots of W⁻¹B and the sizes that their distribution depends on."""

    values: Floats  # λ, falling  (s,)
    d: int
    q: int
    v: float

    @property
    def s(self) -> int:
        """Number of roots."""
        return min(self.d, self.q)

    @property
    def m(self) -> float:
        """(|d − q| − 1) / 2."""
        return (abs(self.d - self.q) - 1) / 2

    @property
    def n(self) -> float:
        """(v − d − 1) / 2."""
        return (self.v - self.d - 1) / 2

    @property
    def log_lambda(self) -> float:
        """Log of Wilks' Λ = Π 1/(1 + λ)."""
        return float(-np.log1p(self.values).sum())

    def without_first(self, j: int) -> Roots:
        """Return what is left once the first j canonical variables are taken out."""
        return Roots(self.values[j:], self.d - j, self.q - j, self.v)

    def wilks(self) -> Criterion:
        """Return Wilks' Λ with Rao's F, exact for at most 2 features or 3 classes."""
        d, q = self.d, self.q
        # t = √((d²q² − 4) / (d² + q² − 5)), or 1
        t = np.sqrt((d**2 * q**2 - 4) / (d**2 + q**2 - 5)) if d**2 + q**2 > 5 else 1.0
        # df₂ = (v − (d − q + 1)/2) t − (dq − 2)/2
        df2 = (self.v - (d - q + 1) / 2) * t - (d * q - 2) / 2
        # F = (Λ^(−1/t) − 1) df₂ / (dq)
        f = np.expm1(-self.log_lambda / t) * df2 / (d * q)
        kind = "exact" if self.s <= 2 else "approximate"
        test = FTest(float(f), d * q, float(df2))
        return Criterion("Wilks' lambda", float(np.exp(self.log_lambda)), test, kind)

    def bartlett(self) -> ChiSquareTest:
        """Return Bartlett's χ² of Wilks' Λ."""
        # χ² = −(v − (d − q + 1)/2) log Λ
        scale = self.v - (self.d - self.q + 1) / 2
        return ChiSquareTest(-scale * self.log_lambda, self.d * self.q)

    def pillai(self) -> Criterion:
        """Return Pillai's trace V = Σ λ/(1 + λ)."""
        s, a, b = self.s, 2 * self.m + self.s + 1, 2 * self.n + self.s + 1
        value = float((self.values / (1 + self.values)).sum())
        # F = b V / (a (s − V)),  s − V = Σ 1/(1 + λ)
        rest = float((1 / (1 + self.values)).sum())
        test = FTest(b * value / (a * rest), s * a, s * b)
        return Criterion("Pillai's trace", value, test, self._kind)

    def hotelling_lawley(self) -> Criterion:
        """Return the Hotelling–Lawley trace U = Σ λ, by McKeon's F where n > 0."""
        value = float(self.values.sum())
        test = self._mckeon(value) if self.n > 0 else self._pillai_f(value)
        return Criterion("Hotelling-Lawley trace", value, test, self._kind)

    def roy(self) -> Criterion:
        """Return Roy's largest root, whose F is an upper bound unless it is the only root."""
        largest = float(self.values[0])
        r = max(self.d, self.q)
        # F = λ₁ (v − r + q) / r
        df2 = self.v - r + self.q
        test = FTest(largest * df2 / r, r, df2)
        kind = "exact" if self.s == 1 else "bound"
        return Criterion("Roy's largest root", largest, test, kind)

    @property
    def _kind(self) -> str:
        return "exact" if self.s == 1 else "approximate"

    def _mckeon(self, u: float) -> FTest:
        d, q, n = self.d, self.q, self.n
        # b = (d + 2n)(q + 2n) / (2 (2n + 1)(n − 1)),  g = (dq + 2)/(b − 1)
        top, bottom = (d + 2 * n) * (q + 2 * n), 2 * (2 * n + 1) * (n - 1)
        g = (d * q + 2) * bottom / (top - bottom)
        # F = U (4 + g) / (c dq),  c = (2 + g) / (2n)
        c = (2 + g) / (2 * n)
        return FTest(u * (4 + g) / (c * d * q), d * q, 4 + g)

    def _pillai_f(self, u: float) -> FTest:
        s, a, b = self.s, 2 * self.m + self.s + 1, 2 * (self.s * self.n + 1)
        # F = 2 (s n + 1) U / (s² (2m + s + 1))
        return FTest(b * u / (s**2 * a), s * a, b)
