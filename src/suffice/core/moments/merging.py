"""Addition and subtraction of moments, after aligning their classes and features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.moments.collect import ChunkSums, ratio
from suffice.core.moments.higher_moments import HigherMoments, merged_higher
from suffice.core.moments.scatter import FourthMoments, added, as_columns, coarser_storage
from suffice.core.moments.schema_change import same_schema
from suffice.core.moments.two_sum import two_sum
from suffice.core.power_transform import PowerTransform
from suffice.core.table.labels import union
from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, LostDetailWarning, ReadingWarning, warn
from suffice.typing import Array, Codes, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments


def merged(a: Moments, b: Moments, sign: float = 1.0) -> Moments:
    """Return a + b, or a − b if ``sign`` is −1, for moments with the same classes and features."""
    # if a has no rows in a class, start from the mean of b, which then keeps all digits
    a_is_empty = as_columns(a.weights == 0)
    high = np.where(a_is_empty, b.means, a.means)
    low = np.where(a_is_empty, b.means_low, a.means_low)
    # w = w_a ± w_b,  δ = μ_b − μ_a,  μ = μ_a ± (w_b/w) δ,  M = M_a ± M_b ± (w_a w_b/w) δ δᵀ
    weights = a.weights + sign * b.weights
    delta = np.where(as_columns(b.weights > 0), (b.means - high) + (b.means_low - low), 0.0)
    share = sign * ratio(b.weights, weights)  # ±w_b/w
    shift = as_columns(share) * delta
    means, means_low = two_sum(high, low + shift)
    # M_a ± M_b + w_a · (±w_b/w) δ δᵀ
    scatter = added(a.scatter, b.scatter, sign).shifted(a.weights * share, delta)
    return replace(
        a,
        feature_names=a.feature_names or b.feature_names,
        counts=a.counts + b.counts if sign > 0 else a.counts - b.counts,
        weights=weights,
        means=means,
        means_low=means_low,
        scatter=scatter,
        fourth=_merged_fourth(a, b, sign, shift, delta),
        log_slopes=_merged_log_slopes(a, b, sign),
        # largest sums of squares before rows were forgotten; ``forgetting`` derives rounding errors
        # from them
        peaks=_larger(a.peaks, b.peaks),
        exact=None,
        higher=merged_higher(a.higher, b.higher, sign),
    )


def _merged_fourth(
    a: Moments,
    b: Moments,
    sign: float,
    shift: Floats,
    delta: Floats,
) -> FourthMoments | None:
    if a.fourth is None or b.fourth is None:
        return None
    zero_sums = np.zeros_like(delta)  # Σ w (x − μ) = 0
    of_a = a.fourth.recentred(a.weights, zero_sums, a.scatters, -shift)
    of_b = b.fourth.recentred(b.weights, zero_sums, b.scatters, delta - shift)
    return FourthMoments(
        thirds=of_a.thirds + sign * of_b.thirds,
        fourths=of_a.fourths + sign * of_b.fourths,
    )


def _merged_log_slopes(a: Moments, b: Moments, sign: float) -> Floats | None:
    if a.log_slopes is None or b.log_slopes is None:
        return None
    return a.log_slopes + sign * b.log_slopes


def _larger(a: Floats | None, b: Floats | None) -> Floats | None:
    if a is None or b is None:
        return b if a is None else a
    return np.maximum(a, b)


def sums_only(m: Moments) -> Moments:
    """Return moments with only the classes, counts, weights, means and scatter of ``m``."""
    return replace(
        m,
        feature_names=None,
        fourth=None,
        power=None,
        log_slopes=None,
        schema=None,
        patterns=None,
        peaks=None,
        exact=None,
        higher=None,
    )


def with_sums(m: Moments, sums: ChunkSums) -> Moments:
    """Return ``m`` with its weights, means, scatter and transform replaced by those of ``sums``."""
    return replace(
        m,
        weights=sums.weights,
        means=sums.means,
        means_low=sums.means_low,
        scatter=sums.scatter,
        fourth=sums.fourth,
        power=sums.power,
        log_slopes=sums.log_slopes,
        exact=None,
        higher=None,
    )


def aligned(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both moments with the union of their classes, or raise if features differ."""
    if not a.n_classes and not a.n_features:
        a = _without_rows(b)
    if not b.n_classes and not b.n_features:
        b = _without_rows(a)
    a, b = same_schema(a, b)
    check_features(a, b)
    _check_same_power(a.power, b.power)
    if a.storage != b.storage and "rows" not in (a.storage, b.storage):
        warn(
            f"moments with {a.storage} scatter and with {b.storage} scatter are added: the "
            f"result keeps {coarser_storage(a.scatter, b.scatter)} scatter only",
            LostDetailWarning,
        )
    if (a.feature_names is None) != (b.feature_names is None):
        names = quoted(a.feature_names or b.feature_names or (), 5)
        warn(
            f"one side has the columns {names}, and the columns of the other side have no names: "
            "they are matched by position",
            ReadingWarning,
        )
    has_same_classes = a.classes is b.classes or np.array_equal(a.classes, b.classes)
    if has_same_classes and a.classes.dtype.kind == b.classes.dtype.kind:
        return a, b
    # raises if one side has text labels and the other numeric ones
    classes = union(a.classes, b.classes)
    if has_same_classes:
        return a, b
    return over_classes(a, classes), over_classes(b, classes)


def _without_rows(m: Moments) -> Moments:
    """Return moments without rows, with the features, classes and storage of ``m``."""
    no_class = np.zeros(0, np.intp)
    empty = replace(m, scatter=added(m.scatter, m.scatter, -1.0))
    return over_classes(some_classes(empty, no_class), m.classes)


def over_classes(m: Moments, classes: Labels) -> Moments:
    """Return the moments with more classes; a new class has no rows."""
    sources = np.full(len(classes), -1)
    sources[np.searchsorted(classes, m.classes.astype(classes.dtype))] = np.arange(m.n_classes)
    return with_classes(m, classes, sources)


def some_classes(m: Moments, codes: Codes) -> Moments:
    """Return the moments of some classes only."""
    return with_classes(m, m.classes[codes], codes)


def without_empty_classes(m: Moments) -> Moments:
    """Return the moments with exact zeros in the classes without rows."""
    has_rows = m.counts > 0
    if has_rows.all():
        return m
    return with_classes(m, m.classes, np.where(has_rows, np.arange(m.n_classes), -1))


def with_classes(m: Moments, classes: Labels, sources: Codes) -> Moments:
    """Return the moments with other classes.

    ``sources`` holds, for each new class, the old class whose rows it gets, or −1 for no rows.
    """
    has_source = sources >= 0

    def moved(values: Array) -> Array:
        out = np.zeros((len(classes), *values.shape[1:]), values.dtype)
        out[has_source] = values[sources[has_source]]
        return out

    patterns = None if m.patterns is None else m.patterns.with_classes(classes, sources)
    higher = _higher_of_classes(m, sources[has_source])
    return replace(by_class(m, classes, moved), patterns=patterns, higher=higher)


def _higher_of_classes(m: Moments, codes: Codes) -> HigherMoments | None:
    """Return the higher moments of some classes, or None if these have only a part of the rows."""
    if m.higher is None:
        return None
    kept_weight = float(m.weights[codes].sum())
    if kept_weight == m.total_weight and len(np.unique(codes)) == len(codes):
        return m.higher
    n_columns = len(m.higher.weights)
    if kept_weight == 0:
        return HigherMoments.of_powers(np.zeros((5, n_columns)), np.zeros(n_columns))
    return None


def by_class(m: Moments, classes: Labels, change: Callable[[Array], Array]) -> Moments:
    """Return the moments with other classes, where ``change`` maps the first axis of arrays."""
    return replace(
        m,
        classes=classes,
        counts=change(m.counts),
        weights=change(m.weights),
        means=change(m.means),
        means_low=change(m.means_low),
        scatter=m.scatter.by_class(change),
        fourth=None if m.fourth is None else m.fourth.changed(change),
        log_slopes=None if m.log_slopes is None else change(m.log_slopes),
        peaks=None if m.peaks is None else change(m.peaks),
        exact=None,
    )


def some_features(m: Moments, columns: Codes) -> Moments:
    """Return the sums of some features, by position; the result has no schema."""

    def of_pairs(values: Floats) -> Floats:
        return values[:, columns[:, None], columns]

    names = m.feature_names
    return replace(
        m,
        feature_names=None if names is None else tuple(names[j] for j in columns),
        means=m.means[:, columns],
        means_low=m.means_low[:, columns],
        scatter=m.scatter.select(columns),
        fourth=None if m.fourth is None else m.fourth.changed(of_pairs),
        power=None if m.power is None else m.power.select(columns),
        log_slopes=None if m.log_slopes is None else m.log_slopes[:, columns],
        schema=None,
        patterns=None if m.patterns is None else m.patterns.select(columns),
        peaks=None if m.peaks is None else m.peaks[:, columns],
        exact=None if m.exact is None else m.exact.select(columns),
        higher=None if m.higher is None else m.higher.select(columns),
    )


def check_features(a: Moments, b: Moments) -> None:
    """Raise unless both moments have the same features in the same order."""
    if a.n_features != b.n_features:
        raise FeatureMismatchError(
            f"cannot combine moments of {a.n_features} and {b.n_features} features: collect the "
            "same columns for both"
        )
    if a.feature_names is None or b.feature_names is None:
        return
    if a.feature_names == b.feature_names:
        return
    is_reordered = set(a.feature_names) == set(b.feature_names)
    cure = (
        "select the columns in the same order" if is_reordered else "collect the same columns"
    )
    for j, (name_a, name_b) in enumerate(zip(a.feature_names, b.feature_names, strict=True)):
        if name_a != name_b:
            raise FeatureMismatchError(
                f"feature {j} is {name_a!r} on one side and {name_b!r} on the other: {cure} on "
                "both sides"
            )


def _check_same_power(a: PowerTransform | None, b: PowerTransform | None) -> None:
    if a is None and b is None:
        return
    if a is None or b is None:
        raise FeatureMismatchError(
            "cannot combine moments of transformed rows with moments of plain rows: collect both "
            "with the same transform (Moments.of(..., power=other.power))"
        )
    if a.equals(b):
        return
    differing = np.flatnonzero(a.exponents != b.exponents)
    if len(differing):
        raise FeatureMismatchError(
            "cannot combine moments of rows that were transformed differently (at feature "
            f"{differing[0]} the transforms disagree): fit one transform and collect all parts "
            "with it"
        )
    raise FeatureMismatchError(
        "cannot combine moments of rows that were transformed differently (the transforms "
        "disagree): fit one transform and collect all parts with it"
    )
