"""Scores and posteriors of rows on a GPU, or in any library with the Array API."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TypeAlias, cast

import numpy as np

from suffice.core.model.posterior import (
    Argmax,
    Joint,
    LogDensity,
    LogPosterior,
    Posterior,
    Readout,
)
from suffice.core.model.scoring import LinearScores, Scaled, Scorer, Whitened
from suffice.core.table.foreign import (
    DeviceArray,
    Namespace,
    all_finite,
    constants_like,
    device_of,
    in_blocks,
    is_on_cuda,
    is_on_device,
    namespace,
)
from suffice.core.threads import one_blas_thread
from suffice.errors import InvalidInputError
from suffice.typing import Array, Codes, Floats, RowsLike

# most scores in memory at once; whitened rows have at most an eighth as many numbers
SCORED = 1 << 31

# maps rows to their scores (n, m)
ScoreFunction: TypeAlias = Callable[[DeviceArray], DeviceArray]
# maps rows to the values of a readout and to check numbers, which are all finite if and only if
# every row has a finite score
ReadFunction: TypeAlias = Callable[[DeviceArray], tuple[DeviceArray, DeviceArray]]


def score_anywhere(scorer: Scorer, x: RowsLike, readout: Readout) -> Array:
    """Return the readout of each row of ``x`` (n, d), computed on the device of x."""
    if is_on_device(x):
        return cast("Array", device_score(scorer, x, readout))
    return scorer.score(x, readout)


def device_score(scorer: Scorer, x: DeviceArray, readout: Readout) -> DeviceArray:
    """Return the readout of each row of ``x`` (n, d), in its library, on its device."""
    xp = namespace(x)
    scorer = replace(scorer, parts=scorer.matrix_parts())
    if not xp.isdtype(x.dtype, "real floating") or xp.finfo(x.dtype).bits < 32:
        x = xp.astype(x, xp.float64)
    n_held = scorer.n_classes  # numbers in memory for each row
    fused = _fused_reader(scorer, x, readout)
    if fused is None and not isinstance(scorer.parts[0], LinearScores):
        n_held *= 8 * x.shape[1]
    read = fused or _reader_by_products(scorer, x, readout)

    def read_block(lo: int, hi: int) -> tuple[DeviceArray, DeviceArray]:
        return read(x[lo:hi, :])

    values = []
    checks = []
    for value, check in in_blocks(read_block, x.shape[0], max(SCORED // n_held, 4096)):
        values.append(value)
        checks.append(check)
    # read the checks at the end: reading one earlier would delay the next block
    if not all(all_finite(check) for check in checks):
        raise InvalidInputError("some row has no finite score")
    return values[0] if len(values) == 1 else xp.concat(values, axis=0)


def _triton_loops(x: DeviceArray) -> ModuleType | None:
    """Return the Triton loops, or None if x is not on an NVIDIA GPU or Triton is not installed."""
    if not is_on_cuda(x):
        return None
    try:
        from suffice.core.model import device_loops
    except ImportError:
        return None
    return device_loops


def _fused_reader(scorer: Scorer, x: DeviceArray, readout: Readout) -> ReadFunction | None:
    """Return a Triton loop from rows to values, or None if there is none for these scores."""
    loops = _triton_loops(x)
    answer = _TRITON_ANSWERS.get(type(readout))
    if loops is None or answer is None or scorer.n_classes > loops.MOST_CLASSES:
        return None
    xp = namespace(x)
    terms: tuple[DeviceArray, ...]
    first_part = scorer.parts[0]
    single = _single_class_parts(scorer)
    if len(scorer.parts) == 1 and isinstance(first_part, LinearScores):
        answers = loops.linear_answers
        terms = _linear_terms(scorer, first_part, x)
    elif len(single) == scorer.n_classes and x.shape[1] <= loops.WIDEST:
        answers = loops.quadratic_answers
        terms = _whitening_terms(scorer, single, x)
    else:
        return None

    def read(rows: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        values, lost = answers(rows, terms, readout.temperature, answer)
        check = 1.0 / (1 - lost)  # infinite for a tile that has a row without a finite score
        return xp.from_dlpack(values), xp.from_dlpack(check)

    return read


_TRITON_ANSWERS: dict[type[Readout], str] = {
    Posterior: "softmax",
    LogPosterior: "log_softmax",
    Argmax: "argmax",
}


def _reader_by_products(scorer: Scorer, x: DeviceArray, readout: Readout) -> ReadFunction:
    """Return a function from rows to values that multiplies rows by factors of covariances."""
    xp = namespace(x)
    parts = _score_functions(scorer, x)
    classes = np.concatenate([part.classes for part in parts])
    class_order = xp.asarray(np.argsort(classes), device=device_of(x))

    def read(rows: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        scores = [part.score(rows) for part in parts]
        if len(scores) == 1:
            return _read(xp, scores[0], readout)
        a = xp.take(xp.concat(scores, axis=1), class_order, axis=1)
        return _read(xp, a, readout)

    return read


@dataclass(frozen=True)
class _PartScores:
    """Some classes, and the function from rows to their scores."""

    classes: Codes
    score: ScoreFunction


def _single_class_parts(scorer: Scorer) -> list[Whitened]:
    """Return the parts that whiten rows for a single class."""
    whitened = [part for part in scorer.parts if isinstance(part, Whitened)]
    return [part for part in whitened if len(part.classes) == 1]


def _score_functions(scorer: Scorer, x: DeviceArray) -> list[_PartScores]:
    """Return one function for all classes with their own factor, and one for each other part."""
    functions = []
    single = _single_class_parts(scorer)
    if single:
        classes = np.concatenate([part.classes for part in single])
        functions.append(_PartScores(classes, _whitened_scores(scorer, single, x)))
    for part in scorer.matrix_parts():
        if isinstance(part, LinearScores):
            functions.append(_PartScores(part.classes, _linear_scores(scorer, part, x)))
        elif isinstance(part, Scaled) or len(part.classes) > 1:
            functions.append(_PartScores(part.classes, _shared_scores(scorer, part, x)))
    return functions


def _linear_terms(
    scorer: Scorer,
    part: LinearScores,
    x: DeviceArray,
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Return the origin (d,), weights (d, K) and constants (K,) of linear scores."""
    origin = constants_like(scorer.origin, x)
    weights = constants_like(part.weights.T, x)
    constants = constants_like(part.constants, x)
    return origin, weights, constants


def _linear_scores(scorer: Scorer, part: LinearScores, x: DeviceArray) -> ScoreFunction:
    origin, w, b = _linear_terms(scorer, part, x)

    def score(rows: DeviceArray) -> DeviceArray:
        # wₖᵀ(x − o) + bₖ
        return (rows - origin) @ w + b

    return score


def _whitening_terms(
    scorer: Scorer,
    parts: list[Whitened],
    x: DeviceArray,
) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
    """Return the origin, and for each class Wᵀ (K, d, d), W μ (K, d) and the constant (K,)."""
    by_class = sorted(parts, key=lambda part: int(part.classes[0]))
    factors = np.stack([part.whitening.T for part in by_class])
    centres = np.stack([part.whitening @ part.means[0] for part in by_class])
    constants = np.concatenate([part.constants for part in by_class])
    return (
        constants_like(scorer.origin, x),
        constants_like(factors, x),
        constants_like(centres, x),
        constants_like(constants, x),
    )


def _whitened_scores(scorer: Scorer, parts: list[Whitened], x: DeviceArray) -> ScoreFunction:
    """Return the function bₖ − ½ |Wₖ (x − o) − Wₖ μₖ|² of all classes, by one matrix product."""
    xp = namespace(x)
    factors = np.concatenate([part.whitening for part in parts])
    constants = np.concatenate([part.constants for part in parts])
    # if W o is small, subtract it from W x, which loses no digits and is quicker than W (x − o)
    limit = 1e3 if xp.finfo(x.dtype).bits == 32 else 1e5
    with one_blas_thread():
        centres = np.concatenate([part.whitening @ part.means[0] for part in parts])
        sizes: Floats = np.abs(factors) @ np.abs(scorer.origin)
        is_near = sizes.max(initial=0.0) < limit
        if is_near:
            centres = centres + factors @ scorer.origin
    origin = constants_like(scorer.origin, x)
    product = constants_like(factors.T, x)
    c = constants_like(centres, x)
    b = constants_like(constants, x)

    def score(rows: DeviceArray) -> DeviceArray:
        z = (rows if is_near else rows - origin) @ product
        return _scores_of_whitened(z, c, b)

    return score


def _scores_of_whitened(
    z: DeviceArray,
    centres: DeviceArray,
    constants: DeviceArray,
) -> DeviceArray:
    """Return bₖ − ½ |zₖ − cₖ|² of whitened rows (n, K d), shape (n, K)."""
    xp = namespace(z)
    loops = _triton_loops(z)
    if loops is not None:
        scores: DeviceArray = xp.from_dlpack(loops.scores_of(z, centres, constants))
        return scores
    k = constants.shape[0]
    gaps = xp.reshape(z - centres, (z.shape[0], k, z.shape[1] // k))
    halves: DeviceArray = 0.5 * xp.linalg.vector_norm(gaps, axis=2) ** 2
    return constants - halves


def _shared_scores(scorer: Scorer, part: Whitened | Scaled, x: DeviceArray) -> ScoreFunction:
    """Return the function cₖ − ½ |W x − W μₖ|² of classes that share W."""
    xp = namespace(x)
    factor = part.whitening if isinstance(part, Whitened) else np.diag(1 / part.scale)
    origin = constants_like(scorer.origin, x)
    whitening = constants_like(factor.T, x)
    centres = constants_like(part.means @ factor.T, x)
    constants = constants_like(part.constants, x)

    def score(rows: DeviceArray) -> DeviceArray:
        z = (rows - origin) @ whitening
        gaps = [z - centres[k, :] for k in range(len(part.classes))]
        lengths = [xp.linalg.vector_norm(gap, axis=1) for gap in gaps]
        scores: DeviceArray = constants - 0.5 * xp.stack(lengths, axis=1) ** 2
        return scores

    return score


def _read(
    xp: Namespace,
    scores: DeviceArray,
    readout: Readout,
) -> tuple[DeviceArray, DeviceArray]:
    """Return the readout of scores (n, K), and numbers that are finite if every row can be read."""
    a, readout = readout.of_classes(xp, scores)
    if isinstance(readout, Joint):
        return a, xp.max(a, axis=1)
    if isinstance(readout, Argmax):
        return xp.argmax(a, axis=1), xp.max(a, axis=1)
    if isinstance(readout, LogDensity):
        top = xp.max(a, axis=1, keepdims=True)
        return top[:, 0] + xp.log(xp.sum(xp.exp(a - top), axis=1)), top
    if readout.temperature != 1:
        a = a / readout.temperature
    if isinstance(readout, LogPosterior):
        log_p = _log_softmax(xp, a)
        return log_p, xp.max(log_p, axis=1)
    p = _softmax(xp, a)
    return p, xp.sum(p)


def _softmax(xp: Namespace, a: DeviceArray) -> DeviceArray:
    # the softmax of the library needs only one pass over the scores
    if hasattr(xp, "softmax"):
        shares: DeviceArray = xp.softmax(a, -1)
        return shares
    e: DeviceArray = xp.exp(a - xp.max(a, axis=1, keepdims=True))
    total: DeviceArray = xp.sum(e, axis=1, keepdims=True)
    return e / total


def _log_softmax(xp: Namespace, a: DeviceArray) -> DeviceArray:
    if hasattr(xp, "log_softmax"):
        log_shares: DeviceArray = xp.log_softmax(a, -1)
        return log_shares
    top: DeviceArray = xp.max(a, axis=1, keepdims=True)
    d = a - top
    log_total: DeviceArray = xp.log(xp.sum(xp.exp(d), axis=1, keepdims=True))
    return d - log_total
