"""How moments combine: alignment of classes, Chan's merge, its inverse and the digits it leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.linalg import EPS
from suffice.core.moments.collect import ratio, two_sum
from suffice.core.moments.scatter import DiagonalScatter, FourthMoments, by_column
from suffice.core.power_transform import PowerTransform
from suffice.core.table.labels import union
from suffice.core.table.matrix import column_name
from suffice.core.table.schema import Number, Schema
from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, ForgetError, warn
from suffice.typing import Codes, Flags, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

ROUNDING = 1e3 * EPS  # of a peak: below it a sum of squares cannot be told from zero
FEWEST_DIGITS = 6  # of a variance that may be left
FEWEST_FOURTH_DIGITS = 4
GROSS = 1e3  # a peak above so many times the squares of all rows that are left is an outlier's
BY_COLUMN = ("means", "means_low", "log_slopes", "peaks")  # fields of shape (K, d), or None


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
    slopes = None
    if a.log_slopes is not None and b.log_slopes is not None:
        slopes = a.log_slopes + sign * b.log_slopes
    peaks = [each for each in (a.peaks, b.peaks) if each is not None]
    return replace(
        a,
        weights=weights,
        means=means,
        means_low=means_low,
        log_slopes=slopes,
        counts=a.counts + b.counts if sign > 0 else a.counts - b.counts,
        feature_names=a.feature_names or b.feature_names,
        scatter=a.scatter.plus(b.scatter, sign).shifted(a.weights * share, delta),
        fourth=_merged_fourth(a, b, sign, moved, delta),
        peaks=reduce(np.maximum, peaks) if peaks else None,
    )


def _merged_fourth(
    a: Moments,
    b: Moments,
    sign: float,
    moved: Floats,
    delta: Floats,
) -> FourthMoments | None:
    if a.fourth is None or b.fourth is None:
        return None
    still = np.zeros_like(delta)
    of_a = a.fourth.recentred(a.weights, still, a.scatters, -moved)
    of_b = b.fourth.recentred(b.weights, still, b.scatters, delta - moved)
    return FourthMoments(*(x + sign * y for x, y in zip(of_a, of_b, strict=True)))


def aligned(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both over the union of their classes, after checking that features agree."""
    if not a.n_classes and not a.n_features:
        a = _blank_like(b)
    if not b.n_classes and not b.n_features:
        b = _blank_like(a)
    a, b = _same_schema(a, b)
    _check_features(a, b)
    _check_same_power(a.power, b.power)
    if a.storage != b.storage:
        coarser = a.scatter.plus(b.scatter, 1.0).storage
        warn(
            f"{a.storage} and {b.storage} scatter meet: the result keeps {coarser} scatter only"
        )
    if (a.feature_names is None) != (b.feature_names is None):
        names = quoted(a.feature_names or b.feature_names or (), 5)
        warn(
            f"one side has the columns {names}, the other no names: taken to be in this order"
        )
    same = a.classes is b.classes or np.array_equal(a.classes, b.classes)
    if same and a.classes.dtype.kind == b.classes.dtype.kind:
        return a, b
    classes = union(a.classes, b.classes)
    return (a, b) if same else (over_classes(a, classes), over_classes(b, classes))


def _same_schema(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both over the levels of either side; a level that one has not seen is zero there."""
    a, b = _named_numbers(a, b.schema), _named_numbers(b, a.schema)
    if a.schema is None or b.schema is None or a.schema == b.schema:
        if (a.schema is None) != (b.schema is None):
            mixed = next(m.schema for m in (a, b) if m.schema is not None)
            found = (
                f"one side has categories ({quoted([c.name for c in mixed.categories], 5)})"
            )
            cure = "collect both from the same columns"
            raise FeatureMismatchError(f"{found}, the other numbers alone: {cure}")
        return a, b
    schema = a.schema.merged(b.schema)
    if schema.exceeds:
        both = [
            m.weights @ under_schema(m, schema).means[:, schema.n_numbers :] for m in (a, b)
        ]
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
    power = m.power and m.power.select(here).among(places[here], schema.n_features)
    # x filled by c' instead of c:  x' = x + (c' − c) · [x is missing]
    at, holes = m.schema.filled, slice(m.schema.n_numbers, m.schema.first_level)
    fills = schema.fills[np.searchsorted(schema.filled, places[at])]
    own = fills_of(m.schema, m.power)
    moved = fills_of(m.schema.with_fills(fills), m.power) - own
    change[places[at], range(holes.start, holes.stop)] = moved
    found = mapped(m, change)
    scatter, empty = found.scatter, m.weights[:, None] * m.means[:, holes]
    if isinstance(scatter, DiagonalScatter):
        # Σ w (x − μ)(h − p) = w p (c − μ) of the indicator h of empty cells, in class k
        squares, shares = m.diagonals @ np.square(change).T, found.means[:, schema.n_numbers :]
        squares[:, places[at]] += (
            2 * moved * empty * (own - m.means[:, at] - m.means_low[:, at])
        )
        squares[:, schema.n_numbers :] = m.weights[:, None] * shares * (1 - shares)
        scatter = DiagonalScatter(squares)
    if m.power is not None and found.log_slopes is not None:
        steep = m.power.select(at).log_slopes(np.stack([m.schema.fills, fills]))
        found.log_slopes[:, places[at]] += empty * (steep[1] - steep[0])
    return replace(
        found,
        feature_names=schema.feature_names,
        schema=schema,
        power=power,
        scatter=scatter,
        patterns=m.patterns and m.patterns.mapped(change),
    )


def fills_of(schema: Schema, power: PowerTransform | None) -> Floats:
    """Return what stands in the empty cells of filled numbers, in the units of sums, (h,)."""
    own = power and power.select(schema.filled)
    return schema.fills if own is None else own.apply(schema.fills[None])[0]


def mean_filled(*parts: Moments, sign: float = 1.0) -> Sequence[Moments]:
    """Return aligned moments whose empty cells hold the mean of their sum, or of a − b."""
    schema, power = parts[0].schema, parts[0].power
    if schema is None or not len(schema.filled):
        return parts
    at, own = schema.filled, fills_of(schema, power)
    gaps, seen, largest = np.zeros(len(at)), np.zeros(len(at)), np.abs(own)
    for m, s in zip(parts, (1.0, sign), strict=False):
        # cells filled by c add nothing:  Σ w (x − c) is that of observed ones
        gaps += s * m.weights @ ((m.means[:, at] - own) + m.means_low[:, at])
        seen += s * m.weights @ (1 - m.means[:, schema.n_numbers : schema.first_level])
        largest = np.maximum(largest, np.abs(m.means[:, at]).max(0, initial=0.0))
    moved = np.where(seen > 1e-9 * parts[0].total_weight, ratio(gaps, seen), 0.0)
    if np.all(np.abs(moved) <= ROUNDING * largest):
        return parts
    fills = (own + moved)[None]
    filled = schema.with_fills((power.select(at).inverse(fills) if power else fills)[0])
    return [under_schema(m, filled) for m in parts]


def mapped(m: Moments, change: Floats) -> Moments:
    """Return the sums of T x, where T moves features and adds levels to each other."""
    fourth = None if np.count_nonzero(change, axis=1).max(initial=0) > 1 else m.fourth
    return replace(
        m,
        **_changed(m, BY_COLUMN[:3], lambda values: values @ change.T),
        scatter=m.scatter.mapped(change),
        fourth=fourth and FourthMoments(*(change @ sums @ change.T for sums in fourth)),
        peaks=None if m.peaks is None else m.peaks @ np.square(change).T,
    )


def _blank_like(other: Moments) -> Moments:
    """Return the sums of no rows, in the storage of ``other``."""
    nothing = replace(other, scatter=other.scatter.plus(other.scatter, -1.0))
    return over_classes(some_classes(nothing, np.zeros(0, np.intp)), other.classes)


def over_classes(m: Moments, classes: Labels) -> Moments:
    """Return the moments over more classes, those that are new without rows."""
    codes = np.searchsorted(classes, m.classes.astype(classes.dtype))

    def spread(values: Any) -> Any:
        out = np.zeros((len(classes), *values.shape[1:]), values.dtype)
        out[codes] = values
        return out

    return by_class(m, classes, spread)


def some_classes(m: Moments, codes: Codes) -> Moments:
    """Return the moments of some classes only."""
    return by_class(m, m.classes[codes], lambda values: values[codes])


def by_class(m: Moments, classes: Labels, change: Callable[[Any], Any]) -> Moments:
    """Return the moments over other classes, by a change of the first axis of every field."""
    return replace(
        m,
        **_changed(m, ("counts", "weights", *BY_COLUMN), change),
        classes=classes,
        scatter=m.scatter.by_class(change),
        fourth=m.fourth and FourthMoments(*map(change, m.fourth)),
        patterns=m.patterns and m.patterns.by_class(change, classes),
    )


def some_features(m: Moments, columns: Codes) -> Moments:
    """Return the sums of some features only, by position; they are plain numbers then."""
    names, pairs = m.feature_names, (slice(None), columns[:, None], columns)
    return replace(
        m,
        **_changed(m, BY_COLUMN, lambda values: values[:, columns]),
        feature_names=names and tuple(names[i] for i in columns),
        schema=None,
        scatter=m.scatter.select(columns),
        power=m.power and m.power.select(columns),
        fourth=m.fourth and FourthMoments(*(sums[pairs] for sums in m.fourth)),
        patterns=m.patterns and m.patterns.select(columns),
    )


def _changed(m: Moments, names: Sequence[str], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return fields of moments, those that they have, after a change."""
    held = {name: getattr(m, name) for name in names}
    return {name: change(values) for name, values in held.items() if values is not None}


def _check_features(a: Moments, b: Moments) -> None:
    if a.n_features != b.n_features:
        msg = f"cannot merge moments of {a.n_features} and {b.n_features} features"
        raise FeatureMismatchError(msg)
    if (
        a.feature_names is None
        or b.feature_names is None
        or a.feature_names == b.feature_names
    ):
        return
    pairs = zip(a.feature_names, b.feature_names, strict=True)
    at, (left, right) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
    same = set(a.feature_names) == set(b.feature_names)
    cure = "select the columns in the same order" if same else "collect the same columns"
    msg = f"feature {at} is {left!r} on one side and {right!r} on the other: {cure} on both sides"
    raise FeatureMismatchError(msg)


def _check_same_power(a: PowerTransform | None, b: PowerTransform | None) -> None:
    if (a is None) != (b is None):
        cure = "collect both with the same transform (Moments.of(..., power=other.power))"
        msg = f"cannot merge moments of transformed rows with moments of plain ones: {cure}"
        raise FeatureMismatchError(msg)
    if a is not None and b is not None and not a.equals(b):
        differing = np.flatnonzero(a.exponents != b.exponents)
        where = f"at feature {differing[0]} " if len(differing) else ""
        found = f"rows transformed differently ({where}the transforms disagree)"
        cure = "fit one transform and collect all parts with it"
        raise FeatureMismatchError(f"cannot merge moments of {found}: {cure}")


def without_gone(m: Moments) -> Moments:
    """Return the moments with classes that have no row left set to exact zeros."""
    kept = m.counts > 0

    def zeroed(values: Any) -> Any:
        return np.where(kept.reshape(*kept.shape, *[1] * (values.ndim - kept.ndim)), values, 0)

    return m if kept.all() else by_class(m, m.classes, zeroed)


def check_held(total: Moments, part: Moments) -> None:
    """Refuse to take out more than was ever put in, or weights that the others vanish beside."""
    more = (part.counts > total.counts) | (part.weights > total.weights * (1 + 1e-8))
    for k in np.flatnonzero(more)[:1]:
        found = f"cannot forget {part.counts[k]} rows of class {total.classes[k].item()!r}"
        weight = f"weight {part.weights[k]:g} of {total.weights[k]:g}"
        raise ForgetError(f"{found}: only {total.counts[k]} were ever added ({weight})")
    left, exact = total.weights - part.weights, total.weights == np.rint(total.weights)
    exact &= total.weights < 1 / EPS  # numbers of rows, say
    few = left < 10.0**FEWEST_DIGITS * EPS * total.weights
    for k in np.flatnonzero(few & ~exact & (part.counts < total.counts))[:1]:
        weight = f"the weight of class {total.classes[k].item()!r} was {total.weights[k]:.2g}"
        found = f"{weight} and would be {left[k]:.2g}, with few correct digits left"
        raise ForgetError(f"cannot forget these rows exactly: {found}: fit again without them")


def without(total: Moments, part: Moments) -> Moments:
    """Return ``total`` − ``part``, or say that the rows were never added, or what would be lost."""
    rest = merged(total, part, -1.0)
    constant, peaks = spread_left(total, rest)
    # of Σ z⁴ ≥ (Σ z²)² / n, which was at most peak², rounding leaves this little
    share = np.sqrt(10.0**FEWEST_FOURTH_DIGITS * EPS * rest.counts[:, None])
    scatter = replace(rest.scatter, values=rest.scatter.values * _kept(rest, constant))
    fourth = None if ((_squares(rest) < share * peaks) & ~constant).any() else rest.fourth
    # where all that is left of a column is zero, its mean is no more than rounding
    zero = constant & (np.abs(rest.means) <= ROUNDING * np.sqrt(_squares(total)))
    rest = replace(
        rest, **_changed(rest, ("means", "means_low"), lambda m: np.where(zero, 0.0, m))
    )
    return without_gone(replace(rest, scatter=scatter, fourth=fourth, peaks=peaks))


def spread_left(total: Moments, rest: Moments) -> tuple[Flags, Floats]:
    """Return which columns are constant in what is left of the rows, and the peaks, (K, d) each."""
    left, peaks = _squares(rest), _squares(total)
    if total.peaks is not None:
        peaks = np.maximum(total.peaks, peaks)
    few = by_column(rest.counts <= 1)
    single = few if rest.storage != "pooled" else few.all(0, keepdims=True)
    never = np.where(single, np.abs(left) > 1e-8 * peaks, left < -ROUNDING * peaks)
    for k, j in np.argwhere(never)[:1]:
        found = f"cannot forget these rows: {_where(rest, k, j)} they vary more, or otherwise"
        why = "than the rows that were added, so some of them were never added"
        raise ForgetError(f"{found}, {why}")
    constant = single | ((left <= ROUNDING * peaks) & _explained(rest, left, peaks))
    for k, j in np.argwhere((left < 10.0**FEWEST_DIGITS * EPS * peaks) & ~constant)[:1]:
        digits = np.log10(max(left[k, j], EPS * peaks[k, j]) / (EPS * peaks[k, j]))
        squares = f"the sum of squares was {peaks[k, j]:.2g} and would be {left[k, j]:.2g}"
        found = f"{_where(rest, k, j)} {squares}, with {digits:.1f} correct digits left"
        msg = f"cannot forget these rows exactly: {found}: fit again without these rows"
        raise ForgetError(msg)
    return np.broadcast_to(constant, left.shape), np.where(single, 0.0, peaks)


def _squares(m: Moments) -> Floats:
    """Return sums of squares about the class means (K, d), those of all classes if pooled."""
    if m.storage == "pooled":
        return np.broadcast_to(m.scatter.pooled_diagonal(), m.means.shape)
    return m.scatter.diagonals()


def _explained(rest: Moments, left: Floats, peaks: Floats) -> Flags:
    """Return where no spread is left because rows agree, not because an outlier took its digits."""
    w = np.broadcast_to(by_column(rest.weights), left.shape)
    between = w * np.square(rest.means - ratio((w * rest.means).sum(0), w.sum(0)))
    if rest.storage == "pooled":
        return np.asarray(peaks <= GROSS * (left + between.sum(0)))
    total = ratio(w, w.sum(0)) * (np.maximum(left, 0.0) + between).sum(0)
    # no class varies beyond its own rounding: a column that is constant now
    nowhere = (left <= ROUNDING * peaks).all(0) & (np.count_nonzero(w, axis=0) > 1)
    return np.asarray((peaks <= GROSS * total) | nowhere)


def _kept(rest: Moments, constant: Flags) -> Floats:
    """Return 0 for the entries of the scatter that belong to constant columns, else 1."""
    kept = (~constant).astype(np.float64)
    if rest.storage == "diagonal":
        return kept
    if rest.storage == "pooled":
        return np.outer(kept.min(0, initial=1.0), kept.min(0, initial=1.0))
    return kept[:, :, None] * kept[:, None, :]


def _where(rest: Moments, k: Any, j: Any) -> str:
    of_class = "" if rest.storage == "pooled" else f" of class {rest.classes[k].item()!r}"
    return f"in column {column_name(rest.feature_names, j)}{of_class}"
