"""How classes that share one covariance are scored: by a matrix, by scales, or linearly.

Every part scores in two ways, which agree: ``scores`` with NumPy, and ``stages``, which fill
the score tile for all parts of a kind with compiled loops. Rows and means are measured from one
origin, so that neither loses digits far from zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from suffice.typing import Codes, Floats

    Stage = Callable[[Floats, Floats], None]  # tile, score tile → nothing

SIDE = 4  # rows and columns of one block of a packed matrix


class Part(Protocol):
    """Scores of some of the classes."""

    @property
    def classes(self) -> Codes:
        """Codes of the classes it scores, (m,)."""
        ...

    def scores(self, x: Floats) -> Floats:
        """Return their scores, (n, m)."""
        ...

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        """Yield loops that fill the rows of these parts in a score tile."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Classes that share one covariance."""

    classes: Codes  # (m,)
    constants: Floats  # c  (m,)
    means: Floats  # μ − o  (m, d)


@dataclass(frozen=True, slots=True, eq=False)
class Whitened:
    """Score cₖ − ½ |W (x − μₖ)|², W lower triangular with WᵀW = Σ⁻¹."""

    group: Group
    whitening: Floats  # W  (d, d)

    @property
    def classes(self) -> Codes:
        """Codes of the classes it scores, (m,)."""
        return self.group.classes

    @property
    def whitened_means(self) -> Floats:
        """Means about the first of them, W (μₖ − μ₀), (m, d)."""
        mu = self.group.means
        m: Floats = (mu - mu[0]) @ self.whitening.T
        return m

    def scores(self, x: Floats) -> Floats:
        """Return cₖ − ½ |W (x − μ₀) − W (μₖ − μ₀)|², (n, m)."""
        z = (x - self.group.means[0]) @ self.whitening.T
        if len(self.classes) == 1:
            alone: Floats = self.group.constants - 0.5 * np.square(z).sum(1, keepdims=True)
            return alone
        distances = [np.square(z - m).sum(1) for m in self.whitened_means]
        return self.group.constants - 0.5 * np.stack(distances, axis=1)

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        """Yield one stage for all single classes, and one for each group of tied ones."""
        from suffice.model.kernels import full_scores, packed_lower

        single = [part for part in parts if len(part.classes) == 1]
        if single:
            codes, constants, means = _stacked([part.group for part in single])
            factors = packed_lower(np.stack([part.whitening for part in single]))
            yield lambda t, s: full_scores(t, s, codes, constants, means, factors)
        for part in parts:
            if len(part.classes) > 1:
                yield part._tied()

    def _tied(self) -> Stage:
        from suffice.model.kernels import packed_lower, tied_scores

        codes, constants, means = _stacked([self.group])
        first, whitened = means[0], _padded(self.whitened_means)
        factor = packed_lower(self.whitening[None].copy())[0]
        return lambda t, s: tied_scores(t, s, codes, constants, first, whitened, factor)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Score cₖ − ½ Σⱼ ((xⱼ − μₖⱼ) / σⱼ)²."""

    group: Group
    scale: Floats  # σ  (d,)

    @property
    def classes(self) -> Codes:
        """Codes of the classes it scores, (m,)."""
        return self.group.classes

    def scores(self, x: Floats) -> Floats:
        """Return cₖ − ½ |(x − μₖ) / σ|², (n, m)."""
        distances = [np.square((x - mu) / self.scale).sum(1) for mu in self.group.means]
        return self.group.constants - 0.5 * np.stack(distances, axis=1)

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        """Yield one stage for all classes."""
        from suffice.model.kernels import diagonal_scores

        codes, constants, means = _stacked([part.group for part in parts])
        sizes = [len(part.classes) for part in parts]
        inverse = _padded(np.repeat([1 / part.scale for part in parts], sizes, axis=0))
        yield lambda t, s: diagonal_scores(t, s, codes, constants, means, inverse)


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Score wₖᵀx + bₖ, for all classes at once."""

    weights: Floats  # w  (K, d)
    intercepts: Floats  # b  (K,)

    @property
    def classes(self) -> Codes:
        """All codes, (K,)."""
        return np.arange(len(self.intercepts))

    def scores(self, x: Floats) -> Floats:
        """Return wₖᵀx + bₖ, (n, K)."""
        a: Floats = x @ self.weights.T + self.intercepts
        return a

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        """Yield the one stage."""
        from suffice.model.kernels import linear_scores, packed

        (part,) = parts
        intercepts, weights = _padded(part.intercepts), packed(part.weights.copy())
        yield lambda t, s: linear_scores(t, s, intercepts, weights)


def _stacked(groups: Sequence[Group]) -> tuple[Codes, Floats, Floats]:
    """Return the classes, constants and padded means of all groups, one after the other."""
    return (
        np.concatenate([group.classes for group in groups]),
        np.concatenate([group.constants for group in groups]),
        _padded(np.concatenate([group.means for group in groups])),
    )


def _padded(a: Floats) -> Floats:
    """Return a copy with zeros behind the last axis, its length a multiple of SIDE."""
    out = np.zeros((*a.shape[:-1], -(-a.shape[-1] // SIDE) * SIDE))
    out[..., : a.shape[-1]] = a
    return out
