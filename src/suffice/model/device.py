"""Scores and posteriors of rows on a GPU, or in any library of the Array API, where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from suffice.errors import InvalidInputError
from suffice.model.posterior import Argmax, Joint, LogDensity, LogPosterior, Posterior, Readout
from suffice.model.scoring import LinearScores, Scaled, Scorer, Whitened
from suffice.table.foreign import all_finite, beside, device_of, in_blocks, is_on_device, namespace

_WIDE = 64
SCORED = 1 << 31  # numbers of scores that are held at once, eight times those of whitened rows


def scored(scorer: Scorer, x: Any, readout: Readout) -> npt.NDArray[Any]:
    """Return what is read out for each row of ``x`` (n, d), on the host or where x lies."""
    found: npt.NDArray[Any] = (device_score if is_on_device(x) else Scorer.score)(
        scorer, x, readout
    )
    return found


def device_score(scorer: Scorer, x: Any, readout: Readout) -> Any:
    """Return what is read out for each row of ``x`` (n, d), in its library, on its device."""
    xp = namespace(x)
    if not xp.isdtype(x.dtype, "real floating") or xp.finfo(x.dtype).bits < 32:
        x = xp.astype(x, xp.float64)
    scores = list(_Scores(scorer, xp, x))
    order = np.argsort(np.concatenate([classes for classes, _ in scores]))
    back = xp.asarray(order, device=device_of(x))

    def read(lo: int, hi: int) -> Any:
        found = [score(x[lo:hi, :]) for _, score in scores]
        a = found[0] if len(found) == 1 else xp.take(xp.concat(found, axis=1), back, axis=1)
        return _read(xp, a, readout)

    linear = isinstance(scorer.parts[0], LinearScores)
    wide = scorer.n_classes * (1 if linear else 8 * x.shape[1])
    block = max(SCORED // wide, 1 << 12)
    parts = list(in_blocks(read, x.shape[0], block))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def _norms(z: Any, constants: Any) -> Any:
    """Return cₖ − ½ |zₖ|² of whitened rows (n, K d), shape (n, K)."""
    if type(z).__module__.partition(".")[0] == "torch" and z.is_cuda:
        with suppress(ImportError):
            from suffice.model import device_kernels

            return device_kernels.scores_of(z, constants)
    xp, k = namespace(z), constants.shape[0]
    z = xp.reshape(z, (z.shape[0], k, z.shape[1] // k))
    return constants - 0.5 * xp.linalg.vector_norm(z, axis=2) ** 2


@dataclass(frozen=True)
class _Scores:
    """Classes, and the function from rows to their scores (n, m), of each part of a scorer."""

    scorer: Scorer
    xp: Any
    like: Any

    def __iter__(self) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
        parts = self.scorer.parts
        single = [p for p in parts if isinstance(p, Whitened) and len(p.classes) == 1]
        if single:
            yield np.concatenate([p.classes for p in single]), self._whitened(single)
        for part in parts:
            if isinstance(part, LinearScores):
                yield part.classes, self._linear(part)
            elif isinstance(part, Scaled) or len(part.classes) > 1:
                yield part.classes, self._grouped(part)

    def _here(self, *values: Any) -> Iterator[Any]:
        return (beside(value, self.like) for value in values)

    def _linear(self, part: LinearScores) -> Callable[[Any], Any]:
        # wₖᵀ(x − o) + bₖ; at once where no digits are lost by it
        moved = np.abs(part.weights) @ np.abs(self.scorer.origin)
        single = self.xp.finfo(self.like.dtype).bits == 32
        if moved.max(initial=0.0) < (1e3 if single else 1e5):
            at_zero = part.constants - part.weights @ self.scorer.origin
            w, b = self._here(part.weights.T, at_zero)
            return lambda x: _affine(self.xp, x, w, b)
        origin, w, b = self._here(self.scorer.origin, part.weights.T, part.constants)
        return lambda x: _affine(self.xp, x - origin, w, b)

    def _whitened(self, parts: Sequence[Whitened]) -> Callable[[Any], Any]:
        """Return cₖ − ½ |Wₖ x − Wₖ μₖ|² of all classes, by one product."""
        origin, product, centres, constants = self._here(
            self.scorer.origin,
            np.concatenate([part.whitening for part in parts]).T,
            np.concatenate([part.whitening @ part.means[0] for part in parts]),
            np.concatenate([part.constants for part in parts]),
        )
        return lambda x: _norms(_affine(self.xp, x - origin, product, -centres), constants)

    def _grouped(self, part: Whitened | Scaled) -> Callable[[Any], Any]:
        """Return cₖ − ½ |W x − W μₖ|² of classes that share W."""
        factor = part.whitening if isinstance(part, Whitened) else np.diag(1 / part.scale)
        given = (self.scorer.origin, factor.T, part.means @ factor.T, part.constants)
        origin, change, centres, constants = self._here(*given)

        def scores(x: Any) -> Any:
            z = (x - origin) @ change
            gaps = (z - centres[k, :] for k in range(len(part.classes)))
            lengths = [self.xp.linalg.vector_norm(gap, axis=1) for gap in gaps]
            return constants - 0.5 * self.xp.stack(lengths, axis=1) ** 2

        return scores


def _read(xp: Any, a: Any, readout: Readout) -> Any:
    """Return what is read out of scores (n, K); raise where a row has none that is finite."""
    if isinstance(readout, Joint):
        return _if_finite(a, xp.max(a, axis=1))
    if isinstance(readout, Argmax):
        return _if_finite(xp.argmax(a, axis=1), xp.max(a, axis=1))
    if isinstance(readout, LogDensity):
        top = xp.max(a, axis=1, keepdims=True)
        return _if_finite(top[:, 0] + xp.log(xp.sum(xp.exp(a - top), axis=1)), top)
    t = cast("Posterior", readout).temperature
    a = a if t == 1 else a / t
    # one kernel where the library has one
    name = "log_softmax" if isinstance(readout, LogPosterior) else "softmax"
    p = getattr(xp, name)(a, -1) if hasattr(xp, name) else _softmax(xp, a, log="log" in name)
    return _if_finite(p, xp.sum(p) if name == "softmax" else xp.max(p, axis=1))


def _affine(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """Return x w + b; PyTorch adds b inside the product, which pays but for few double columns."""
    if hasattr(xp, "addmm") and (x.dtype == xp.float32 or w.shape[1] > _WIDE):
        return xp.addmm(b, x, w)
    product = x @ w
    product += b
    return product


def _softmax(xp: Any, a: Any, *, log: bool) -> Any:
    d = a - xp.max(a, axis=1, keepdims=True)
    e = xp.exp(d)
    total = xp.sum(e, axis=1, keepdims=True)
    return d - xp.log(total) if log else e / total


def _if_finite(values: Any, told: Any) -> Any:
    if not all_finite(told):
        raise InvalidInputError("some row has no finite score")
    return values
