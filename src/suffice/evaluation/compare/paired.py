"""Whether a difference of errors is more than the luck of the folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

if TYPE_CHECKING:
    from suffice.evaluation.compare.outcome import Outcome
    from suffice.typing import Floats


def corrected_t_test(differences: Floats, test_ratio: float) -> float:
    """Return the two-sided p-value of a mean difference over folds.

    Training sets of folds overlap, so that differences vary less from fold to fold than from
    data set to data set; the corrected variance makes up for it.

    Parameters
    ----------
    differences : array (F,)
        Of the two errors, fold by fold.
    test_ratio : float
        Rows judged by for each row learnt from.

    References
    ----------
    Nadeau & Bengio (2003), *Machine Learning* 52, 239–281.

    Examples
    --------
    >>> import numpy as np
    >>> d = np.array([0.02, 0.05, 0.0, 0.04, 0.03, 0.01, 0.06, 0.02, 0.03, 0.04])
    >>> round(corrected_t_test(d, 1 / 9), 4)
    0.006
    """
    d = differences[np.isfinite(differences)]
    if len(d) < 2:
        return np.nan
    if not d.any():
        return 1.0
    # t = d̄ / √((1/F + n_test/n_train) s²),  F − 1 degrees of freedom
    scale = np.sqrt((1 / len(d) + test_ratio) * d.var(ddof=1))
    t = np.abs(d.mean()) / scale if scale > 0 else np.inf
    return float(2 * stdtr(len(d) - 1, -t))


def p_against(member: Outcome, best: Outcome, test_ratio: float) -> float:
    """Return the p-value of a member's error against the best, on the rows both were judged by."""
    if member is best:
        return np.nan
    shared = np.intersect1d(member.rows, best.rows)
    everywhere = len(shared) == member.n_rows == best.n_rows
    within = None if everywhere else shared
    return corrected_t_test(member.fold_errors(within) - best.fold_errors(within), test_ratio)
