"""A fitted classifier as a query in stages, and as an expression over an Ibis table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.decision import classifier_of
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.export.dialects import dialect_of, literal, name, number, square, total, truth
from suffice.model.scoring import Linear, Scaled, Whitened

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from suffice.decision import Classifier
    from suffice.export.dialects import Dialect
    from suffice.model.scoring import Formula, ScorePart
    from suffice.power import PowerTransform

_NEARLY_ZERO = 1e-5  # exponent under which a series is exact


@dataclass(frozen=True, slots=True)
class Side:
    """P(u) = ((1 + u)^e − 1) / e, from a knee on a straight line where e < 0."""

    exponent: float
    knee: float

    def sql(self, u: str) -> str:
        """Return P of an expression that is not negative."""
        if self.exponent >= 0:
            return self._curve(u)
        b = math.log1p(self.knee)
        top = math.expm1(self.exponent * b) / self.exponent
        slope = math.exp((self.exponent - 1) * b)
        line = f"{number(top)} + {number(slope)} * ({u} - {number(self.knee)})"
        return f"CASE WHEN {u} <= {number(self.knee)} THEN {self._curve(u)} ELSE {line} END"

    def _curve(self, u: str) -> str:
        e, log = self.exponent, f"LN(1e0 + {u})"
        if e == 0:
            return log
        if abs(e) < _NEARLY_ZERO:
            # (exp(e L) − 1) / e = L (1 + e L/2 (1 + e L/3)) + …
            inner = f"(1e0 + {number(e / 3)} * {log})"
            return f"{log} * (1e0 + {number(e / 2)} * {log} * {inner})"
        return f"(EXP({number(e)} * {log}) - 1e0) / {number(e)}"


def transformed(power: PowerTransform, j: int, x: str) -> str:
    """Return feature j of transformed rows, from its value ``x``."""
    exponent, centre, scale = (
        float(values[j]) for values in (power.exponents, power.centre, power.scale)
    )
    if exponent == 1:
        return x
    up = Side(exponent, (float(power.high[j]) - centre) / scale)
    down = Side(2 - exponent, (centre - float(power.low[j])) / scale)
    c, s = number(centre), number(scale)
    above, below = f"(({x} - {c}) / {s})", f"(({c} - {x}) / {s})"
    # t(x) = c + s P(z) for z ≥ 0, c − s P(−z) below
    return (
        f"CASE WHEN {x} >= {c} THEN {c} + {s} * ({up.sql(above)}) "
        f"ELSE {c} - {s} * ({down.sql(below)}) END"
    )


MOST_QUADRATIC = 30  # features of a full quadratic form
_WIDEST = 1000  # whitened columns of one stage

Stage = dict[str, str]  # column → expression over the columns of the stage before


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The stages from features c0, c1, … measured from the origin to answers."""

    classifier: Classifier
    formula: Formula
    dialect: Dialect

    def stages(self, columns: Mapping[str, str]) -> Iterator[Stage]:
        """Yield every stage; the first reads ``columns``, column → identifier in the table."""
        classes = self.classifier.classes
        yield {f"x{j}": self.dialect.finite(name) for j, name in enumerate(columns.values())}
        yield {f"c{j}": self._measured(j) for j in range(len(columns))}
        yield from self._score_stages()
        live = self.live
        scores = [f"a{k}" for k in live]
        yield {**_same(scores), "top": self.dialect.largest(scores)}
        if not self.classifier.has_posterior:
            yield {**_same(scores), "label": self._first(scores, "top", classes[live])}
            return
        yield from self._posterior_stages(scores)

    @property
    def live(self) -> list[int]:
        """Codes of the classes that some row may belong to."""
        return [int(k) for k in np.flatnonzero(np.isfinite(self.formula.constants))]

    def _measured(self, j: int) -> str:
        x, power = f"x{j}", self.formula.power
        value = x if power is None else f"({transformed(power, j, x)})"
        return f"{value} - {number(self.formula.scorer.origin[j])}"

    def _score_stages(self) -> Iterator[Stage]:
        """Yield stages that end with a score of each class: a0, a1 and so on."""
        done = Stage()
        measured = _same(f"c{j}" for j in range(self.classifier.n_features))
        for parts in self._batches():
            whitened = [part for part in parts if isinstance(part, Whitened)]
            if whitened:
                yield {**measured, **_same(done), **_whitened(whitened)}
            scored = {k: v for part in parts for k, v in self._scored(part).items()}
            done |= _same(scored)
            last = parts[-1] is self.formula.scorer.parts[-1]
            yield {**({} if last else measured), **_same(set(done) - set(scored)), **scored}

    def _batches(self) -> Iterator[list[ScorePart]]:
        """Yield the parts, so many at a time that no stage is too wide."""
        d, batch = self.classifier.n_features, []
        size = max(_WIDEST // max(d, 1), 1)
        for part in self.formula.scorer.parts:
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

    def _scored(self, part: ScorePart) -> Stage:
        """Return the scores of the classes of a part that are not ruled out."""
        live = set(self.live)
        rows = [(m, int(k)) for m, k in enumerate(part.classes) if int(k) in live]
        if isinstance(part, Linear):
            return {f"a{k}": _linear(part, m) for m, k in rows}
        return {f"a{k}": self._distant(part, m, k) for m, k in rows}

    def _distant(self, part: Any, m: int, k: int) -> str:
        """Return c − ½ Δ², or the logarithm of a Student t density."""
        distance = total(_scaled(part, m) if isinstance(part, Scaled) else _far(part, m))
        tail = self.formula.tail
        if tail is None:
            return f"{number(part.constants[m])} - 5e-1 * {distance}"
        # c − p log(1 + s Δ²)
        c, p, s = (number(v[k]) for v in (tail.constants, tail.powers, tail.shares))
        return f"{c} - {p} * LN(1e0 + {s} * {distance})"

    def _posterior_stages(self, scores: Sequence[str]) -> Iterator[Stage]:
        live, classes, temperature = self.live, self.classifier.classes, self.classifier.temperature
        t = "" if temperature == 1 else f" / {number(temperature)}"
        powers = {f"e{k}": self.dialect.exponential(f"((a{k} - top){t})") for k in live}
        label = self._first(scores, "top", classes[live])
        yield {"label": label, **powers}
        yield {"label": "label", **_same(powers), "bottom": total(list(powers))}
        ruled_out = "CASE WHEN bottom IS NOT NULL THEN 0e0 END"
        posterior = {
            f"p{k}": f"e{k} / bottom" if k in live else ruled_out for k in range(len(classes))
        }
        yield {"label": "label", **posterior}
        if not self.classifier.decision.is_map:
            yield from self._cost_stages(posterior)

    def _cost_stages(self, posterior: Stage) -> Iterator[Stage]:
        decision = self.classifier.decision
        risks = {
            f"r{a}": total([f"{number(c)} * {p}" for c, p in zip(row, posterior, strict=True)])
            for a, row in enumerate(decision.relative)
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


def _linear(part: Linear, m: int) -> str:
    terms = [f"{number(w)} * c{j}" for j, w in enumerate(part.weights[m])]
    return f"{number(part.constants[m])} + {total(terms)}"


def _scaled(part: Scaled, m: int) -> list[str]:
    """Return ((c − μ) / σ)² of each feature."""
    pairs = zip(part.means[m], part.scale, strict=True)
    return [square(f"((c{j} - {number(mu)}) / {number(s)})") for j, (mu, s) in enumerate(pairs)]


def _whitened(parts: Sequence[Whitened]) -> Stage:
    """Return u = W (c − μ₀) of each part, named after the first of its classes."""
    columns = {}
    for part in parts:
        first = part.means[0]
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


_STAGE = "suffice_"  # unlike the name of a table, which SQLite would take for the stage itself


def to_sql(
    estimator: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    prefix: str = "",
    booleans: Sequence[str] = (),
) -> str:
    """Return the query of ``label`` and ``p_<class>`` of every row of a table.

    Parameters
    ----------
    table : str or list of str
        Its name, or its names from schema to table.
    dialect : {"duckdb", "postgres", "sqlite"}
    columns : list of str, optional
        The feature columns in order; by default those of fit.
    keep : list of str
        Columns to copy beside the answers.
    prefix : str
        Put before the name of every answer.
    booleans : list of str
        Feature columns of truth values, which PostgreSQL does not take for 1 and 0 by itself.

    Notes
    -----
    A row that lacks a number gets NULL. Scores that are quadratic with full covariances are
    written for up to 30 features, all others for any number.

    Examples
    --------
    >>> from suffice import LDA
    >>> query = LDA().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"]).to_sql("rows", columns=["x"])
    >>> print(query.splitlines()[-5:])
    ['SELECT', '  label AS "label",', '  p0 AS "p_a",', '  p1 AS "p_b"', 'FROM suffice_6']
    """
    classifier, words = classifier_of(estimator), dialect_of(dialect)
    inputs = {
        column: truth(name(column)) if column in booleans else name(column)
        for column in column_names(classifier, columns)
    }
    answers = _answers(classifier, prefix)
    _refuse_clash(keep, answers.values())
    words.refuse_long(answers.values())
    stages = list(Stages(classifier, classifier.model.formula, words).stages(inputs))
    words.refuse_wide(len(keep) + max(map(len, stages)))
    kept = {f"k{at}": name(column) for at, column in enumerate(keep)}
    source = ".".join(map(name, [table] if isinstance(table, str) else table))
    final = {**dict(zip(kept, keep, strict=True)), **answers}
    return _query(stages, kept, source, final, words)


def _query(stages: list[Stage], kept: Stage, source: str, final: Stage, dialect: Dialect) -> str:
    lines, before = [], source
    for at, stage in enumerate(stages):
        carried = kept if at == 0 else _same(kept)
        selected = ",\n    ".join(_column(c, e) for c, e in {**carried, **stage}.items())
        fence = f"\n  {dialect.fence}" if dialect.fence else ""
        body = f"(\n  SELECT\n    {selected}\n  FROM {before}{fence}\n)"
        lines.append(f"{_STAGE}{at} AS {dialect.materialized}{body}")
        before = f"{_STAGE}{at}"
    answer = ",\n  ".join(f"{column} AS {name(title)}" for column, title in final.items())
    return f"WITH {', '.join(lines)}\nSELECT\n  {answer}\nFROM {before}"


def _column(name: str, expression: str) -> str:
    return name if expression == name else f"{expression} AS {name}"


def _answers(classifier: Classifier, prefix: str) -> Stage:
    """Return the columns of the last stage under the names they are given."""
    classes = classifier.classes.tolist()
    kind, letter = ("p", "p") if classifier.has_posterior else ("score", "a")
    columns = {f"{letter}{k}": f"{prefix}{kind}_{label}" for k, label in enumerate(classes)}
    if not classifier.has_posterior and len(classes) == 2:
        columns = {"a1": f"{prefix}score"}  # of the second class against the first
    return {"label": f"{prefix}label", **columns}


def _refuse_clash(keep: Sequence[str], answers: Collection[str]) -> None:
    both = [column for column in keep if column in answers]
    if both:
        msg = f"column {both[0]!r} is kept, and is an answer's name: use a prefix for the answers"
        raise InvalidParameterError(msg)


def column_names(classifier: Classifier, named: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the feature columns: those given, or those seen in fit."""
    d = classifier.n_features
    if named is None and classifier.feature_names is None:
        msg = (
            f"the model knows no column names: name its {d} columns, in order, "
            "by columns=[...], or fit it on a frame"
        )
        raise FeatureMismatchError(msg)
    columns = tuple(classifier.feature_names or () if named is None else named)
    if len(columns) != d:
        msg = f"{len(columns)} columns are named, but the model has {d} features"
        raise FeatureMismatchError(msg)
    return columns


_ROWS = "suffice_rows"


def to_ibis(
    estimator: Any,
    table: Any,
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    prefix: str = "",
) -> Any:
    """Return an Ibis table of ``label`` and ``p_<class>``, computed by the table's database.

    Parameters are those of ``to_sql``; ``keep`` is by default every column that is no feature.
    """
    dialect = table.get_backend().name
    if keep is None:
        taken = set(column_names(classifier_of(estimator), columns))
        keep = [column for column in table.columns if column not in taken]
    query = to_sql(
        estimator,
        _ROWS,
        dialect,
        columns=columns,
        keep=keep,
        prefix=prefix,
        booleans=[column for column, kind in table.schema().items() if kind.is_boolean()],
    )
    return table.alias(_ROWS).sql(query)
