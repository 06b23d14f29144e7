"""Weights of rows from sample weights and class weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError, UnknownLabelError
from suffice.moments.rows import as_weights

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows to learn from, all of positive weight."""

    x: Any  # (n, d)
    classes: Labels  # (K,)
    codes: Codes  # (n,)
    weight: Floats | None  # (n,)


def counted(x: Any, classes: Labels, codes: Codes, sample_weight: Any) -> Table:
    """Return the rows of positive weight, and the classes they have."""
    weight = as_weights(sample_weight, len(codes))
    if weight is None or weight.all():
        return Table(x, classes, codes, weight)
    x, codes, weight = x[weight > 0], codes[weight > 0], weight[weight > 0]
    present = np.unique(codes)
    return Table(x, classes[present], np.searchsorted(present, codes), weight)


def class_weighted(table: Table, class_weight: Any) -> Table:
    """Return the same rows, their weights multiplied by those of their classes."""
    factors = _class_factors(class_weight, table)
    if factors is None:
        return table
    rows = factors[table.codes]
    return replace(table, weight=rows if table.weight is None else rows * table.weight)


def _class_factors(class_weight: Any, table: Table) -> Floats | None:
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        return _named_factors(class_weight, table.classes)
    if class_weight == "balanced":
        # every class counts the same, the total weight stays: W / (K w_k)
        totals = np.bincount(table.codes, table.weight, len(table.classes))
        factors: Floats = totals.sum() / (len(totals) * totals)
        return factors
    msg = f"class_weight must be None, 'balanced' or {{label: weight}}, got {class_weight!r}"
    raise InvalidParameterError(msg)


def _named_factors(class_weight: Mapping[Any, float], classes: Labels) -> Floats:
    known = classes.tolist()
    strangers = [label for label in class_weight if label not in known]
    if strangers:
        msg = f"class_weight names {strangers[0]!r}, which is not one of the classes {known}"
        raise UnknownLabelError(msg)
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not (np.isfinite(factors) & (factors > 0)).all():
        msg = f"class weights must be finite and positive, got {dict(class_weight)}"
        raise InvalidParameterError(msg)
    return factors
