"""The stages of a query, from the columns of a table to the scores and answers of a model."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.scoring import Formula, LinearScores, Scaled, ScorePart, Whitened
from suffice.core.table.schema import Encoding, Number, Schema
from suffice.core.text.lists import labels_of_one_type
from suffice.errors import InvalidParameterError
from suffice.export.marginal import Marginal, empty_scores, integrates, marginals
from suffice.export.reading import ColumnReading, Dialect, Stage, added, double, literal, tree
from suffice.typing import Codes, Floats

MOST_QUADRATIC = 30  # features of a full quadratic form
_WIDEST = 1000  # whitened columns of one stage


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The stages from features c0, c1, … to scores a0, a1, …, a Student t by Δ², and to answers."""

    classifier: Classifier
    formula: Formula  # of features in the units of the reading
    reading: ColumnReading
    marginals: list[Marginal]  # of holes
    most_holes: int | None  # columns of a row that may be empty; None: any number

    @classmethod
    def of(cls, classifier: Classifier, dialect: Dialect, most_holes: int | None) -> Stages:
        model: Any = classifier.model
        formula: Formula = model.formula
        found = marginals(formula) if integrates(classifier) and most_holes != 0 else []
        reading = ColumnReading(numbers_read(classifier), formula, bool(found), dialect)
        own = [marginal.scaled(reading.scale) for marginal in found]
        return cls(classifier, _rescaled(formula, reading.scale), reading, own, most_holes)

    @property
    def n_terms(self) -> int:
        """About how many terms integrating holes out of full covariances takes."""
        shapes = [(len(q.precision), len(q.classes)) for _, q in self._full]
        if self.most_holes == 1:
            return sum(d**2 + m * d for d, m in shapes)
        return sum(d**3 // 6 + m * d**2 // 2 for d, m in shapes)

    def from_numbers(self) -> Iterator[Stage]:
        """Yield the stages after numbers x0, x1, … and codes of levels v0, v1, … are read."""
        live, classes, temperature = (
            self.live,
            self.classifier.classes,
            self.classifier.temperature,
        )
        yield self.reading.measured()
        yield from self._score_stages()
        if self.formula.class_of is not None:
            yield from self._class_stages(self.formula.class_of)
        scores = [f"a{k}" for k in live]
        known = tree([f"{a} IS NOT NULL" for a in scores], lambda a, b: f"({a} AND {b})")
        yield {"top": f"CASE WHEN {known} THEN {self.reading.dialect.largest(scores)} END"}
        yield {"label": first_best(scores, "top", classes[live])}
        if not self.classifier.has_posterior:
            return
        t = "" if temperature == 1 else f" / {double(temperature)}"
        powers = {
            f"e{k}": self.reading.dialect.exponential(f"((a{k} - top){t})") for k in live
        }
        yield powers
        yield {"bottom": added(list(powers))}
        none = "CASE WHEN bottom IS NOT NULL THEN 0e0 END"
        yield {f"p{k}": f"e{k} / bottom" if k in live else none for k in range(len(classes))}
        if not self.classifier.decision.is_map:
            yield from decided(self.classifier, self.reading.dialect)

    @property
    def scored(self) -> list[int]:
        """Codes of the classes, or of their components, that some row may belong to."""
        return [int(k) for k in np.flatnonzero(np.isfinite(self.formula.constants))]

    @property
    def live(self) -> list[int]:
        class_of = self.formula.class_of
        return self.scored if class_of is None else np.unique(class_of[self.scored]).tolist()

    def _class_stages(self, class_of: Codes) -> Iterator[Stage]:
        """Yield log Σ exp a over the components of each class."""
        words = self.reading.dialect
        members = {k: [r for r in self.scored if class_of[r] == k] for k in self.live}
        yield {f"m{k}": words.largest([f"a{r}" for r in own]) for k, own in members.items()}
        sums = {
            k: [words.exponential(f"(a{r} - m{k})") for r in own] for k, own in members.items()
        }
        yield {f"a{k}": f"m{k} + LN({added(terms)})" for k, terms in sums.items()}

    def _score_stages(self) -> Iterator[Stage]:
        """Yield stages that end with the scores of the classes, none of them too wide."""
        parts, flags = self.formula.scorer.parts, self.reading.flags
        d = len(self.formula.scorer.origin)
        if d > MOST_QUADRATIC and any(isinstance(part, Whitened) for part in parts):
            raise InvalidParameterError(
                f"a quadratic score of {d} features is too long for SQL, which takes up to "
                f"{MOST_QUADRATIC}: use tied=True or covariance='diagonal', or to_onnx()"
            )
        for some in _some(parts, _WIDEST // max(d, 1)):
            yield _whitened([part for part in some if isinstance(part, Whitened)])
            yield _joined(self._scored(part) for part in some)
        holes = [j for j in range(d) if flags[j]]
        if self.most_holes == 1:
            found: list[Any] = [_single(at, q, flags) for at, q in self._full if holes]
        else:
            found = [_eliminated(at, q, holes, self.reading) for at, q in self._full if holes]
        m = max((len(q.classes) for _, q in self._full), default=0)
        width = (
            d if self.most_holes == 1 else len(holes) * (len(holes) + 1) // 2 + m * len(holes)
        )
        for some in _some(found, 1 + _WIDEST // (2 * max(width, 1))):
            yield from map(_joined, zip(*some, strict=True))
        yield {f"a{k}": self._finished(k) for k in self.scored}

    def _scored(self, part: ScorePart) -> Stage:
        """Return the scores of the classes of a part, or their Δ²."""
        c, rows = self.formula.constants, list(enumerate(part.classes.tolist()))
        if isinstance(part, LinearScores):
            return {f"a{k}": f"{double(c[k])} + {product(part.weights[m])}" for m, k in rows}
        terms: Any = _scaled if isinstance(part, Scaled) else _far
        found = {k: added(terms(part, m)) for m, k in rows}
        if self.formula.tail is not None:
            return {f"a{k}": distance for k, distance in found.items()}
        return {f"a{k}": f"{double(c[k])} - 5e-1 * {far}" for k, far in found.items()}

    @property
    def _full(self) -> list[tuple[int, Marginal]]:
        return [(at, q) for at, q in enumerate(self.marginals) if not q.is_diagonal]

    def _finished(self, k: int) -> str:
        """Return the score of a class from what its features give, with holes and levels."""
        drop, log_det = self._of_holes(k)
        tail, score = self.formula.tail, f"a{k}"
        if tail is not None:
            # c − p log(1 + s Δ²)
            c, s, distance = double(tail.constants[k]), double(tail.shares[k]), f"a{k}"
            p, n_holes = double(tail.powers[k]), self.reading.n_holes
            if drop:
                gains = tail.hole_constants(len(self.formula.scorer.origin))[:, k]
                cases = " ".join(f"WHEN {n} THEN {double(x)}" for n, x in enumerate(gains))
                c, distance = f"{c} + CASE {n_holes} {cases} END", f"(a{k} - {drop})"
                p = f"({p} - 5e-1 * {n_holes})"
            score, drop = f"{c} - {p} * LN(1e0 + {s} * {distance})", ""
        score += f" + 5e-1 * {drop}" if drop else ""
        score += f" - 5e-1 * {log_det}" if log_det else ""
        score += f" + t{k}" if self.formula.levels else ""
        flags = self.reading.flags
        if not self.marginals or not all(flags):
            return score
        prior = double(empty_scores(self.classifier.model)[k])
        return f"CASE WHEN {self.reading.n_holes} = {len(flags)} THEN {prior} ELSE {score} END"

    def _of_holes(self, k: int) -> tuple[str, str]:
        """Return what holes take off Δ² of a class and log|P_mm|, if anything."""
        flags = self.reading.flags[: len(self.formula.scorer.origin)]
        for at, marginal in enumerate(self.marginals):
            if k in marginal.classes and any(flags):
                apart = len(self.marginals) > 1  # else log|P_mm| is common to all classes
                if not marginal.is_diagonal:
                    return f"r{k}", f"l{at}" if apart else ""
                p, pull = (
                    np.diagonal(marginal.precision),
                    marginal.pulls[marginal.classes == k][0],
                )
                return _where(flags, pull**2 / p), _where(flags, np.log(p)) if apart else ""
        return "", ""


def decided(classifier: Classifier, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages from posteriors p0, p1, … to the label of least expected cost."""
    decision, posterior = (
        classifier.decision,
        [f"p{k}" for k in range(len(classifier.classes))],
    )
    if decision.is_map:
        yield {"top": dialect.largest(posterior)}
        yield {"label": first_best(posterior, "top", classifier.classes)}
        return
    pairs = [zip(row, posterior, strict=True) for row in decision.relative]
    risks = {
        f"r{a}": added([f"{double(c)} * {p}" for c, p in row]) for a, row in enumerate(pairs)
    }
    yield risks
    yield {"low": dialect.smallest(list(risks))}
    yield {"label": first_best(list(risks), "low", decision.actions)}


def first_best(columns: Sequence[str], best: str, labels: Any) -> str:
    """Return the label of the first column that is the best; NULL where there is no best."""
    pairs = zip(columns, map(literal, labels_of_one_type(labels.tolist())), strict=True)
    cases = " ".join(f"WHEN {column} = {best} THEN {label}" for column, label in pairs)
    return f"CASE {cases} END"


def _eliminated(
    at: int,
    q: Marginal,
    holes: list[int],
    reading: ColumnReading,
) -> Iterator[Stage]:
    """Yield P x, then a step per feature, which acts where it is a hole of one covariance."""
    # they end with r of each class, what holes take off its Δ², and l, log|P_mm|
    known, pulls = q.precision, dict(zip(q.classes.tolist(), q.pulls, strict=True))
    lower = [(i, j) for i in holes for j in holes if i >= j]
    p = {(i, j): reading.dialect.as_double(known[i, j]) for i, j in lower}  # P, its lower half
    # g = P x − P μ of each class
    g = {
        (k, j): f"(q{at}_{j} - {double(pull[j])})" for k, pull in pulls.items() for j in holes
    }
    r, log_det = dict.fromkeys(pulls, "0e0"), "0e0"
    yield {f"q{at}_{j}": product(known[j]) for j in holes}
    for j in holes:
        later, flag, pivot = [i for i in holes if i > j], reading.flags[j], p[j, j]
        here, not_here = f"CASE WHEN {flag} = 1 THEN", "ELSE 0e0 END"
        # P ← P − p pᵀ / p_j,  g ← g − p g_j / p_j,  r ← r + g_j² / p_j  with p = P_:j
        stage = {
            f"p{at}_{a}_{b}": f"{p[a, b]} - {here} {p[a, j]} * {p[b, j]} / {pivot} {not_here}"
            for a, b in lower
            if b > j
        }
        for k, before in r.items():
            for i in later:
                step = f"{p[i, j]} * ({g[k, j]} / {pivot})"
                stage[f"g{k}_{i}"] = f"{g[k, i]} - {here} {step} {not_here}"
            small = f"ABS({g[k, j]}) < 1e150 THEN {before} + {_square(g[k, j])} / {pivot} END"
            stage[f"r{k}"] = f"CASE WHEN {flag} = 0 THEN {before} WHEN {small}"
        stage[f"l{at}"] = f"{log_det} + {here} LN({pivot}) {not_here}"
        yield stage
        p, g = {(a, b): f"p{at}_{a}_{b}" for a, b in p}, {(k, i): f"g{k}_{i}" for k, i in g}
        r, log_det = {k: f"r{k}" for k in r}, f"l{at}"


def _single(at: int, marginal: Marginal, flags: Sequence[str | None]) -> tuple[Stage, Stage]:
    """Return linear forms y, and r and l as of ``_eliminated`` where one column is a hole."""
    forms, known = Stage(), marginal.precision
    cases = [list[str]() for _ in (*marginal.classes, "log|P_mm|")]
    columns = [flag for flag in dict.fromkeys(flags[: len(known)]) if flag]
    for flag in columns:
        block = [j for j, own in enumerate(flags[: len(known)]) if own == flag]
        factor = np.linalg.cholesky(known[np.ix_(block, block)])
        # g_mᵀ P_mm⁻¹ g_m = |L⁻¹ (P x)_m − L⁻¹ (P μ)_m|²,  P_mm = L Lᵀ
        names, rows = [f"y{at}_{j}" for j in block], np.linalg.solve(factor, known[block])
        forms |= {y: product(row) for y, row in zip(names, rows, strict=True)}
        near = " AND ".join(f"ABS({y}) < 1e150" for y in names)
        pulls = np.linalg.solve(factor, marginal.pulls.T[block]).T
        for own, pull in zip(cases, pulls, strict=False):
            far = [_square(f"({y} - {double(v)})") for y, v in zip(names, pull, strict=True)]
            own.append(f"WHEN {flag} = 1 THEN CASE WHEN {near} THEN {added(far)} END")
        log_det = double(2 * float(np.log(np.diagonal(factor)).sum()))
        cases[-1].append(f"WHEN {flag} = 1 THEN {log_det}")
    keys = [f"r{k}" for k in marginal.classes] + [f"l{at}"]
    more = f"WHEN {added(columns)} > 1 THEN NULL"
    found = {
        c: f"CASE {more} {' '.join(e)} ELSE 0e0 END" for c, e in zip(keys, cases, strict=True)
    }
    return forms, found


def numbers_read(classifier: Classifier) -> Encoding:
    """Return the encoding of the columns that a classifier reads, numbers if it has none."""
    numbers = tuple(Number(f"x{j}") for j in range(classifier.n_features))
    return classifier.encoding or Encoding(Schema(numbers), ())


def _some(parts: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    size = max(size, 1)
    return (parts[at : at + size] for at in range(0, len(parts), size))


def _joined(stages: Iterable[Stage]) -> Stage:
    return {column: expression for stage in stages for column, expression in stage.items()}


_WORD = re.compile(r"\b[a-z]\w*")


def carried(stages: Sequence[Stage], final: Collection[str]) -> list[Stage]:
    """Return the stages with all columns that later ones read, and with no others."""
    needed, found = set(final), list[Stage]()
    before = accumulate(stages[:-1], operator.or_, initial=Stage())
    for stage, known in reversed(list(zip(stages, before, strict=True))):
        own = {column: e for column, e in stage.items() if column in needed}
        if own:
            needed -= own.keys()
            rest = {column: column for column in known if column in needed}
            found.append({**rest, **own})
            needed = {*rest, *(word for e in own.values() for word in _WORD.findall(e))}
    return found[::-1]


def _rescaled(formula: Formula, units: Floats) -> Formula:
    """Return the formula of features in other units."""
    by = {"weights": units, "means": 1 / units, "scale": 1 / units, "whitening": units}
    parts = []
    for part in formula.scorer.parts:
        own = {name: getattr(part, name) * by[name] for name in by if hasattr(part, name)}
        parts.append(replace(part, **own))
    return replace(formula, scorer=replace(formula.scorer, parts=tuple(parts)))


def _where(flags: Sequence[str | None], values: Floats) -> str:
    """Return the sum of the values whose features are holes."""
    return added(
        [f"{double(v)} * {flag}" for flag, v in zip(flags, values, strict=True) if flag]
    )


def product(row: Floats, letter: str = "c") -> str:
    """Return Σ_j w_j c_j."""
    return added([f"{double(w)} * {letter}{j}" for j, w in enumerate(row)])


def _square(term: str) -> str:
    return f"{term} * {term}"


def _scaled(part: Scaled, m: int) -> list[str]:
    """Return ((c − μ) / σ)² of each feature."""
    pairs = zip(part.means[m], part.scale, strict=True)
    return [
        _square(f"((c{j} - {double(mu)}) / {double(s)})") for j, (mu, s) in enumerate(pairs)
    ]


def _whitened(parts: Sequence[Whitened]) -> Stage:
    """Return u = W (c − μ₀) of each part, named after the first of its classes."""
    columns = {}
    for part in parts:
        first = part.means[0]
        for i, row in enumerate(part.whitening):
            terms = [f"{double(row[j])} * (c{j} - {double(first[j])})" for j in range(i + 1)]
            columns[f"u{part.classes[0]}_{i}"] = added(terms)
    return columns


def _far(part: Whitened, m: int) -> list[str]:
    """Return (u − W (μ − μ₀))² of each whitened coordinate."""
    u, mean = f"u{part.classes[0]}", part.whitened_means[m]
    if not m:
        return [_square(f"{u}_{i}") for i in range(len(mean))]
    return [_square(f"({u}_{i} - {double(v)})") for i, v in enumerate(mean)]
