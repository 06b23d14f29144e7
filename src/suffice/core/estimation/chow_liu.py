"""Chow–Liu trees: a category depends on at most one other, and numbers depend on all categories.

Chow & Liu (1968), IEEE Transactions on Information Theory 14, 462–467.
"""

from dataclasses import replace

import numpy as np

from suffice.core.estimation.categories import encoded_moments, fit_levels, smoothed_pairs
from suffice.core.estimation.gaussian import complete_rows
from suffice.core.estimation.groups import full_groups
from suffice.core.estimation.regularisation import pooled_groups
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import solve_semidefinite
from suffice.core.model.class_model import ClassModel
from suffice.core.model.level_forest import LevelBlocks
from suffice.core.moments import Moments
from suffice.typing import Floats


def fit_tree(moments: Moments, settings: Settings, *, quiet: bool) -> ClassModel:
    """Return the model with a tree of categories per class and numbers regressed on the levels."""
    encoded, encoding = encoded_moments(moments)
    # EM replaces missing numbers with their means given the other numbers and the levels
    encoded = complete_rows(encoded, settings, quiet=quiet, encoding=encoding)
    blocks = LevelBlocks.of(encoding)
    parents = []
    for k in range(moments.n_classes):
        pairs = smoothed_pairs(encoded, blocks, k, settings.smoothing)
        parents.append(spanning_tree(mutual_information(pairs, blocks)))
    slopes = None
    if blocks.n_numbers:
        slopes = level_regressions(encoded, settings, blocks.n_numbers)
    return fit_levels(
        encoded,
        replace(settings, covariance="full"),
        encoding,
        np.array(parents, np.intp),
        slopes,
        quiet=quiet,
    )


def mutual_information(pairs: Floats, blocks: LevelBlocks) -> Floats:
    """Return the mutual information of each pair of categories, (q, q).

    The sum Σ p(a, b) log (p(a, b) / (p(a) p(b))) is over the levels a and b of the two categories.
    """
    starts = blocks.edges[:-1]
    if not len(starts):
        return np.zeros((0, 0))
    # p(a) = Σ_b p(a, b) over the levels b of any single category
    singles = pairs[:, : blocks.sizes[0]].sum(1)
    terms = pairs * np.log(pairs / np.outer(singles, singles))
    return np.add.reduceat(np.add.reduceat(terms, starts, axis=0), starts, axis=1)


def spanning_tree(weights: Floats) -> list[int]:
    """Return the parent of each node in the maximum-weight tree, −1 for the root."""
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    if not len(weights):
        return []
    # add 1 to all lengths, since SciPy ignores edges of length 0
    tree = minimum_spanning_tree(1 + weights.max() - weights)
    _, predecessors = breadth_first_order(tree, 0, directed=False)
    return [max(int(parent), -1) for parent in predecessors]


def level_regressions(moments: Moments, settings: Settings, n_numbers: int) -> Floats:
    """Return the coefficients B of numbers regressed on indicators, per group, (G, p, C')."""
    p = n_numbers
    groups = full_groups(moments, settings.group_of(moments.classes))
    whole = groups.pooled
    scatter = whole.scatters[0]
    # B = S_cc⁺ S_cz
    common = solve_semidefinite(scatter[p:, p:], scatter[p:, :p])
    strength = np.diag(np.diagonal(scatter)[p:]) * settings.smoothing
    ridge = strength / max(float(whole.weights[0]), 1.0)
    slopes = []
    for group in pooled_groups(groups, settings.regularisation.pooling).scatters:
        # shrink B_g towards B of all groups: B_g = B + (S_cc + ridge)⁺ (S_cz − S_cc B)
        gap = group[p:, :p] - group[p:, p:] @ common
        slopes.append((common + solve_semidefinite(group[p:, p:] + ridge, gap)).T)
    return np.stack(slopes)
