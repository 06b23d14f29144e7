"""The stages of a query, from the columns of a table to scores and predictions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.scoring import Formula, LinearScores, MatrixPart, Scaled, Whitened
from suffice.core.model.student import StudentTail
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.schema import Number, Schema
from suffice.core.text.lists import labels_of_one_type
from suffice.errors import InvalidParameterError
from suffice.export.dialect import (
    Dialect,
    Stage,
    added,
    all_of,
    double,
    literal,
    product,
    square,
)
from suffice.export.elimination import any_missing, one_missing
from suffice.export.fitted import single_model
from suffice.export.marginal import Marginal, empty_scores, integrates_missing, marginals
from suffice.export.reading import ColumnReading
from suffice.typing import Codes, Floats, Labels

MOST_QUADRATIC = 30  # limit on the features of a full quadratic form
_WIDEST = 1000  # limit on the whitened columns of a stage
_COLUMN_NAME = re.compile(r"\b[a-z]\w*")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The stages of one model: features c0, c1, …; scores a0, a1, …; posteriors p0, p1, …."""

    classifier: Classifier
    model: ClassModel | LinearModel
    formula: Formula  # formula of the scores, for features in the units of ``reading``
    reading: ColumnReading
    marginals: list[Marginal]  # quantities that integrate missing features out
    most_missing: int | None  # limit on the empty columns of a row; None means any number

    @classmethod
    def of(cls, classifier: Classifier, dialect: Dialect, most_missing: int | None) -> Stages:
        """Return the stages of a classifier that is not an average."""
        model = single_model(classifier)
        formula = model.formula
        integrates = integrates_missing(classifier) and most_missing != 0
        covariances = marginals(formula) if integrates else []
        reading = ColumnReading(
            encoding=columns_read(classifier),
            formula=formula,
            integrates=bool(covariances),
            dialect=dialect,
        )
        return cls(
            classifier=classifier,
            model=model,
            formula=_rescaled(formula, reading.scale),
            reading=reading,
            marginals=[marginal.scaled(reading.scale) for marginal in covariances],
            most_missing=most_missing,
        )

    @property
    def n_terms(self) -> int:
        """Approximate number of terms that integrate missing features out of full covariances."""
        total = 0
        for _, marginal in self._full_marginals:
            d = len(marginal.precision)
            n_classes = len(marginal.classes)
            if self.most_missing == 1:
                total += d**2 + n_classes * d
            else:
                total += d**3 // 6 + n_classes * d**2 // 2
        return total

    @property
    def scored(self) -> list[int]:
        """Codes of the classes or components with positive prior probability."""
        return [int(k) for k in np.flatnonzero(np.isfinite(self.formula.constants))]

    @property
    def possible_classes(self) -> list[int]:
        """Codes of the classes with positive prior probability."""
        if self.formula.class_of is None:
            return self.scored
        return [int(k) for k in np.unique(self.formula.class_of[self.scored])]

    @property
    def _full_marginals(self) -> list[tuple[int, Marginal]]:
        """The marginals of full covariances, which need elimination, with their indices."""
        return [(i, each) for i, each in enumerate(self.marginals) if not each.is_diagonal]

    def from_numbers(self) -> Iterator[Stage]:
        """Yield the stages that follow the numbers x0, x1, … and the codes of levels v0, v1, …."""
        yield self.reading.measured()
        yield from self._score_stages()
        if self.formula.class_of is not None:
            yield from self._class_stages(self.formula.class_of)
        yield from self._best_class_stages()
        if self.classifier.has_posterior:
            yield from self._posterior_stages()
            if not self.classifier.decision.is_map:
                yield from decision_stages(self.classifier, self.reading.dialect)

    # --- from features to scores ---------------------------------------------------------------

    def _score_stages(self) -> Iterator[Stage]:
        """Yield the stages that compute the class scores, none of which is too wide."""
        parts = self.formula.scorer.matrix_parts()
        d = len(self.formula.scorer.origin)
        if d > MOST_QUADRATIC and any(isinstance(part, Whitened) for part in parts):
            raise InvalidParameterError(
                f"a quadratic score of {d} features is too long for SQL, which can hold at most "
                f"{MOST_QUADRATIC} features: use tied=True or covariance='diagonal', or to_onnx()"
            )
        for batch in _batches(parts, _WIDEST // max(d, 1)):
            yield _whitened_stage([part for part in batch if isinstance(part, Whitened)])
            yield _merged(self._part_scores(part) for part in batch)
        yield from self._missing_stages(d)
        yield {f"a{k}": self._final_score(k) for k in self.scored}

    def _part_scores(self, part: MatrixPart) -> Stage:
        """Return the scores of a part's classes; with a Student tail, return Δ²."""
        stage = {}
        for m, k in enumerate(part.classes.tolist()):
            constant = double(self.formula.constants[k])
            if isinstance(part, LinearScores):
                stage[f"a{k}"] = f"{constant} + {product(part.weights[m])}"
                continue
            if isinstance(part, Scaled):
                distance = added(_scaled_squares(part, m))
            else:
                distance = added(_whitened_squares(part, m))
            if self.formula.tail is not None:
                stage[f"a{k}"] = distance
            else:
                stage[f"a{k}"] = f"{constant} - 5e-1 * {distance}"
        return stage

    def _missing_stages(self, d: int) -> Iterator[Stage]:
        """Yield the stages of all full covariances, joined as long as they are not too wide."""
        flags = self.reading.flags[:d]
        features = [j for j in range(d) if flags[j]]
        full = self._full_marginals
        if not features or not full:
            return
        if self.most_missing == 1:
            programs = [one_missing(i, marginal, flags) for i, marginal in full]
            width = d
        else:
            programs = [any_missing(i, each, features, self.reading) for i, each in full]
            n_pairs = len(features) * (len(features) + 1) // 2
            most_classes = max(len(marginal.classes) for _, marginal in full)
            width = n_pairs + most_classes * len(features)
        for batch in _batches(programs, 1 + _WIDEST // (2 * width)):
            for stages in zip(*batch, strict=True):
                yield _merged(stages)

    def _final_score(self, k: int) -> str:
        """Return the score of a class, with the terms of missing features and of levels."""
        drop, log_det = self._missing_terms(k)
        if self.formula.tail is not None:
            score = self._tailed_score(self.formula.tail, k, drop)
        elif drop is not None:
            score = f"a{k} + 5e-1 * {drop}"
        else:
            score = f"a{k}"
        if log_det is not None:
            score += f" - 5e-1 * {log_det}"
        if self.formula.levels:
            score += f" + t{k}"
        flags = self.reading.flags
        if isinstance(self.model, LinearModel) or not self.marginals or not all(flags):
            return score
        if_empty = double(empty_scores(self.model)[k])
        is_empty = f"{self.reading.n_missing} = {len(flags)}"
        return f"CASE WHEN {is_empty} THEN {if_empty} ELSE {score} END"

    def _tailed_score(self, tail: StudentTail, k: int, drop: str | None) -> str:
        """Return c − p log(1 + s Δ²), with fewer degrees of freedom if features are missing."""
        constant = double(tail.constants[k])
        power = double(tail.powers[k])
        distance = f"a{k}"
        if drop is not None:
            n_missing = self.reading.n_missing
            gains = tail.hole_constants(len(self.formula.scorer.origin))[:, k]
            cases = " ".join(f"WHEN {n} THEN {double(gain)}" for n, gain in enumerate(gains))
            constant = f"{constant} + CASE {n_missing} {cases} END"
            power = f"({power} - 5e-1 * {n_missing})"
            distance = f"(a{k} - {drop})"
        return f"{constant} - {power} * LN(1e0 + {double(tail.shares[k])} * {distance})"

    def _missing_terms(self, k: int) -> tuple[str | None, str | None]:
        """Return the reduction of a class's Δ² by missing features, and log|P_mm|; None if 0."""
        flags = self.reading.flags[: len(self.formula.scorer.origin)]
        if not any(flags):
            return None, None
        # if all classes share log|P_mm|, it does not change the posterior
        is_shared = len(self.marginals) == 1
        for i, marginal in enumerate(self.marginals):
            if k not in marginal.classes:
                continue
            if not marginal.is_diagonal:
                return f"r{k}", None if is_shared else f"l{i}"
            p = np.diagonal(marginal.precision)
            pull = marginal.pulls[marginal.classes == k][0]
            drop = _sum_over_missing(flags, pull**2 / p)
            return drop, None if is_shared else _sum_over_missing(flags, np.log(p))
        return None, None

    # --- from scores to predictions --------------------------------------------------------------

    def _class_stages(self, class_of: Codes) -> Iterator[Stage]:
        """Yield log Σ exp a over the components of each class."""
        dialect = self.reading.dialect
        largest = {}
        scores = {}
        for k in self.possible_classes:
            components = [r for r in self.scored if class_of[r] == k]
            largest[f"m{k}"] = dialect.largest([f"a{r}" for r in components])
            powers = [dialect.exponential(f"(a{r} - m{k})") for r in components]
            scores[f"a{k}"] = f"m{k} + LN({added(powers)})"
        yield largest
        yield scores

    def _best_class_stages(self) -> Iterator[Stage]:
        """Yield the largest score, and its label; both are NULL unless every class has a score."""
        scores = [f"a{k}" for k in self.possible_classes]
        all_known = all_of([f"{score} IS NOT NULL" for score in scores])
        yield {"top": f"CASE WHEN {all_known} THEN {self.reading.dialect.largest(scores)} END"}
        yield {
            "label": first_best(scores, "top", self.classifier.classes[self.possible_classes])
        }

    def _posterior_stages(self) -> Iterator[Stage]:
        """Yield the posterior of each class, softmax(a / T), without overflow."""
        temperature = self.classifier.temperature
        divisor = "" if temperature == 1 else f" / {double(temperature)}"
        powers = {}
        for k in self.possible_classes:
            powers[f"e{k}"] = self.reading.dialect.exponential(f"((a{k} - top){divisor})")
        yield powers
        yield {"bottom": added(list(powers))}
        posteriors = {}
        for k in range(len(self.classifier.classes)):
            if k in self.possible_classes:
                posteriors[f"p{k}"] = f"e{k} / bottom"
            else:
                posteriors[f"p{k}"] = "CASE WHEN bottom IS NOT NULL THEN 0e0 END"
        yield posteriors


def decision_stages(classifier: Classifier, dialect: Dialect) -> Iterator[Stage]:
    """Yield stages that turn posteriors p0, p1, … into the label with the lowest expected cost."""
    decision = classifier.decision
    posteriors = [f"p{k}" for k in range(len(classifier.classes))]
    if decision.is_map:
        yield {"top": dialect.largest(posteriors)}
        yield {"label": first_best(posteriors, "top", classifier.classes)}
        return
    risks = {f"r{a}": product(costs, "p") for a, costs in enumerate(decision.relative)}
    yield risks
    yield {"low": dialect.smallest(list(risks))}
    yield {"label": first_best(list(risks), "low", decision.actions)}


def first_best(columns: Sequence[str], best: str, labels: Labels) -> str:
    """Return the label of the first column equal to ``best``; NULL if ``best`` is NULL."""
    cases = []
    for column, label in zip(columns, labels_of_one_type(labels.tolist()), strict=True):
        cases.append(f"WHEN {column} = {best} THEN {literal(label)}")
    return f"CASE {' '.join(cases)} END"


def columns_read(classifier: Classifier) -> Encoding:
    """Return the encoding of a classifier's columns; without one, all columns are numbers."""
    if classifier.encoding is not None:
        return classifier.encoding
    numbers = tuple(Number(f"x{j}") for j in range(classifier.n_features))
    return Encoding(Schema(numbers), ())


def carried(stages: Sequence[Stage], final: Collection[str]) -> list[Stage]:
    """Return the stages, each without the columns that no later stage needs."""
    columns_before = []
    columns: dict[str, None] = {}  # as an ordered set
    for stage in stages:
        columns_before.append(list(columns))
        columns.update(dict.fromkeys(stage))
    needed = set(final)
    result = []
    for stage, before in zip(reversed(stages), reversed(columns_before), strict=True):
        computed = {column: text for column, text in stage.items() if column in needed}
        if not computed:
            continue
        needed -= computed.keys()
        copied = {column: column for column in before if column in needed}
        result.append({**copied, **computed})
        needed = set(copied)
        for expression in computed.values():
            needed.update(_COLUMN_NAME.findall(expression))
    return result[::-1]


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    step = max(size, 1)
    for start in range(0, len(items), step):
        yield items[start : start + step]


def _merged(stages: Iterable[Stage]) -> Stage:
    merged: Stage = {}
    for stage in stages:
        merged.update(stage)
    return merged


def _rescaled(formula: Formula, units: Floats) -> Formula:
    """Return the formula for features in the given units, (d,)."""
    parts: list[MatrixPart] = []
    for part in formula.scorer.matrix_parts():
        if isinstance(part, LinearScores):
            parts.append(replace(part, weights=part.weights * units))
            continue
        means = part.means / units
        if isinstance(part, Scaled):
            parts.append(replace(part, means=means, scale=part.scale / units))
        else:
            parts.append(replace(part, means=means, whitening=part.whitening * units))
    return replace(formula, scorer=replace(formula.scorer, parts=tuple(parts)))


def _sum_over_missing(flags: Sequence[str | None], values: Floats) -> str:
    """Return the sum of ``values`` over the missing features, as SQL."""
    terms = []
    for flag, value in zip(flags, values, strict=True):
        if flag:
            terms.append(f"{double(value)} * {flag}")
    return added(terms)


def _scaled_squares(part: Scaled, m: int) -> list[str]:
    """Return ((c − μ) / σ)² for each feature."""
    squares = []
    for j, (mu, sigma) in enumerate(zip(part.means[m], part.scale, strict=True)):
        squares.append(square(f"((c{j} - {double(mu)}) / {double(sigma)})"))
    return squares


def _whitened_stage(parts: Sequence[Whitened]) -> Stage:
    """Return u = W (c − μ₀) for each part, named after the part's first class."""
    columns = {}
    for part in parts:
        first = part.means[0]
        for i, row in enumerate(part.whitening):
            terms = [f"{double(row[j])} * (c{j} - {double(first[j])})" for j in range(i + 1)]
            columns[f"u{part.classes[0]}_{i}"] = added(terms)
    return columns


def _whitened_squares(part: Whitened, m: int) -> list[str]:
    """Return (u − W (μ − μ₀))² for each whitened coordinate."""
    u = f"u{part.classes[0]}"
    mean = part.whitened_means[m]
    if m == 0:
        return [square(f"{u}_{i}") for i in range(len(mean))]
    return [square(f"({u}_{i} - {double(value)})") for i, value in enumerate(mean)]
