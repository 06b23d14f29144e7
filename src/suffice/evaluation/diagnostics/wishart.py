"""Scatter matrices of normal rows, drawn without drawing the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Floats


def wishart_roots(df: float, d: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """Return A with A Aᵀ ~ Wishart(df, I), shape (n_draws, d, d), lower triangular.

    References
    ----------
    Bartlett (1933), *Proceedings of the Royal Society of Edinburgh* 53, 260–283.

    Examples
    --------
    >>> import numpy as np
    >>> A = wishart_roots(10.0, 2, 20_000, np.random.default_rng(0))
    >>> (A @ A.transpose(0, 2, 1)).mean(0).round(0)
    array([[10.,  0.], [ 0., 10.]])
    """
    root = np.tril(rng.standard_normal((n_draws, d, d)), -1)
    # A_jj² ~ χ² with df − j degrees of freedom
    diagonal = np.arange(d)
    root[:, diagonal, diagonal] = np.sqrt(rng.chisquare(df - diagonal, (n_draws, d)))
    return root
