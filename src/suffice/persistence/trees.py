"""Checks of trees in files, which are needed because compiled loops follow nodes unchecked."""

import numpy as np
import numpy.typing as npt

from suffice.core.model.trees import BoostedTrees, Trees
from suffice.errors import FileFormatError


def refuse_unsound_trees(trees: Trees | BoostedTrees, n_features: int, n_classes: int) -> None:
    """Raise unless every row ends in a leaf with shares that sum to 1, or with a finite value."""
    n_nodes = len(trees.left)
    nodes = np.arange(n_nodes)
    codes = [trees.roots, trees.left, trees.right, trees.feature]
    per_node = [trees.left, trees.right, trees.feature, trees.threshold]
    if isinstance(trees, Trees):
        _require(trees.shares.shape == (n_nodes, n_classes) and n_nodes > 0)
        _require(trees.shares >= 0)
        _require(np.abs(trees.shares.sum(1) - 1) < 1e-9)
    else:
        codes.append(trees.class_of_tree)
        per_node.append(trees.value)
        _require(trees.class_of_tree.shape == trees.roots.shape)
        _require((trees.class_of_tree >= 0) & (trees.class_of_tree < n_classes))
        _require(trees.baseline.shape == (n_classes,) and np.isfinite(trees.baseline).all())
        _require(np.isfinite(trees.value))
    _require(all(array.dtype.kind == "i" and array.ndim == 1 for array in codes))
    _require(all(array.shape == (n_nodes,) for array in per_node))
    _require(~np.isnan(trees.threshold))
    _require((trees.roots >= 0) & (trees.roots < n_nodes))
    _require((trees.feature >= 0) & (trees.feature < n_features))
    # If children have larger numbers than their parents, every path ends in a leaf.
    is_leaf = (trees.left == nodes) & (trees.right == nodes)
    goes_on = (trees.left > nodes) & (trees.right > nodes)
    is_inside = (trees.left < n_nodes) & (trees.right < n_nodes)
    _require(is_leaf | (goes_on & is_inside))


def _require(is_sound: npt.ArrayLike) -> None:
    if not np.all(is_sound):
        raise FileFormatError(
            "the file holds a tree with invalid nodes, so it was altered: write it again"
        )
