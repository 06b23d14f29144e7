"""Conversion of moments of mixed tables to one schema, with common levels and fill values.

Sums for a wider schema are the sums of x' = T x, where T reorders features and merges levels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.moments.collect import ratio
from suffice.core.moments.scatter import ROUNDING, DiagonalScatter
from suffice.core.power_transform import PowerTransform
from suffice.core.table.schema import Number, Schema
from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments


def same_schema(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both moments with the union of their levels; a new level has weight zero."""
    a = _named_numbers(a, b.schema)
    b = _named_numbers(b, a.schema)
    if a.schema is None and b.schema is None:
        return a, b
    if a.schema is None or b.schema is None:
        mixed = a.schema or b.schema
        assert mixed is not None
        names = quoted([c.name for c in mixed.categories], 5)
        raise FeatureMismatchError(
            f"one side has categories ({names}), but the other has only numbers: collect both "
            "from the same columns"
        )
    if a.schema == b.schema:
        return a, b
    schema = a.schema.merged(b.schema)
    if schema.exceeds:
        schema = schema.capped(_level_weights(a, schema) + _level_weights(b, schema))
    return under_schema(a, schema), under_schema(b, schema)


def _level_weights(m: Moments, schema: Schema) -> Floats:
    """Return the weight of each indicator of a wider schema, (C,)."""
    return m.weights @ under_schema(m, schema).means[:, schema.n_numbers :]


def _named_numbers(m: Moments, schema: Schema | None) -> Moments:
    """Return moments of numeric columns with a schema if ``schema`` has the same columns."""
    if m.schema is not None or schema is None or schema.categories:
        return m
    plain = Schema(tuple(Number(number.name) for number in schema.numbers))
    names = m.feature_names or plain.feature_names
    if m.n_features != plain.n_features or names != plain.feature_names:
        return m
    return replace(m, schema=plain, feature_names=names)


def under_schema(m: Moments, schema: Schema) -> Moments:
    """Return the sums with the features of a wider schema."""
    if m.schema is None or m.schema == schema:
        return m
    places = m.schema.places_in(schema)
    old_features = np.flatnonzero(places >= 0)
    new_features = places[old_features]
    # x' = T x, where T has a zero row for each new level
    T = np.zeros((schema.n_features, m.schema.n_features))
    np.add.at(T, (new_features, old_features), 1.0)
    # to fill a missing x with c' instead of c, compute x' = x + (c' − c) · [x is missing]
    filled = m.schema.filled
    fills = schema.fills[np.searchsorted(schema.filled, places[filled])]
    old_fills = fills_of(m.schema, m.power)
    steps = fills_of(m.schema.with_fills(fills), m.power) - old_fills
    T[places[filled], range(m.schema.n_numbers, m.schema.first_level)] = steps
    wider = mapped(m, T)
    scatter = wider.scatter
    if isinstance(scatter, DiagonalScatter):
        scatter = _mapped_squares(m, m.schema, wider, schema, T, steps, old_fills)
    log_slopes = wider.log_slopes
    if m.power is not None and log_slopes is not None:
        log_slopes = log_slopes.copy()
        slopes = m.power.select(filled).log_slopes(np.stack([m.schema.fills, fills]))
        log_slopes[:, places[filled]] += _missing_weights(m, m.schema) * (
            slopes[1] - slopes[0]
        )
    power = m.power
    if power is not None:
        power = power.select(old_features).among(new_features, schema.n_features)
    return replace(
        wider,
        feature_names=schema.feature_names,
        scatter=scatter,
        power=power,
        log_slopes=log_slopes,
        schema=schema,
        patterns=None if m.patterns is None else m.patterns.mapped(T),
        higher=None
        if m.higher is None
        else m.higher.select(_sources(places, m.schema, schema)),
    )


def _sources(places: Codes, old: Schema, new: Schema) -> Codes:
    """Return each numeric column's position in the old schema, or −1 if the column is new."""
    sources = np.full(new.n_numbers, -1)
    sources[places[: old.n_numbers]] = np.arange(old.n_numbers)
    return sources


def _mapped_squares(
    m: Moments,
    old: Schema,
    wider: Moments,
    new: Schema,
    T: Floats,
    steps: Floats,
    old_fills: Floats,
) -> DiagonalScatter:
    """Return the sums of squares of T x; squares of merged levels follow from their weights."""
    filled = old.filled
    places = old.places_in(new)[filled]
    squares = m.diagonals @ np.square(T).T
    # Σ w (x − μ)(h − p) = w p (c − μ), where h indicates the missing values, filled with c
    gaps = old_fills - m.means[:, filled] - m.means_low[:, filled]
    squares[:, places] += 2 * steps * _missing_weights(m, old) * gaps
    # Σ w (m − p)² = w p (1 − p) for an indicator m
    shares = wider.means[:, new.n_numbers :]
    squares[:, new.n_numbers :] = m.weights[:, None] * shares * (1 - shares)
    return DiagonalScatter(squares)


def _missing_weights(m: Moments, schema: Schema) -> Floats:
    """Return the weight of the missing values in each filled column, (K, h)."""
    return m.weights[:, None] * m.means[:, schema.n_numbers : schema.first_level]


def mapped(m: Moments, T: Floats) -> Moments:
    """Return the sums of T x, where T reorders features and merges levels."""
    fourth = m.fourth
    if fourth is not None:
        adds_features = np.count_nonzero(T, axis=1).max(initial=0) > 1
        fourth = None if adds_features else fourth.changed(lambda sums: T @ sums @ T.T)
    return replace(
        m,
        means=m.means @ T.T,
        means_low=m.means_low @ T.T,
        scatter=m.scatter.mapped(T),
        fourth=fourth,
        log_slopes=None if m.log_slopes is None else m.log_slopes @ T.T,
        peaks=None if m.peaks is None else m.peaks @ np.square(T).T,
        exact=None,
        higher=None,
    )


def fills_of(schema: Schema, power: PowerTransform | None) -> Floats:
    """Return the fill values of missing numbers, transformed as the summed rows were, (h,)."""
    if power is None:
        return schema.fills
    return np.asarray(power.select(schema.filled).apply(schema.fills[None])[0])


def without_filled_cells(m: Moments) -> Moments:
    """Return moments whose third and fourth moments are over the observed cells only."""
    if m.schema is None or m.higher is None or not len(m.schema.filled):
        return m
    filled_weights = np.zeros(m.schema.n_numbers)
    filled_values = np.zeros(m.schema.n_numbers)
    filled_weights[m.schema.filled] = _missing_weights(m, m.schema).sum(0)
    filled_values[m.schema.filled] = fills_of(m.schema, m.power)
    return replace(m, higher=m.higher.without_cells(filled_weights, filled_values))


def mean_filled(m: Moments) -> Moments:
    """Return moments whose filled numbers have the mean of the observed numbers."""
    return _refilled([m], [1.0])[0]


def mean_filled_pair(a: Moments, b: Moments, sign: float) -> tuple[Moments, Moments]:
    """Return both moments, filled with the means of a + b, or of a − b if ``sign`` is −1."""
    filled_a, filled_b = _refilled([a, b], [1.0, sign])
    return filled_a, filled_b


def _refilled(parts: list[Moments], signs: list[float]) -> list[Moments]:
    schema = parts[0].schema
    power = parts[0].power
    if schema is None or not len(schema.filled):
        return parts
    filled: Codes = schema.filled
    fills = fills_of(schema, power)
    gaps = np.zeros(len(filled))
    observed = np.zeros(len(filled))
    largest = np.abs(fills)
    for m, sign in zip(parts, signs, strict=True):
        # Σ w (x − c) is a sum over observed cells only, since filled cells have x = c
        gaps += sign * m.weights @ ((m.means[:, filled] - fills) + m.means_low[:, filled])
        missing_shares = m.means[:, schema.n_numbers : schema.first_level]
        observed += sign * m.weights @ (1 - missing_shares)
        largest = np.maximum(largest, np.abs(m.means[:, filled]).max(0, initial=0.0))
    is_observed = observed > 1e-9 * parts[0].total_weight
    steps = np.where(is_observed, ratio(gaps, observed), 0.0)
    if np.all(np.abs(steps) <= ROUNDING * largest):
        return parts
    new_fills = fills + steps
    if power is not None:
        new_fills = power.select(filled).inverse(new_fills[None])[0]
    new_schema = schema.with_fills(new_fills)
    return [under_schema(m, new_schema) for m in parts]
