"""Fit categories as indicators in a Gaussian, or as levels with smoothed probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.core.estimation.degenerate import ReferenceCovariance
from suffice.core.estimation.gaussian import complete_rows, fit_numbers
from suffice.core.estimation.priors import priors_among
from suffice.core.estimation.settings import Settings
from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import DiagonalCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.level_forest import LevelBlocks, LevelForest
from suffice.core.model.mixed import MixedModel, observed_numbers, without_levels
from suffice.core.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter, PerClassScatter
from suffice.core.moments.schema_change import fills_of
from suffice.core.table.indicator_encoding import Encoding
from suffice.typing import Codes, Floats


def fit_indicators(moments: Moments, settings: Settings, *, quiet: bool) -> ClassModel:
    """Return the Gaussian of numbers and indicators; for diagonal covariances, naive Bayes."""
    encoded, encoding = encoded_moments(moments)
    blocks = LevelBlocks.of(encoding)
    if encoding.n_features and not settings.structure.is_diagonal:
        group_of = settings.group_of(moments.classes)
        if not settings.plugs_in and group_of.any():
            encoded = complete_rows(encoded, settings, quiet=quiet, encoding=encoding)
            encoded = _unseen_filled(encoded, group_of, blocks.n_numbers)
        return fit_numbers(encoded, settings, quiet=quiet, encoding=encoding)
    no_parents = np.full((moments.n_classes, len(blocks.sizes)), -1, np.intp)
    return fit_levels(encoded, settings, encoding, no_parents, None, quiet=quiet)


def encoded_moments(moments: Moments) -> tuple[Moments, Encoding]:
    """Return the sums of the rows encoded as numbers, and the encoding."""
    encoding = moments.encoding
    assert encoding is not None
    # The indicators of a category sum to 1, so the encoding leaves out one, the reference level.
    return moments.select(encoding.kept), encoding


def numbers_of(moments: Moments) -> Moments:
    """Return the sums of the numeric columns, or of the encoded rows if there are none."""
    if moments.schema is None:
        return moments
    n_numbers = moments.schema.n_numbers
    if n_numbers:
        return moments.select(np.arange(n_numbers))
    encoded, _ = encoded_moments(moments)
    return encoded


def _unseen_filled(moments: Moments, group_of: Codes, n_numbers: int) -> Moments:
    """Return sums in which levels that a group lacks have their variance within all classes."""
    # a weak prior would leave such levels almost no variance; ``factored`` fills plug-in estimates
    indicators = slice(n_numbers, None)
    scatters = moments.scatters.copy()
    columns_of_levels = np.arange(n_numbers, moments.n_features)
    reference = ReferenceCovariance.of(moments.select(columns_of_levels))
    for g in range(int(group_of.max()) + 1):
        members = np.flatnonzero((group_of == g) & (moments.weights > 0))
        if len(members):
            weights = moments.weights[members]
            sigma = scatters[members, indicators, indicators].sum(0) / weights.sum()
            root = reference.filled(sigma)
            added = root @ root.T - sigma
            scatters[members, indicators, indicators] += weights[:, None, None] * added
    return replace(moments, scatter=PerClassScatter(scatters))


# --- levels ----------------------------------------------------------------------------------
# If a category has L levels and one of them has the share f in a class of weight w, its smoothed
# probability is (w f + α) / (w + α L), as in scikit-learn's CategoricalNB. It is c f + e with
# c = w / (w + α L) and e = α / (w + α L). A pair of levels with the share F has the probability
# c_i c_j F + c_i f_i e_j + e_i c_j f_j + e_i e_j. Its margins are those of single levels.


def _smoothing_factors(
    weight: float,
    blocks: LevelBlocks,
    alpha: float,
) -> tuple[Floats, Floats]:
    """Return c and e of each level (see above), (C,) each."""
    total: Floats = weight + alpha * np.repeat(blocks.sizes, blocks.sizes).astype(np.float64)
    return weight / total, alpha / total


def smoothed_pairs(moments: Moments, blocks: LevelBlocks, k: int, alpha: float) -> Floats:
    """Return the smoothed probability of each pair of levels in class k, (C, C)."""
    c, e = _smoothing_factors(float(moments.weights[k]), blocks, alpha)
    mixed = np.outer(c * blocks.frequencies(moments)[k], e)
    return np.outer(c, c) * blocks.pairs(moments, k) + mixed + mixed.T + np.outer(e, e)


def _level_forest(
    moments: Moments,
    blocks: LevelBlocks,
    parents: Codes,
    alpha: float,
) -> LevelForest:
    """Return the forest with log probabilities of levels given the level of the parent category."""
    edges = blocks.edges
    tables = []
    for k, parent_of in enumerate(parents):
        c, e = _smoothing_factors(float(moments.weights[k]), blocks, alpha)
        singles = c * blocks.frequencies(moments)[k] + e
        pairs = np.zeros((0, 0))
        if (parent_of >= 0).any():
            pairs = smoothed_pairs(moments, blocks, k, alpha)
        tables_of_class = []
        for j, parent in enumerate(parent_of):
            levels = slice(edges[j], edges[j + 1])
            if parent < 0:
                joint = singles[None, levels]
            else:
                joint = pairs[edges[parent] : edges[parent + 1], levels]
            # p(level | level of the parent) = p(both) / p(level of the parent)
            tables_of_class.append(np.log(joint / joint.sum(1, keepdims=True)))
        tables.append(tuple(tables_of_class))
    return LevelForest(parents, tuple(tables))


# --- numbers ---------------------------------------------------------------------------------


def fit_levels(
    moments: Moments,
    settings: Settings,
    encoding: Encoding,
    parents: Codes,
    slopes: Floats | None,
    *,
    quiet: bool,
) -> MixedModel:
    """Return the model of the levels, and of the residuals of numbers regressed on the levels."""
    blocks = LevelBlocks.of(encoding)
    filled = encoding.schema.filled
    fills = fills_of(encoding.schema, moments.power)
    n_numbers = blocks.n_numbers
    levels = _level_forest(moments, blocks, parents, settings.smoothing)
    if not n_numbers:
        return MixedModel(_no_numbers(moments, settings), levels, blocks, None, filled, fills)
    group_of = settings.group_of(moments.classes)
    numbers, weights = observed_numbers(moments, n_numbers, filled, fills)
    if slopes is not None:
        numbers = without_levels(moments, n_numbers, slopes, group_of)
    unbiased = settings.regularisation.unbiased
    numbers = _of_observed_rows(numbers, weights, group_of, unbiased=unbiased)
    gaussian = fit_numbers(numbers, settings, quiet=quiet)
    assert isinstance(gaussian, GaussianModel)
    return MixedModel(gaussian, levels, blocks, slopes, filled, fills)


def _of_observed_rows(
    moments: Moments,
    weights: Floats,
    group_of: Codes,
    *,
    unbiased: bool,
) -> Moments:
    """Return moments whose scatter, divided by all weights, is the variance of observed numbers.

    ``weights`` (K, p) is the weight of the rows of each class in which a number is observed.
    """
    all_weights = moments.weights[:, None]
    if (weights == all_weights).all():
        return moments
    n_groups = int(group_of.max(initial=0)) + 1
    # Bessel's correction subtracts 1 for each class with rows
    lost = 1.0 if unbiased else 0.0
    divisor = np.zeros((n_groups, 1))  # the divisor that the estimates will use
    # the divisor for observed numbers
    observed_divisor = np.zeros((n_groups, weights.shape[1]))
    np.add.at(divisor, group_of, all_weights - lost * (all_weights > 0))
    np.add.at(observed_divisor, group_of, weights - lost * (weights > 0))
    ratio = np.ones_like(observed_divisor)
    np.divide(divisor, observed_divisor, out=ratio, where=observed_divisor > 0)
    factor = ratio[group_of]
    if isinstance(moments.scatter, DiagonalScatter):
        return replace(moments, scatter=DiagonalScatter(moments.diagonals * factor))
    root = np.sqrt(factor)
    scatters = moments.scatters * root[:, :, None] * root[:, None, :]
    return replace(moments, scatter=PerClassScatter(scatters))


def _no_numbers(moments: Moments, settings: Settings) -> GaussianModel:
    """Return a Gaussian without features."""
    group_of = settings.group_of(moments.classes)
    priors = settings.class_priors(moments.classes, moments.weights)
    n_groups = int(group_of.max(initial=0)) + 1
    return GaussianModel.of(
        priors=priors_among(moments.weights > 0, priors),
        group_of=group_of,
        centre=np.zeros(0),
        offsets=np.zeros((moments.n_classes, 0)),
        covariances=[DiagonalCovariance(np.zeros(0))] * n_groups,
    )
