"""How models read categories: as indicators of a Gaussian, as factors, or as a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.estimation.covariance_estimates import (
    FullStructure,
    full_groups,
    pooled_groups,
)
from suffice.core.estimation.degenerate import ReferenceCovariance
from suffice.core.estimation.priors import priors_among
from suffice.core.linalg import solve_semidefinite
from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import DiagonalCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.level_forest import LevelBlocks, LevelForest
from suffice.core.model.mixed import MixedModel, observed_numbers, without_levels
from suffice.core.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter, PerClassScatter
from suffice.core.moments.schema_change import fills_of
from suffice.core.table.schema import Encoding
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.estimation.recipe import Recipe


def as_indicators(recipe: Recipe, moments: Moments, *, quiet: bool) -> ClassModel:
    """Return the Gaussian of numbers and indicators; of independent features, naive Bayes."""
    encoded, encoding = encoded_moments(moments)
    blocks = LevelBlocks.of(encoding)
    if encoding.n_features and not recipe.structure.is_diagonal:
        groups = recipe.group_of(moments.classes)
        if not recipe.learning.plugs_in and groups.any():
            encoded = recipe.completed(encoded, quiet=quiet, encoding=encoding)
            encoded = _unseen_filled(encoded, groups, blocks.n_numbers)
        return recipe.learnt(encoded, quiet=quiet, encoding=encoding)
    none = np.full((moments.n_classes, len(blocks.sizes)), -1, np.intp)
    return _mixed(recipe, encoded, encoding, none, quiet=quiet)


def as_tree(recipe: Recipe, moments: Moments, *, quiet: bool) -> ClassModel:
    """Return a Chow–Liu tree of the categories of each class, and numbers regressed on them."""
    encoded, encoding = encoded_moments(moments)
    # missing numbers are expected given all numbers and levels, whatever is left independent
    gaussian = replace(recipe, structure=FullStructure())
    encoded = gaussian.completed(encoded, quiet=quiet, encoding=encoding)
    blocks = LevelBlocks.of(encoding)
    pairs = (_smoothed(encoded, blocks, k, recipe.smoothing) for k in range(moments.n_classes))
    parents = [spanning_tree(mutual_information(each, blocks)) for each in pairs]
    return _mixed(recipe, encoded, encoding, np.array(parents, np.intp), quiet=quiet)


def encoded_moments(moments: Moments) -> tuple[Moments, Encoding]:
    """Return the sums of encoded rows, which are plain numbers, and their encoding."""
    encoding = moments.encoding
    assert encoding is not None
    return moments.select(encoding.kept), encoding


def numbers_of(moments: Moments) -> Moments:
    """Return the sums of the numbers alone; of the encoded rows where there are none."""
    if moments.schema is None:
        return moments
    p = moments.schema.n_numbers
    return moments.select(np.arange(p)) if p else encoded_moments(moments)[0]


def _unseen_filled(moments: Moments, group_of: Codes, n_numbers: int) -> Moments:
    """Return sums in which levels that a group never has vary as they do in all classes."""
    # a weak prior would leave them almost no variance; plug-in estimates do so by themselves
    p, scatters = n_numbers, moments.scatters.copy()
    reference = ReferenceCovariance.of(moments.select(np.arange(p, moments.n_features)))
    for g in range(int(group_of.max()) + 1):
        members = np.flatnonzero((group_of == g) & (moments.weights > 0))
        if len(members):
            weights = moments.weights[members]
            sigma = scatters[members, p:, p:].sum(0) / weights.sum()
            root = reference.filled(sigma)
            scatters[members, p:, p:] += weights[:, None, None] * (root @ root.T - sigma)
    return replace(moments, scatter=PerClassScatter(scatters))


# --- levels ----------------------------------------------------------------------------------
# In class k of weight w a level of share f among L has the probability (w f + α) / (w + α L), as in
# scikit-learn's CategoricalNB: c f + e with c = w / (w + α L) and e = α / (w + α L). A pair has
# c_i c_j F + c_i f_i e_j + e_i c_j f_j + e_i e_j, which agrees with that of single levels.


def _channel(weight: float, blocks: LevelBlocks, alpha: float) -> tuple[Floats, Floats]:
    """Return c and e of each level, (C,) each."""
    total: Floats = weight + alpha * np.repeat(blocks.sizes, blocks.sizes).astype(np.float64)
    return weight / total, alpha / total


def _smoothed(moments: Moments, blocks: LevelBlocks, k: int, alpha: float) -> Floats:
    """Return the smoothed probability of each pair of levels in class k, (C, C)."""
    kept, lent = _channel(float(moments.weights[k]), blocks, alpha)
    own = np.outer(kept * blocks.frequencies(moments)[k], lent)
    return np.outer(kept, kept) * blocks.pairs(moments, k) + own + own.T + np.outer(lent, lent)


def mutual_information(pairs: Floats, blocks: LevelBlocks) -> Floats:
    """Return Σ p(a, b) log p(a, b) / p(a) p(b) of each two categories, (q, q)."""
    starts = blocks.edges[:-1]
    if not len(starts):
        return np.zeros((0, 0))
    # Σ_b p(a, b) over the levels b of any one category is p(a)
    singles = pairs[:, : blocks.sizes[0]].sum(1)
    terms = pairs * np.log(pairs / np.outer(singles, singles))
    return np.add.reduceat(np.add.reduceat(terms, starts, axis=0), starts, axis=1)


def spanning_tree(weights: Floats) -> list[int]:
    """Return the parent of each node in the tree of greatest weight, −1 for the root."""
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    if not len(weights):
        return []
    tree = minimum_spanning_tree(1 + weights.max() - weights)  # no length is zero
    return [max(int(parent), -1) for parent in breadth_first_order(tree, 0, directed=False)[1]]


def _forest(
    moments: Moments,
    blocks: LevelBlocks,
    parents: Codes,
    alpha: float,
) -> LevelForest:
    """Return the probabilities of levels given the level of the parent, in each class."""
    tables, edges = [], blocks.edges
    for k, above in enumerate(parents):
        kept, lent = _channel(float(moments.weights[k]), blocks, alpha)
        singles = kept * blocks.frequencies(moments)[k] + lent
        pairs = (
            _smoothed(moments, blocks, k, alpha) if (above >= 0).any() else np.zeros((0, 0))
        )
        own = []
        for j, parent in enumerate(above):
            columns, above_it = (slice(edges[at], edges[at + 1]) for at in (j, parent))
            joint = singles[None, columns] if parent < 0 else pairs[above_it, columns]
            own.append(np.log(joint / joint.sum(1, keepdims=True)))
        tables.append(tuple(own))
    return LevelForest(parents, tuple(tables))


# --- numbers ---------------------------------------------------------------------------------


def regressions(recipe: Recipe, moments: Moments, n_numbers: int) -> Floats:
    """Return B of each group of classes, (G, p, C'): numbers regressed on the indicators."""
    groups = full_groups(moments, recipe.group_of(moments.classes))
    p, whole = n_numbers, groups.pooled
    scatter = whole.scatters[0]
    # B = S_cc⁺ S_cz
    common = solve_semidefinite(scatter[p:, p:], scatter[p:, :p])
    ridge = (
        np.diag(np.diagonal(scatter)[p:])
        * recipe.smoothing
        / max(float(whole.weights[0]), 1.0)
    )
    slopes = []
    for own in pooled_groups(groups, recipe.regularisation.pooling).scatters:
        # drawn towards that of all groups: B_g = B + (S_cc + ridge)⁺ (S_cz − S_cc B)
        gap = own[p:, :p] - own[p:, p:] @ common
        slopes.append((common + solve_semidefinite(own[p:, p:] + ridge, gap)).T)
    return np.stack(slopes)


def _mixed(
    recipe: Recipe,
    moments: Moments,
    encoding: Encoding,
    parents: Codes,
    *,
    quiet: bool,
) -> MixedModel:
    """Return the model of levels and of what they leave of the numbers."""
    blocks, filled = LevelBlocks.of(encoding), encoding.schema.filled
    p, groups = blocks.n_numbers, recipe.group_of(moments.classes)
    levels = _forest(moments, blocks, parents, recipe.smoothing)
    slopes = regressions(recipe, moments, p) if p and recipe.categories is as_tree else None
    fills = fills_of(encoding.schema, moments.power)
    if not p:
        return MixedModel(_no_numbers(recipe, moments), levels, blocks, None, filled, fills)
    left, weights = observed_numbers(moments, p, filled, fills)
    left = left if slopes is None else without_levels(moments, p, slopes, groups)
    left = _of_observed_rows(left, weights, groups, unbiased=recipe.regularisation.unbiased)
    learnt = recipe.learnt(left, quiet=quiet)
    assert isinstance(learnt, GaussianModel)
    return MixedModel(learnt, levels, blocks, slopes, filled, fills)


def _of_observed_rows(
    moments: Moments,
    weights: Floats,
    group_of: Codes,
    *,
    unbiased: bool,
) -> Moments:
    """Return sums whose squares, divided as those of all rows, are as of the observed rows."""
    if (weights == moments.weights[:, None]).all():
        return moments
    n_groups = int(group_of.max(initial=0)) + 1
    total, seen = np.zeros((n_groups, 1)), np.zeros((n_groups, weights.shape[1]))
    np.add.at(
        total, group_of, moments.weights[:, None] - unbiased * (moments.weights[:, None] > 0)
    )
    np.add.at(seen, group_of, weights - unbiased * (weights > 0))
    factor = np.where(seen > 0, total / np.where(seen > 0, seen, 1.0), 1.0)[group_of]
    if isinstance(moments.scatter, DiagonalScatter):
        return replace(moments, scatter=DiagonalScatter(moments.diagonals * factor))
    root = np.sqrt(factor)
    scatters = moments.scatters * root[:, :, None] * root[:, None, :]
    return replace(moments, scatter=PerClassScatter(scatters))


def _no_numbers(recipe: Recipe, moments: Moments) -> GaussianModel:
    """Return the Gaussian of no feature at all."""
    group_of = recipe.group_of(moments.classes)
    priors = recipe.priors.of(moments.classes, moments.weights)
    return GaussianModel.of(
        priors=priors_among(moments.weights > 0, priors),
        group_of=group_of,
        centre=np.zeros(0),
        offsets=np.zeros((moments.n_classes, 0)),
        covariances=[DiagonalCovariance(np.zeros(0))] * (int(group_of.max(initial=0)) + 1),
    )
