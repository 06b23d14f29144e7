"""A program as stages: each gives columns to the next, so that nothing is computed twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.export.straightening import straightened
from suffice.export.words import literal, number, square, total
from suffice.model.parts import Linear, Scaled, Whitened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from suffice.export.dialects import Dialect
    from suffice.export.program import Program
    from suffice.model.parts import Part

MOST_QUADRATIC = 30  # features of a full quadratic form
_WIDEST = 1000  # whitened columns of one stage

Stage = dict[str, str]  # column → expression over the columns of the stage before


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """The stages from measured features c0, c1, … to answers."""

    program: Program
    dialect: Dialect

    def stages(self, columns: Mapping[str, str]) -> Iterator[Stage]:
        """Yield every stage; the first reads ``columns``, column → identifier in the table."""
        program = self.program
        yield {f"x{j}": self.dialect.finite(name) for j, name in enumerate(columns.values())}
        yield {f"c{j}": self._measured(j) for j in range(program.n_features)}
        yield from self._score_stages()
        live = self.live
        scores = [f"a{k}" for k in live]
        yield {**_same(scores), "top": self.dialect.largest(scores)}
        if not program.has_posterior:
            yield {**_same(scores), "label": self._first(scores, "top", program.classes[live])}
            return
        yield from self._posterior_stages(scores)

    @property
    def live(self) -> list[int]:
        """Codes of the classes that some row may belong to."""
        if self.program.tail is not None:
            return [int(k) for k in np.flatnonzero(np.isfinite(self.program.tail.constants))]
        constants = np.empty(len(self.program.classes))
        for part in self.program.scorer.parts:
            constants[part.classes] = _constants(part)
        return [int(k) for k in np.flatnonzero(np.isfinite(constants))]

    def _measured(self, j: int) -> str:
        x, transform = f"x{j}", self.program.transform
        value = x if transform is None else f"({straightened(transform, j, x)})"
        return f"{value} - {number(self.program.scorer.origin[j])}"

    def _score_stages(self) -> Iterator[Stage]:
        """Yield stages that end with a score of each class: a0, a1 and so on."""
        d, done = self.program.n_features, Stage()
        measured = _same(f"c{j}" for j in range(d))
        for parts in self._batches():
            whitened = [part for part in parts if isinstance(part, Whitened)]
            if whitened:
                yield {**measured, **_same(done), **_whitened(whitened)}
            scored = {k: v for part in parts for k, v in self._scored(part).items()}
            done |= _same(scored)
            last = parts[-1] is self.program.scorer.parts[-1]
            yield {**({} if last else measured), **_same(set(done) - set(scored)), **scored}

    def _batches(self) -> Iterator[list[Part]]:
        """Yield the parts, so many at a time that no stage is too wide."""
        d, batch = self.program.n_features, []
        size = max(_WIDEST // max(d, 1), 1)
        for part in self.program.scorer.parts:
            if isinstance(part, Whitened) and d > MOST_QUADRATIC:
                msg = (
                    f"a quadratic score of {d} features is too long for SQL, which takes up to "
                    f"{MOST_QUADRATIC}: use tied=True or covariance='diagonal', or to_onnx()"
                )
                raise InvalidParameterError(msg)
            batch.append(part)
            if len(batch) == size:
                yield batch
                batch = []
        if batch:
            yield batch

    def _scored(self, part: Part) -> Stage:
        """Return the scores of the classes of a part that are not ruled out."""
        live = set(self.live)
        rows = [(m, int(k)) for m, k in enumerate(part.classes) if int(k) in live]
        if isinstance(part, Linear):
            return {f"a{k}": _linear(part, m) for m, k in rows}
        return {f"a{k}": self._distant(part, m, k) for m, k in rows}

    def _distant(self, part: Any, m: int, k: int) -> str:
        """Return c − ½ Δ², or the logarithm of a Student t density."""
        distance = total(_scaled(part, m) if isinstance(part, Scaled) else _far(part, m))
        tail = self.program.tail
        if tail is None:
            return f"{number(part.group.constants[m])} - 5e-1 * {distance}"
        # c − p log(1 + s Δ²)
        c, p, s = (number(v[k]) for v in (tail.constants, tail.powers, tail.shares))
        return f"{c} - {p} * LN(1e0 + {s} * {distance})"

    def _posterior_stages(self, scores: Sequence[str]) -> Iterator[Stage]:
        program, live = self.program, self.live
        t = "" if program.temperature == 1 else f"{number(program.temperature)} * "
        powers = {f"e{k}": self.dialect.exponential(f"({t}(a{k} - top))") for k in live}
        label = self._first(scores, "top", program.classes[live])
        yield {"label": label, **powers}
        yield {"label": "label", **_same(powers), "bottom": total(list(powers))}
        ruled_out = "CASE WHEN bottom IS NOT NULL THEN 0e0 END"
        posterior = {
            f"p{k}": f"e{k} / bottom" if k in live else ruled_out
            for k in range(len(program.classes))
        }
        yield {"label": "label", **posterior}
        if not program.decision.is_map:
            yield from self._cost_stages(posterior)

    def _cost_stages(self, posterior: Stage) -> Iterator[Stage]:
        decision = self.program.decision
        # f(k) = max_a C[a, k] is common to all actions; without it equal posteriors tie exactly
        relative = decision.costs - decision.costs[: decision.n_classes].max(axis=0)
        risks = {
            f"r{a}": total([f"{number(c)} * {p}" for c, p in zip(row, posterior, strict=True)])
            for a, row in enumerate(relative)
        }
        yield {**_same(posterior), **risks}
        yield {**_same(posterior), **_same(risks), "low": self.dialect.smallest(list(risks))}
        yield {"label": self._first(list(risks), "low", decision.actions), **_same(posterior)}

    def _first(self, columns: Sequence[str], best: str, labels: Any) -> str:
        """Return the label of the first column that is the best; NULL where there is no best."""
        pairs = zip(columns, labels.tolist(), strict=True)
        cases = " ".join(f"WHEN {column} = {best} THEN {literal(x)}" for column, x in pairs)
        return f"CASE {cases} END"


def _same(names: Any) -> Stage:
    return {name: name for name in names}


def _constants(part: Any) -> Any:
    return part.intercepts if isinstance(part, Linear) else part.group.constants


def _linear(part: Linear, m: int) -> str:
    terms = [f"{number(w)} * c{j}" for j, w in enumerate(part.weights[m])]
    return f"{number(part.intercepts[m])} + {total(terms)}"


def _scaled(part: Scaled, m: int) -> list[str]:
    """Return ((c − μ) / σ)² of each feature."""
    pairs = zip(part.group.means[m], part.scale, strict=True)
    return [square(f"((c{j} - {number(mu)}) / {number(s)})") for j, (mu, s) in enumerate(pairs)]


def _whitened(parts: Sequence[Whitened]) -> Stage:
    """Return u = W (c − μ₀) of each part, named after the first of its classes."""
    columns = {}
    for part in parts:
        first = part.group.means[0]
        for i, row in enumerate(part.whitening):
            terms = [f"{number(row[j])} * (c{j} - {number(first[j])})" for j in range(i + 1)]
            columns[f"u{part.classes[0]}_{i}"] = total(terms)
    return columns


def _far(part: Whitened, m: int) -> list[str]:
    """Return (u − W (μ − μ₀))² of each whitened coordinate."""
    u, mean = f"u{part.classes[0]}", part.whitened_means[m]
    if not m:
        return [square(f"{u}_{i}") for i in range(len(mean))]
    return [square(f"({u}_{i} - {number(v)})") for i, v in enumerate(mean)]
