"""How moments combine: alignment of classes, Chan's merge, and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import FeatureMismatchError, warn
from suffice.moments.collect import ratio, two_sum
from suffice.moments.power_sums import check_same_power
from suffice.moments.scatter_storage import FourthMoments, by_column
from suffice.table.labels import union
from suffice.table.schema import Number, Schema
from suffice.text.lists import quoted
from suffice.typing import Codes, Floats, Labels

if TYPE_CHECKING:
    from suffice.moments.moments import Moments


def merged(a: Moments, b: Moments, sign: float = 1.0) -> Moments:
    """Return a + b, or a − b for ``sign`` −1, of aligned moments."""
    # where a has seen nothing, start from the mean of b, so that no digit of it is lost
    unseen = by_column(a.weights == 0)
    high, low = np.where(unseen, b.means, a.means), np.where(unseen, b.means_low, a.means_low)
    # w = w_a ± w_b,  δ = μ_b − μ_a,  μ = μ_a ± (w_b/w) δ,  S = S_a ± S_b ± (w_a w_b/w) δ δᵀ
    weights = a.weights + sign * b.weights
    delta = np.where(by_column(b.weights > 0), (b.means - high) + (b.means_low - low), 0.0)
    share = sign * ratio(b.weights, weights)
    moved = by_column(share) * delta
    means, means_low = two_sum(high, low + moved)
    scatter = a.scatter.plus(b.scatter, sign).shifted(a.weights * share, delta)
    return replace(
        a,
        counts=a.counts + b.counts if sign > 0 else a.counts - b.counts,
        feature_names=a.feature_names or b.feature_names,
        weights=weights,
        means=means,
        means_low=means_low,
        scatter=scatter,
        fourth=_merged_fourth(a, b, sign, moved, delta),
        power_sums=a.power_sums.plus(b.power_sums, sign) if a.power_sums and b.power_sums else None,
        peaks=_greater(a.peaks, b.peaks),
    )


def _greater(a: Floats | None, b: Floats | None) -> Floats | None:
    return np.maximum(a, b) if a is not None and b is not None else b if a is None else a


def _merged_fourth(
    a: Moments, b: Moments, sign: float, moved: Floats, delta: Floats
) -> FourthMoments | None:
    if a.fourth is None or b.fourth is None:
        return None
    still = np.zeros_like(delta)
    of_a = a.fourth.recentred(a.weights, still, a.scatters, -moved)
    of_b = b.fourth.recentred(b.weights, still, b.scatters, delta - moved)
    return of_a.plus(of_b, sign)


def aligned(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both over the union of their classes, after checking that features agree."""
    if not a.n_classes and not a.n_features:
        a = _blank_like(b)
    if not b.n_classes and not b.n_features:
        b = _blank_like(a)
    a, b = _same_schema(a, b)
    _check_features(a, b)
    check_same_power(a.power_sums, b.power_sums)
    if a.storage != b.storage:
        coarser = a.scatter.plus(b.scatter, 1.0).storage
        warn(f"{a.storage} and {b.storage} scatter meet: the result keeps {coarser} scatter only")
    if (a.feature_names is None) != (b.feature_names is None):
        names = quoted(a.feature_names or b.feature_names or (), 5)
        warn(f"one side has the columns {names}, the other no names: taken to be in this order")
    same = a.classes is b.classes or np.array_equal(a.classes, b.classes)
    if same and a.classes.dtype.kind == b.classes.dtype.kind:
        return a, b
    classes = union(a.classes, b.classes)
    return (a, b) if same else (placed(a, classes), placed(b, classes))


def _same_schema(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both over the levels of either side; a level that one has not seen is zero there."""
    a, b = _named_numbers(a, b.schema), _named_numbers(b, a.schema)
    if a.schema is None or b.schema is None or a.schema == b.schema:
        if (a.schema is None) != (b.schema is None):
            mixed = next(m.schema for m in (a, b) if m.schema is not None)
            raise FeatureMismatchError(
                f"one side has categories ({quoted([c.name for c in mixed.categories], 5)}), the "
                "other numbers alone: collect both from the same columns"
            )
        return a, b
    schema = a.schema.merged(b.schema)
    if schema.exceeds:
        both = [m.weights @ under_schema(m, schema).means[:, schema.n_numbers :] for m in (a, b)]
        schema = schema.capped(both[0] + both[1])
    return under_schema(a, schema), under_schema(b, schema)


def _named_numbers(m: Moments, schema: Schema | None) -> Moments:
    """Return plain numbers under a schema, where the other side's are numbers with marked holes."""
    if m.schema is not None or schema is None or schema.categories:
        return m
    plain = Schema(tuple(Number(number.name) for number in schema.numbers))
    names = m.feature_names or plain.feature_names
    fits = m.n_features == plain.n_features and names == plain.feature_names
    return replace(m, schema=plain, feature_names=names) if fits else m


def under_schema(m: Moments, schema: Schema) -> Moments:
    """Return the same sums over the features of a wider schema."""
    if m.schema is None or m.schema == schema:
        return m
    # features of the wider schema from those we have: x' = T x, T zero for unseen levels
    change = np.zeros((schema.n_features, m.schema.n_features))
    places = m.schema.places_in(schema)
    here = np.flatnonzero(places >= 0)
    np.add.at(change, (places[here], here), 1.0)
    refilled = False
    for j, (own, wanted) in enumerate(zip(m.schema.numbers, schema.numbers, strict=True)):
        if own.fill is not None and wanted.fill is not None:
            # x filled by c' instead of c:  x' = x + (c' − c) · [x is missing]
            hole = m.schema.n_numbers + int(np.searchsorted(m.schema.filled, j))
            change[j, hole] = wanted.fill - own.fill
            refilled = refilled or wanted.fill != own.fill
    moved = change @ np.concatenate([m.means.T, m.means_low.T], axis=1)
    k = m.n_classes
    power = m.power_sums and m.power_sums.spread(places, schema.n_features)
    return replace(
        m,
        feature_names=schema.feature_names,
        means=moved[:, :k].T,
        means_low=moved[:, k:].T,
        scatter=m.scatter.mapped(change),
        fourth=None if refilled else m.fourth and m.fourth.mapped(change),
        power_sums=power,
        schema=schema,
        patterns=m.patterns and m.patterns.mapped(change),
        peaks=None if m.peaks is None else m.peaks @ np.square(change).T,
    )


def _blank_like(other: Moments) -> Moments:
    """Return the sums of no rows, in the storage of ``other``."""
    nothing = replace(other, scatter=other.scatter.plus(other.scatter, -1.0))
    return placed(taken(nothing, np.zeros(0, np.intp)), other.classes)


def placed(m: Moments, classes: Labels) -> Moments:
    """Return the moments over more classes, those that are new without rows."""
    codes = np.searchsorted(classes, m.classes.astype(classes.dtype))

    def spread(values: Any) -> Any:
        out = np.zeros((len(classes), *values.shape[1:]), values.dtype)
        out[codes] = values
        return out

    return by_class(m, classes, spread)


def taken(m: Moments, codes: Codes) -> Moments:
    """Return the moments of some classes only."""
    return by_class(m, m.classes[codes], lambda values: values[codes])


def by_class(m: Moments, classes: Labels, change: Callable[[Any], Any]) -> Moments:
    """Return the moments over other classes, by a change of the first axis of every field."""
    return replace(
        m,
        classes=classes,
        counts=change(m.counts),
        weights=change(m.weights),
        means=change(m.means),
        means_low=change(m.means_low),
        scatter=m.scatter.by_class(change),
        fourth=m.fourth and m.fourth.by_class(change),
        power_sums=m.power_sums and m.power_sums.by_class(change),
        patterns=m.patterns and m.patterns.by_class(change, classes),
        peaks=None if m.peaks is None else change(m.peaks),
    )


def _check_features(a: Moments, b: Moments) -> None:
    if a.n_features != b.n_features:
        msg = f"cannot merge moments of {a.n_features} and {b.n_features} features"
        raise FeatureMismatchError(msg)
    if a.feature_names is None or b.feature_names is None or a.feature_names == b.feature_names:
        return
    pairs = zip(a.feature_names, b.feature_names, strict=True)
    at, (left, right) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
    same = set(a.feature_names) == set(b.feature_names)
    cure = "select the columns in the same order" if same else "collect the same columns"
    msg = f"feature {at} is {left!r} on one side and {right!r} on the other: {cure} on both sides"
    raise FeatureMismatchError(msg)


def without_gone(m: Moments) -> Moments:
    """Return the moments with classes that have no row left set to exact zeros."""
    kept = m.counts > 0

    def zeroed(values: Any) -> Any:
        return np.where(kept.reshape(*kept.shape, *[1] * (values.ndim - kept.ndim)), values, 0)

    return m if kept.all() else by_class(m, m.classes, zeroed)
