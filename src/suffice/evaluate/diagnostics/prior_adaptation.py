"""Estimate new priors from unlabelled rows, and test whether they have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from suffice.core.decision.prior_shift import PriorShift, shifted_priors
from suffice.core.table.foreign import to_numpy
from suffice.evaluate.diagnostics.diagnostic import can_count_rows
from suffice.typing import RowsLike

if TYPE_CHECKING:
    from suffice.estimators.gaussian_estimator import GaussianEstimator

Model = TypeVar("Model", bound="GaussianEstimator")


def adapt_priors(model: Model, X: RowsLike) -> tuple[Model, PriorShift]:
    """Return a copy of a model with priors adapted to unlabelled rows, and a test of the change.

    The new priors maximise the likelihood of the rows; the class densities do not change.
    Saerens, Latinne & Decaestecker (2002), *Neural Computation* 14(1), 21–41.

    Parameters
    ----------
    model : fitted Gaussian classifier
        The model, which is not modified.
    X : array or frame (m, d)
        Rows without labels.

    Returns
    -------
    adapted : a copy of ``model``
        Its ``priors_`` are the new ones.
    shift : PriorShift
        The new priors. ``p_value`` tests whether they differ from the old priors, and allows for
        the uncertainty of the fit. It is NaN if the weights of the fit do not count rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import suffice as sf
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = sf.LDA().fit(X, y)
    >>> adapted, shift = sf.diagnostics.adapt_priors(lda, X[:75])  # 50 of class 0, 25 of class 1
    >>> adapted.priors_.round(2), shift.p_value < 0.001
    (array([0.67, 0.33, 0.  ]), True)
    """
    moments = model.moments_
    fitted_weight = min(moments.total_weight, float(moments.counts.sum()))
    if not can_count_rows(moments):
        fitted_weight = np.nan
    shift = shifted_priors(
        model.predict_log_proba(to_numpy(X)),
        model.priors_,
        fitted_weight=fitted_weight,
    )
    return model.with_priors(shift.priors), shift
