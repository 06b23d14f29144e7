"""Importance of columns: the divergence between classes that is lost without each column.

The divergence is Σ_kl π_k π_l D(k ‖ l), where D is the Kullback–Leibler divergence.
"""

from collections.abc import Sequence

import numpy as np

from suffice.core.model.class_model import ClassModel
from suffice.core.model.contributions import divergence_of_features
from suffice.core.model.counts import CountModel, MultinomialModel
from suffice.core.model.product import ProductModel
from suffice.typing import Codes, Floats


def column_importances(model: ClassModel, columns: Sequence[Codes]) -> Floats:
    """Return the share of the divergence that is lost without each column, (G,).

    A mixture is replaced with the Gaussian that has its mean and covariance.

    Parameters
    ----------
    model : ClassModel
    columns : list of G arrays
        Positions of the features of each column.
    """
    lost = _lost_divergence(model, columns)
    return lost / (lost.sum() or 1.0)


def divergence_of_counts(priors: Floats, means: Floats, weights: Floats) -> Floats:
    """Return the divergence between classes of counts in each feature, (d,).

    The scores are linear in the counts: a_k(x) = c_k + Σ_j x_j w_kj. With m_kj the mean of x_j in
    class k, feature j adds Σ_k<l π_k π_l (m_kj − m_lj) (w_kj − w_lj).
    """
    # for Σ π = 1, the sum over pairs is the covariance Σ_k π_k (m_k − m̄) (w_k − w̄)
    m = means - priors @ means
    w = weights - priors @ weights
    return np.maximum(priors @ (m * w), 0.0)


def _lost_divergence(model: ClassModel, columns: Sequence[Codes]) -> Floats:
    if isinstance(model, ProductModel):
        return _lost_by_parts(model, columns)
    if isinstance(model, CountModel):
        means = model.means
        # compare shares: the totals of the classes do not matter
        if isinstance(model, MultinomialModel):
            means = np.exp(model.weights) * (model.priors @ model.mean_totals)
        of_features = divergence_of_counts(model.priors, means, model.weights)
        return np.array([of_features[column].sum() for column in columns])
    covariances = model.covariance_matrices
    if covariances.ndim == 2:
        covariances = np.broadcast_to(covariances, (model.n_classes, *covariances.shape))
    return divergence_of_features(model.priors, model.means, covariances, columns)


def _lost_by_parts(model: ProductModel, columns: Sequence[Codes]) -> Floats:
    """Return the lost divergence, from the part of the model that holds the column's features."""
    lost = np.zeros(len(columns))
    for part in model.parts:
        place_of = {feature: place for place, feature in enumerate(part.features.tolist())}
        places = {
            g: np.array([place_of[feature] for feature in column.tolist()])
            for g, column in enumerate(columns)
            if set(column.tolist()) <= place_of.keys()
        }
        lost[list(places)] = _lost_divergence(part.model, list(places.values()))
    return lost
