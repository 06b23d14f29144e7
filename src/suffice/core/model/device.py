"""Scores and posteriors of rows on a GPU, or in any library of the Array API, where they lie."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from suffice.core.model.posterior import (
    Argmax,
    Joint,
    LogDensity,
    LogPosterior,
    Posterior,
    Readout,
)
from suffice.core.model.scoring import LinearScores, Scaled, Scorer, Whitened
from suffice.core.table import foreign
from suffice.core.table.foreign import in_blocks, is_on_cuda, is_on_device, namespace
from suffice.core.threads import one_blas_thread
from suffice.errors import InvalidInputError

SCORED = 1 << 31  # numbers of scores that are held at once, eight times those of whitened rows


def score_anywhere(scorer: Scorer, x: Any, readout: Readout) -> npt.NDArray[Any]:
    """Return what is read out for each row of ``x`` (n, d), on the host or where x lies."""
    score: Callable[..., npt.NDArray[Any]] = device_score if is_on_device(x) else Scorer.score
    return score(scorer, x, readout)


def device_score(scorer: Scorer, x: Any, readout: Readout) -> Any:
    """Return what is read out for each row of ``x`` (n, d), in its library, on its device."""
    xp = namespace(x)
    if not xp.isdtype(x.dtype, "real floating") or xp.finfo(x.dtype).bits < 32:
        x = xp.astype(x, xp.float64)
    read, width = _fused(scorer, xp, x, readout) or _by_products(scorer, xp, x, readout)
    blocks = in_blocks(
        lambda lo, hi: read(x[lo:hi, :]), x.shape[0], max(SCORED // width, 4096)
    )
    found, told = zip(*blocks, strict=True)
    # asked at the end, so that no block waits for the one before
    if not all(map(foreign.all_finite, told)):
        raise InvalidInputError("some row has no finite score")
    return found[0] if len(found) == 1 else xp.concat(found, axis=0)


Reader = tuple[Callable[[Any], tuple[Any, Any]], int]
"""From rows to what is read out and numbers that tell whether all is finite; numbers held a row."""


def _device_loops(x: Any) -> Any:
    """Return the Triton loops, or None where x is not on an NVIDIA GPU or Triton is absent."""
    if not is_on_cuda(x):
        return None
    try:
        from suffice.core.model import device_loops
    except ImportError:
        return None
    return device_loops


def _fused(scorer: Scorer, xp: Any, x: Any, readout: Readout) -> Reader | None:
    """Return one kernel from rows to answers, where there is one for these scores."""
    kernels, answer, parts = (
        _device_loops(x),
        _ANSWERS.get(type(readout)),
        scorer.parts,
    )
    if not (kernels and answer) or scorer.n_classes > kernels.MOST_CLASSES:
        return None
    scores = _Scores(scorer, xp, x)
    if len(parts) == 1 and isinstance(parts[0], LinearScores):
        answers, terms = kernels.linear_answers, scores.linear_terms(parts[0])
    elif len(scores.single) == scorer.n_classes and x.shape[1] <= kernels.WIDEST:
        answers, terms = kernels.quadratic_answers, scores.whitening_terms()
    else:
        return None

    def read(rows: Any) -> tuple[Any, Any]:
        found, lost = answers(rows, terms, readout.temperature, answer)
        return xp.from_dlpack(found), xp.from_dlpack(1.0 / (1 - lost))  # not finite where lost

    return read, scorer.n_classes


def _by_products(scorer: Scorer, xp: Any, x: Any, readout: Readout) -> Reader:
    """Return products of rows and factors, and what is read out of them."""
    parts = list(_Scores(scorer, xp, x))
    order = np.argsort(np.concatenate([classes for classes, _ in parts]))
    back = xp.asarray(order, device=foreign.device_of(x))

    def read(rows: Any) -> tuple[Any, Any]:
        found = [score(rows) for _, score in parts]
        a = found[0] if len(found) == 1 else xp.take(xp.concat(found, axis=1), back, axis=1)
        return _read(xp, a, readout)

    linear = isinstance(scorer.parts[0], LinearScores)
    return read, scorer.n_classes * (1 if linear else 8 * x.shape[1])


_ANSWERS = {Posterior: "softmax", LogPosterior: "log_softmax", Argmax: "argmax"}


def _norms(z: Any, centres: Any, constants: Any) -> Any:
    """Return bₖ − ½ |zₖ − cₖ|² of whitened rows (n, K d), shape (n, K)."""
    xp, k, kernels = namespace(z), constants.shape[0], _device_loops(z)
    if kernels:
        return xp.from_dlpack(kernels.scores_of(z, centres, constants))
    z = xp.reshape(z - centres, (z.shape[0], k, z.shape[1] // k))
    return constants - 0.5 * xp.linalg.vector_norm(z, axis=2) ** 2


@dataclass(frozen=True)
class _Scores:
    """Classes, and the function from rows to their scores (n, m), of each part of a scorer."""

    scorer: Scorer
    xp: Any
    like: Any

    @cached_property
    def single(self) -> list[Whitened]:
        """The parts that are one class each."""
        return [
            p for p in self.scorer.parts if isinstance(p, Whitened) and len(p.classes) == 1
        ]

    def __iter__(self) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
        if self.single:
            yield np.concatenate([p.classes for p in self.single]), self._whitened()
        for part in self.scorer.parts:
            if isinstance(part, LinearScores):
                yield part.classes, self._linear(part)
            elif isinstance(part, Scaled) or len(part.classes) > 1:
                yield part.classes, self._grouped(part)

    def _here(self, *values: Any) -> Iterator[Any]:
        return (foreign.constants_like(value, self.like) for value in values)

    def linear_terms(self, part: LinearScores) -> tuple[Any, ...]:
        """Return the origin (d,), weights (d, K) and constants (K,) of linear scores."""
        return tuple(self._here(self.scorer.origin, part.weights.T, part.constants))

    def _linear(self, part: LinearScores) -> Callable[[Any], Any]:
        # wₖᵀ(x − o) + bₖ
        origin, w, b = self.linear_terms(part)
        return lambda x: (x - origin) @ w + b

    def whitening_terms(self) -> tuple[Any, ...]:
        """Return the origin, factors Wᵀ (K, d, d), W μ (K, d) and constants, class by class."""
        parts = sorted(self.single, key=lambda part: int(part.classes[0]))
        factors = np.stack([part.whitening.T for part in parts])
        centres = np.stack([part.whitening @ part.means[0] for part in parts])
        constants = np.concatenate([part.constants for part in parts])
        return tuple(self._here(self.scorer.origin, factors, centres, constants))

    def _whitened(self) -> Callable[[Any], Any]:
        """Return bₖ − ½ |Wₖ (x − o) − Wₖ μₖ|² of all classes, by one product."""
        parts, o = self.single, self.scorer.origin
        factors = np.concatenate([part.whitening for part in parts])
        constants = np.concatenate([part.constants for part in parts])
        # the origin is taken from the product, not from the rows, where no digits are lost by it
        limit = 1e3 if self.xp.finfo(self.like.dtype).bits == 32 else 1e5
        with one_blas_thread():
            centres = np.concatenate([part.whitening @ part.means[0] for part in parts])
            near = (np.abs(factors) @ np.abs(o)).max(initial=0.0) < limit
            centres = centres + factors @ o if near else centres
        origin, product, c, b = self._here(o, factors.T, centres, constants)
        return lambda x: _norms((x if near else x - origin) @ product, c, b)

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


def _read(xp: Any, a: Any, readout: Readout) -> tuple[Any, Any]:
    """Return what is read out of scores (n, K), and what is finite where every row has any."""
    a, readout = readout.of_classes(xp, a)
    if isinstance(readout, Joint):
        return a, xp.max(a, axis=1)
    if isinstance(readout, Argmax):
        return xp.argmax(a, axis=1), xp.max(a, axis=1)
    if isinstance(readout, LogDensity):
        top = xp.max(a, axis=1, keepdims=True)
        return top[:, 0] + xp.log(xp.sum(xp.exp(a - top), axis=1)), top
    t = cast("Posterior", readout).temperature
    a = a if t == 1 else a / t
    # one kernel where the library has one
    name = "log_softmax" if isinstance(readout, LogPosterior) else "softmax"
    p = getattr(xp, name)(a, -1) if hasattr(xp, name) else _softmax(xp, a, log="log" in name)
    return p, xp.sum(p) if name == "softmax" else xp.max(p, axis=1)


def _softmax(xp: Any, a: Any, *, log: bool) -> Any:
    d = a - xp.max(a, axis=1, keepdims=True)
    e = xp.exp(d)
    total = xp.sum(e, axis=1, keepdims=True)
    return d - xp.log(total) if log else e / total
