"""Folds of unseen groups: every group of rows, such as a person or a site, is held out as a whole.

test_b = rows of the groups in part b,    train_b = rows of all other groups
"""

import warnings

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedGroupKFold

from suffice.core.table.labels import encode, has_label
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Labels


def row_group_codes(groups: npt.ArrayLike, labels: Labels) -> Codes:
    """Return the group of each row as a code, (n,)."""
    values = np.asarray(groups)
    if values.shape != labels.shape:
        raise InvalidInputError(
            f"groups has shape {values.shape}, but there are {len(labels)} rows: give one group "
            "for each row"
        )
    has_group = has_label(values)
    if not has_group.all():
        raise InvalidInputError(
            f"row {has_group.argmin()} (counted from 0) has no group: give every row a group, or "
            "leave the row out"
        )
    if values.dtype.kind == "O":
        values = values.astype(np.str_)
    _, codes = np.unique(values, return_inverse=True)
    _, classes = encode(labels)
    n_pairs = len(set(zip(codes.tolist(), classes.tolist(), strict=True)))
    if n_pairs == len(np.unique(codes)) == len(np.unique(classes)):
        raise InvalidInputError(
            "the groups are the classes, so the training rows of a fold would not contain "
            "the held-out class: choose another column"
        )
    return codes


def group_folds(
    n_folds: int,
    labels: Labels,
    groups: Codes,
    seed: int | None,
) -> list[tuple[Codes, Codes]]:
    """Return folds that hold out whole groups, with about the same class frequencies."""
    n_groups = len(np.unique(groups))
    if n_groups == 1:
        raise InvalidParameterError(
            "all rows are in one group, so no rows are left to learn from once it is held out: "
            "give at least two groups, or leave out groups="
        )
    if n_groups < n_folds:
        raise InvalidParameterError(
            f"there are {n_groups} groups, fewer than the {n_folds} folds: use cv={n_groups} or "
            "less"
        )
    splitter = StratifiedGroupKFold(n_folds, shuffle=seed is not None, random_state=seed)
    with warnings.catch_warnings():
        # scikit-learn warns if a class is in fewer groups than folds, and thus absent from some
        # folds
        warnings.simplefilter("ignore")
        return list(splitter.split(labels, labels, groups))


def joined_groups(groups: Codes | None, sets: Codes) -> Codes:
    """Return group codes (n,) that join the groups which have copies of the same row.

    Groups and sets of copies are joined if they are linked, also through other rows.
    """
    if groups is None:
        return sets
    n_groups = int(groups.max()) + 1
    n_sets = int(sets.max()) + 1
    # a graph whose nodes are groups and sets, with an edge for each row
    edges = coo_array(
        (np.ones(len(sets)), (groups, n_groups + sets)), shape=(n_groups + n_sets,) * 2
    )
    _, parts = connected_components(edges, directed=False)
    _, joined = np.unique(parts[groups], return_inverse=True)
    return np.asarray(joined, np.intp)
