"""Rows as linear scores see them, (1, z) in standard units, and the problem posed to a solver."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.core.linalg import dependent_columns
from suffice.core.moments import Moments
from suffice.core.moments.device import device_labels, device_weights
from suffice.core.table.foreign import in_blocks, is_on_device, namespace, placed, to_numpy
from suffice.core.table.sampling import strided_sample
from suffice.core.table.table import Table
from suffice.core.threads import chunk_edges, over_chunks
from suffice.discriminative import logistic_loss as softmax
from suffice.typing import Codes, Floats

# −log-likelihood, gradient (C, 1 + d), and Hessian (C, 1 + d, C, 1 + d) where it was asked for
Sums: TypeAlias = tuple[float, Floats, Floats | None]
DEVICE_BLOCK = 1 << 27  # numbers that are standardised at once on a device
WIDEST_HESSIAN = 1500  # parameters of which one is affordable
MANY_FEATURES = 3000  # above this, moments keep variances only
SMALL = 500_000  # numbers; below this NumPy is quick enough and Numba is not imported


def feature_sizes(moments: Moments, *, fit_intercept: bool = True) -> Floats:
    """Return the standard deviation s_j of each feature over all rows, (d,)."""
    # without an intercept, the root mean square
    if not fit_intercept:
        return np.hypot(np.sqrt(moments.total_variances), moments.grand_mean)
    weight = moments.total_weight
    # divisor Σw − 1, as R's sd, but never less than ½ Σw: weights may sum to one or less
    return np.sqrt(moments.total_variances * weight / max(weight - 1, weight / 2))


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The map z = (x − m) / s to the units a solver works in, and back."""

    centre: Floats  # m  (d,)
    inverse: Floats  # 1 / s  (d,); zero for a constant feature
    lead: float = 1.0  # what stands before z and meets the intercept; 0 where there is none

    @classmethod
    def of(
        cls,
        moments: Moments,
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
    ) -> Self:
        """Return the map to mean zero and deviation one; without an intercept, about zero."""
        zero, lead = np.zeros(moments.n_features), float(fit_intercept)
        if not standardize:
            return cls(zero, zero + 1, lead)
        inverse = _reciprocals(feature_sizes(moments, fit_intercept=fit_intercept))
        return cls(moments.grand_mean if fit_intercept else zero, inverse, lead)

    def standardised(self, table: Table) -> Table:
        """Return the table with rows (1, z), shape (n, 1 + d), and a weight for each."""
        z = np.empty((table.n_rows, table.n_features + 1))
        z[:, 0] = self.lead
        np.subtract(table.x, self.centre, out=z[:, 1:])
        z[:, 1:] *= self.inverse
        return replace(table, x=z, weight=table.weights, names=None)

    def to_original(self, phi: Floats) -> Floats:
        """Return (w_0, w) of wᵀx + w_0 for (φ_0, φ) of φᵀz + φ_0, each (…, 1 + d)."""
        # w = φ / s,  w_0 = φ_0 − wᵀm
        slopes = phi[..., 1:] * self.inverse
        return np.concatenate([phi[..., :1] - slopes @ self.centre[:, None], slopes], axis=-1)

    def from_original(self, beta: Floats) -> Floats:
        """Return (φ_0, φ) for (w_0, w), each (…, 1 + d); a constant feature gets zero."""
        # φ = w s,  φ_0 = w_0 + wᵀm
        slopes = beta[..., 1:] * _reciprocals(self.inverse)
        intercept = self.lead * (beta[..., :1] + beta[..., 1:] @ self.centre[:, None])
        return np.concatenate([intercept, slopes], axis=-1)


def _reciprocals(s: Floats) -> Floats:
    """Return 1 / s, and zero where s is."""
    return np.divide(1.0, s, out=np.zeros(len(s)), where=s > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Few rows: kept standardised, summed with NumPy."""

    table: Table  # x holds (1, z); of many rows, x itself

    @property
    def total_weight(self) -> float:
        weight = self.table.weight
        return float(self.table.n_rows if weight is None else weight.sum())

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        """Return −log-likelihood at φ (C, 1 + d), its gradient, and its Hessian if ``curved``."""
        t = self.table
        loss, gradient, blocks = softmax.loss_sums(
            np, phi, t.x, t.codes, t.weights, curved=curved
        )
        return float(loss), gradient, softmax.joined(blocks, *phi.shape) if curved else None

    def sample(self, n: int) -> Self:
        """Return about n rows, copied, evenly from every class, weighted to stand for all."""
        return replace(self, table=strided_sample(self.table, n))

    def take(self, index: Any) -> Table:
        return self.table.take(index)

    def blocks(self) -> Iterator[Table]:
        """Yield all rows in order, standardised."""
        yield self.table


@dataclass(frozen=True, slots=True, eq=False)
class CompiledDesign(Design):
    """Many rows: left where they are, standardised tile by tile, summed by compiled chunks."""

    scaling: Scaling

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        from suffice.discriminative.loops import chunk_gradient, chunk_sums

        c, padded = len(phi), -(-phi.shape[1] // 4) * 4
        n_blocks = c * (c + 1) // 2 if curved else 0
        row_by_row = c == 1 and not curved and self.table.x.flags.c_contiguous

        def zeros() -> tuple[Floats, Floats]:
            return np.zeros(phi.shape), np.zeros((n_blocks, padded, padded))

        def one(lo: int, hi: int) -> tuple[float, Floats, Floats]:
            (gradient, blocks), rows = zeros(), self._chunk(lo, hi)
            if row_by_row:
                return chunk_gradient(*rows, phi, gradient), gradient, blocks
            return chunk_sums(*rows, phi, gradient, blocks), gradient, blocks

        loss, (gradient, lower) = 0.0, zeros()
        for part in over_chunks(one, self.table.n_rows):  # in their order
            loss += part[0]
            gradient += part[1]
            lower += part[2]
        return self._assembled(loss, gradient, lower, curved=curved)

    def _assembled(
        self,
        loss: float,
        gradient: Floats,
        lower: Floats,
        *,
        curved: bool,
    ) -> Sums:
        """Return the sums, the Hessian from its lower blocks; nothing leads where lead is 0."""
        c, d = gradient.shape
        gradient[:, 0] *= self.scaling.lead
        if not curved:
            return loss, gradient, None
        whole = (low + np.tril(low, -1).T for low in map(np.tril, lower[:, :d, :d]))
        hessian = softmax.joined(whole, c, d)
        for first in (hessian[:, 0], hessian[:, :, :, 0]):
            first *= self.scaling.lead
        return loss, gradient, hessian

    def take(self, index: Any) -> Table:
        return self.scaling.standardised(self.table.take(index))

    def blocks(self) -> Iterator[Table]:
        yield from (self.take(slice(lo, hi)) for lo, hi in chunk_edges(self.table.n_rows))

    def _chunk(self, lo: int, hi: int) -> tuple[Any, ...]:
        from suffice.core.compiled import read_only

        table, scaling = self.table, self.scaling
        weight = np.zeros(0) if table.weight is None else table.weight
        return (
            *read_only(table.x, table.codes, weight),
            lo,
            hi,
            scaling.centre,
            scaling.inverse,
        )


@dataclass(frozen=True, slots=True, eq=False)
class DeviceDesign(CompiledDesign):
    """Rows on a device, standardised and summed there in double precision, block by block."""

    @property
    def total_weight(self) -> float:
        weight = self.table.weight
        return float(
            self.table.x.shape[0] if weight is None else namespace(weight).sum(weight)
        )

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        n, d = self.table.x.shape
        parts = in_blocks(
            lambda lo, hi: self._part(phi, lo, hi, curved=curved), n, DEVICE_BLOCK // d + 1
        )
        loss, gradient, lower = (sum(each) for each in zip(*parts, strict=True))
        return self._assembled(float(loss), gradient, lower, curved=curved)

    def take(self, index: Any) -> Table:
        t = self.table
        fields: Any = {"x": t.x, "codes": t.codes, "weight": t.weight}
        rows = {name: to_numpy(v[index]) for name, v in fields.items() if v is not None}
        return self.scaling.standardised(replace(t, **rows))

    def _part(self, phi: Floats, lo: int, hi: int, *, curved: bool) -> tuple[Any, Any, Any]:
        """Return the sums of the rows lo … hi−1, on the host, the Hessian's lower blocks alone."""
        t, xp = self.table, namespace(self.table.x)

        def here(values: Any) -> Any:
            return placed(values, t.x, xp.float64)

        centre, inverse = here(self.scaling.centre), here(self.scaling.inverse)
        z = (xp.astype(t.x[lo:hi, :], xp.float64) - centre) * inverse
        z = xp.concat([here(np.ones((z.shape[0], 1))), z], axis=1)
        w = here(np.ones(1)) if t.weight is None else xp.astype(t.weight[lo:hi], xp.float64)
        sums = softmax.loss_sums(xp, here(phi), z, t.codes[lo:hi], w, curved=curved)
        loss, gradient, blocks = sums[0], sums[1], [to_numpy(block) for block in sums[2]]
        return to_numpy(loss), to_numpy(gradient), np.stack(blocks) if blocks else np.zeros(0)


def design_of(table: Table, scaling: Scaling) -> Design:
    """Return the rows in the form that suits their number."""
    if is_on_device(table.x):
        return DeviceDesign(table, scaling)
    if table.x.size <= SMALL:
        return Design(scaling.standardised(table))
    return CompiledDesign(table, scaling)


def device_table(x: Any, y: Any, weight: Any) -> tuple[Table, Moments] | None:
    """Return rows on a device as they are, and their sums; None where the host must see them."""
    if not (is_on_device(x) and x.shape[0]):
        return None
    moments, (labels, codes) = Moments.of(x, y, weight, fourth=False), device_labels(x, y)
    many = (len(labels) - 1) * (
        x.shape[1] + 1
    ) > WIDEST_HESSIAN or moments.storage != "per-class"
    if many or moments.patterns is not None or not moments.weights.all():
        return None
    table = Table(x, labels, codes, device_weights(x, weight))
    return table, replace(moments, classes=np.arange(len(labels)))


def coded_moments(table: Table, storage: str = "auto", *, fourth: bool = False) -> Moments:
    """Return the moments of a table, classes known by their codes."""
    coded = replace(table, classes=np.arange(table.n_classes))
    return Moments.of_table(coded, storage=storage, fourth=fourth)


def moments_to_fit(table: Table) -> Moments:
    """Return the moments that a fit needs; of very many features, variances only."""
    return coded_moments(table, "diagonal" if table.n_features > MANY_FEATURES else "auto")


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """An objective in the units of ``scaling``, and the moments of its rows."""

    objective: softmax.Objective
    scaling: Scaling
    moments: Moments
    aliased: Codes  # columns whose coefficients the rows cannot tell, held at zero

    @classmethod
    def of(
        cls,
        table: Table,
        moments: Moments,
        *,
        l2: float,
        standardize: bool = True,
        fit_intercept: bool = True,
        per_deviation: bool = True,
    ) -> Self:
        """Return the problem; the penalty is of coefficients per deviation, or as they are."""
        s = feature_sizes(moments, fit_intercept=fit_intercept)
        scaling = Scaling.of(moments, fit_intercept=fit_intercept, standardize=standardize)
        aliased = np.flatnonzero(s == 0)
        if l2 == 0:
            aliased = aliased_columns(moments, fit_intercept=fit_intercept)
        # λ (s_j w_j)² = λ_j φ_j²,  φ_j = w_j / inverse_j
        penalty = l2 * np.square((s if per_deviation else 1.0) * scaling.inverse)
        penalty = np.concatenate([[0.0 if fit_intercept else moments.total_weight], penalty])
        # any penalty holds a coefficient at zero whose work others can do as well
        penalty[1 + aliased] = moments.total_weight
        return cls(
            softmax.Objective(design_of(table, scaling), penalty), scaling, moments, aliased
        )

    @property
    def products(self) -> Floats:
        """Σ w z zᵀ of the rows with their leading 1, (D, D), or its diagonal (D,)."""
        m, v, lead = self.moments, self.scaling.inverse, self.scaling.lead
        shift = (m.grand_mean - self.scaling.centre) * v
        if m.storage == "diagonal":
            between = (m.weights[:, None] * m.centred_means**2).sum(0)
            squares = (m.diagonals.sum(0) + between) * v**2 + m.total_weight * shift**2
            return np.concatenate([[lead * m.total_weight], squares])
        # Σ w (x−c)(x−c)ᵀ = Σ w (x−m)(x−m)ᵀ + W (m−c)(m−c)ᵀ
        mean = np.concatenate([[lead], shift])
        products = m.total_weight * np.outer(mean, mean)
        products[1:, 1:] += (m.pooled_scatter + m.between_scatter) * v * v[:, None]
        return products

    @property
    def bound(self) -> Floats:
        """A with M ⊗ A no smaller than any Hessian of the objective, (D, D) or (D,)."""
        # Böhning (1992), *Annals of the Institute of Statistical Mathematics* 44, 197–200
        # A = β Σ w z zᵀ + diag λ,  β = ½, or ¼ for two classes
        beta = 0.25 if self.moments.n_classes == 2 else 0.5
        products, penalty = self.products, self.objective.penalty
        return beta * products + (penalty if products.ndim == 1 else np.diag(penalty))


def aliased_columns(moments: Moments, *, fit_intercept: bool = True) -> Codes:
    """Return the columns that are constant, or combinations of the columns before them."""
    constant = feature_sizes(moments, fit_intercept=fit_intercept) == 0
    if moments.storage == "diagonal":
        return np.flatnonzero(constant)
    scatter = moments.pooled_scatter + moments.between_scatter
    if not fit_intercept:
        scatter = scatter + moments.total_weight * np.outer(
            moments.grand_mean, moments.grand_mean
        )
    scatter[constant] = scatter[:, constant] = 0.0
    return dependent_columns(scatter)
