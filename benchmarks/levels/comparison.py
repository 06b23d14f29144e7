"""What comparisons say: errors with intervals, differences, the choice, growth, importance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from benchmarks.levels.case import DRAWS, LEVEL, Case, Finding, Range, is_alarm
from suffice.core.decision.error_intervals import newcombe
from suffice.core.decision.predictions import losses_of_rows
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.importance import permutation_importance
from suffice.evaluate.comparison.learning_curve import growth
from suffice.evaluate.comparison.models import CONSTANT, STABLE_SHARE, ComparedModel
from suffice.evaluate.comparison.paired import ERROR, LARGEST, LOG_LOSS, Loss, RowLosses
from suffice.evaluate.comparison.real_errors import real_errors
from suffice.evaluate.comparison.verdict import (
    _balanced_accuracy,
    _recalls,
    _useful_threshold,
)
from suffice.typing import Codes, Floats, SklearnClassifier

LEARNERS: dict[str, Callable[[], SklearnClassifier]] = {
    "LDA": LinearDiscriminantAnalysis,
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "5 neighbours": lambda: KNeighborsClassifier(5),
    "1 neighbour": lambda: KNeighborsClassifier(1),
    "decision tree": lambda: DecisionTreeClassifier(random_state=0),
    "pruned tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
}


@dataclass(frozen=True, slots=True)
class Population:
    """Rows of two classes: two blocks of features, of equal worth for the class."""

    n_rows: int
    n_features: int  # of each block
    distance: float  # between the classes, in two features of each block
    share: float = 0.5  # of the second class
    shape: str = "normal"
    kind: str = ""  # "", "weights" or "groups"

    def __str__(self) -> str:
        parts = [f"n = {self.n_rows}", f"d = {self.n_features}", f"distance {self.distance:g}"]
        if self.share != 0.5:
            parts.append(f"class share {self.share:g}")
        if self.shape != "normal":
            parts.append(self.shape)
        if self.kind:
            parts.append(self.kind)
        return ", ".join(parts)

    def draw(self, rng: np.random.Generator) -> "Rows":
        """Return rows, at least ten of each class."""
        n = self.n_rows
        while True:
            y = (rng.random(n) < self.share).astype(np.intp)
            if np.bincount(y, minlength=2).min() >= 10:
                break
        d = self.n_features
        x = DRAWS[self.shape](rng, (n, 2 * d))
        x /= DRAWS[self.shape](np.random.default_rng(0), (10_000, 1)).std()
        groups = None
        weight = None
        if self.kind == "groups":
            # groups of 4 rows that have offsets in common
            groups = np.arange(n) // 4
            x += rng.normal(size=(n, 2 * d))[groups]
            x /= np.sqrt(2)
        if self.kind == "weights":
            weight = rng.gamma(2, size=n)
        x[:, [0, 1, d, d + 1]] += self.distance * y[:, None]
        return Rows(x, y, weight, groups)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a population."""

    x: Floats
    y: Codes
    weight: Floats | None = None
    groups: Codes | None = None


class RowSource(Protocol):
    """What draws rows of two blocks of features, of equal worth for the class."""

    @property
    def n_features(self) -> int: ...  # of each block

    def draw(self, rng: np.random.Generator) -> Rows: ...


POPULATIONS = (
    Population(50, 2, 0.9),
    Population(50, 6, 0.9),
    Population(150, 3, 0.7),
    Population(150, 3, 0.7, shape="gamma(2)"),
    Population(150, 3, 0.7, shape="t3"),
    Population(150, 5, 0.9, share=0.15),
    Population(80, 4, 2.2),
    Population(150, 3, 0.8, kind="weights"),
    Population(160, 3, 0.8, kind="groups"),
    Population(400, 8, 0.6),
)

# other sizes and shapes than those that ρ was chosen on
FRESH_POPULATIONS = (
    Population(60, 4, 1.1),
    Population(100, 2, 0.6),
    Population(100, 8, 0.9),
    Population(250, 4, 0.5, shape="exponential"),
    Population(250, 4, 0.5, shape="Laplace"),
    Population(120, 3, 1.0, share=0.25),
    Population(200, 10, 1.8),
    Population(200, 3, 0.7, kind="weights"),
    Population(200, 4, 0.9, kind="groups"),
)


@dataclass(frozen=True, slots=True)
class RealTable:
    """Rows drawn from a real table. Each block is the whole table with noise of its own."""

    name: str
    n_rows: int
    n_columns: int  # leading principal components of the table
    n_noise: int  # columns that each block has for itself

    def __str__(self) -> str:
        return f"{self.name}, n = {self.n_rows}, {self.n_columns} components"

    @property
    def n_features(self) -> int:
        return self.n_columns + self.n_noise

    def draw(self, rng: np.random.Generator) -> "Rows":
        """Return rows without replacement, at least six of each class."""
        x, y = _real_table(self.name, self.n_columns)
        while True:
            drawn = rng.choice(len(x), self.n_rows, replace=False)
            if np.bincount(y[drawn]).min() >= 6:
                break
        noise = rng.normal(size=(2, self.n_rows, self.n_noise))
        blocks = [np.concatenate([x[drawn], own], axis=1) for own in noise]
        return Rows(np.concatenate(blocks, axis=1), y[drawn])


@cache
def _real_table(name: str, n_columns: int) -> tuple[Floats, Codes]:
    load = {"digits": load_digits, "cancer": load_breast_cancer, "diabetes": load_diabetes}
    x, y = load[name](return_X_y=True)
    if name == "diabetes":
        y = y > np.median(y)
    standardised = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9)
    left, _, _ = np.linalg.svd(standardised, full_matrices=False)
    components = left[:, :n_columns] * np.sqrt(len(x))
    return components, y.astype(np.intp)


FRESH_TABLES = (
    RealTable("digits", 160, 10, 4),
    RealTable("cancer", 60, 6, 3),
    RealTable("diabetes", 60, 8, 4),
)


def cases() -> Iterator[Case]:
    yield from _pair_cases()
    yield from _other_cases()


def _pair_cases() -> Iterator[Case]:
    effect = "one of two blocks of features useless"
    for name, learner in LEARNERS.items():
        for population in POPULATIONS:
            findings = Pair(learner, population).findings
            yield Case(f"{name}, {population}", population.n_rows, effect, findings, True)
        for source in (*FRESH_POPULATIONS, *FRESH_TABLES):
            fresh = FreshPair(learner, source).findings
            yield Case(f"{name}, {source}", source.n_rows, effect, fresh, True)


def _other_cases() -> Iterator[Case]:
    for n, share in ((60, 0.5), (60, 0.3), (200, 0.5), (200, 0.2)):
        findings = _Gain(n, share).findings
        setting = f"n = {n}, class share {share:g}, no column is of use"
        yield Case(setting, n, "distance 1 in two columns", findings, True)
    for n in (80, 300):
        for effect in (0.8, 1.6):
            population = Population(n, 2, effect)
            yield Case(f"LDA, {population}", n, "", _Growth(population).findings, True)
            yield Case(
                f"LDA, {population}, useless column",
                n,
                "a column of use",
                _Importance(population).findings,
                True,
            )
    yield from _cases_of_several_models()
    yield from _cases_of_intervals()
    yield from _cases_of_splits()
    for n, d in ((60, 10), (200, 30)):
        setting = f"LDA, n = {n}, d = {d}, no column is of use"
        found = _MoreRows(n, d).findings
        yield Case(setting, n, "distance 1.5 in two columns", found, True)
    for n in (30, 100, 1000):
        setting = f"{n} rows, posteriors too sharp by as much as they tell"
        yield Case(setting, n, "posteriors sharper still", _Sharp(n).findings)
    for n, m in ((60, 60), (200, 50), (200, 2000), (1000, 300)):
        yield Case(
            f"{n} rows of the report, {m} new",
            min(n, m),
            "error 15 % to 30 %",
            _NewErrors(n, m).findings,
        )


def _cases_of_several_models() -> Iterator[Case]:
    for n in (60, 150, 400):
        for n_models, word in ((6, "six"), (12, "twelve")):
            setting = f"{word} models LDA, n = {n}, each with 2 columns of its own"
            yield Case(setting, n, "", _Several(n, n_models, word).findings, True)


def _cases_of_intervals() -> Iterator[Case]:
    for name in ("LDA", "5 neighbours", "decision tree"):
        for n in (100, 300):
            setting = f"{name}, n = {n}, d = 4, distances 1 and 0.5"
            found = _UnequalPair(LEARNERS[name], Population(n, 4, 1.0)).findings
            yield Case(setting, n, "", found, True)


def _cases_of_splits() -> Iterator[Case]:
    for n, n_groups in ((120, 12), (300, 30), (300, 100)):
        setting = f"{n} rows in {n_groups} groups that do not matter"
        yield Case(
            setting, n_groups, "rows of a group alike", _Groups(n, n_groups).findings, True
        )
    for n in (120, 400):
        setting = f"{n} rows in an order that does not matter"
        effect = "rows near in time alike"
        yield Case(setting, n // 6, effect, _Later(n).findings, True)
    for n, n_groups in ((120, 12), (300, 30), (400, 100)):
        setting = f"{n} rows in {n_groups} groups, rows of a group alike"
        yield Case(setting, n_groups, "", _AlikeGroups(n, n_groups).findings, True)


def _columns(x: Floats, first: int, last: int) -> Floats:
    return x[:, first:last]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


class Pair:
    """Two models that are equally good, since each sees its own block of features."""

    def __init__(self, learner: Callable[[], SklearnClassifier], population: RowSource):
        self.learner = learner
        self.population = population

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        d = self.population.n_features
        rows = self.population.draw(rng)
        x = rows.x
        if has_effect:
            x[:, :d] = rng.permutation(x[:, :d])
        models = []
        for b in (0, 1):
            columns = {"first": b * d, "last": (b + 1) * d}
            block = FunctionTransformer(_columns, kw_args=columns)
            models.append(ComparedModel(f"block {b}", make_pipeline(block, self.learner())))
        seed = _seed(rng)
        folds = folds_for(x, rows.y, 10, rows.weight, rows.groups, seed)
        result = compared(tuple(models), folds, seed, progress=False)
        against = result.against("block 0")
        by_error = against.difference("block 1", "error").p_value
        by_log_loss = against.difference("block 1", "log_loss").p_value
        findings: dict[str, Finding] = {
            "difference of errors": is_alarm(by_error),
            "difference of log-losses": is_alarm(by_log_loss),
        }
        if not has_effect:
            outcome = result["block 0"]
            findings["interval of a cross-validated error"] = Range(
                *outcome.interval, outcome.error
            )
            choice = result.choice
            if choice is not None:
                findings["interval of the error of the choice"] = Range(
                    choice.low, choice.high, choice.error
                )
        return findings


class _UnequalPair:
    """The difference of two models, one of which sees the classes half as far apart."""

    def __init__(self, learner: Callable[[], SklearnClassifier], population: Population):
        self.learner = learner
        self.population = population

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        d = self.population.n_features
        rows = self.population.draw(rng)
        x = rows.x
        x[:, [d, d + 1]] -= 0.5 * self.population.distance * rows.y[:, None]
        models = []
        for b in (0, 1):
            columns = {"first": b * d, "last": (b + 1) * d}
            block = FunctionTransformer(_columns, kw_args=columns)
            models.append(ComparedModel(f"block {b}", make_pipeline(block, self.learner())))
        seed = _seed(rng)
        folds = folds_for(x, rows.y, 10, None, None, seed)
        result = compared(tuple(models), folds, seed, progress=False)
        against = result.against("block 0")
        findings: dict[str, Finding] = {}
        losses: tuple[tuple[Loss, str], ...] = (
            ("error", "errors"),
            ("log_loss", "log-losses"),
        )
        for loss, plural in losses:
            found = against.difference("block 1", loss)
            findings[f"interval of a difference of {plural}"] = Range(
                found.low, found.high, found.mean
            )
        outcome = result["block 0"]
        half = 2 * float(outcome.standard_errors[LOG_LOSS])
        findings["log-loss, two standard errors"] = Range(
            outcome.log_loss - half, outcome.log_loss + half, outcome.log_loss
        )
        return findings


class FreshPair(Pair):
    """The same, for settings that had no part in the choice of ρ."""


class _Several:
    """Whether any of several models that are equally good is called better or worse."""

    def __init__(self, n: int, n_models: int, word: str):
        self.n = n
        self.n_models = n_models
        self.word = word

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        y = rng.integers(0, 2, self.n)
        x = rng.normal(size=(self.n, 2 * self.n_models))
        x[:, ::2] += y[:, None]
        models = []
        for b in range(self.n_models):
            block = FunctionTransformer(_columns, kw_args={"first": 2 * b, "last": 2 * b + 2})
            models.append(ComparedModel(f"block {b}", make_pipeline(block, LEARNERS["LDA"]())))
        seed = _seed(rng)
        folds = folds_for(x, y, 10, None, None, seed)
        result = compared(tuple(models), folds, seed, progress=False)
        others = [d for d in result.differences() if d.model != result.baseline.name]
        by_error = [d.verdict != "alike" for d in others if d.loss == "error"]
        by_log_loss = [d.verdict != "alike" for d in others if d.loss == "log_loss"]
        return {
            f"difference of errors, any of {self.word} models": any(by_error),
            f"difference of log-losses, any of {self.word} models": any(by_log_loss),
        }


class _Sharp:
    """Whether posteriors are called worse than the class frequencies, which are as good."""

    def __init__(self, n: int):
        self.n = n

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        # A class of posterior 0.7 is stated with q, where
        # −0.7 log q − 0.3 log (1 − q) = log 2, the log-loss of the frequencies
        q = 0.97 if has_effect else brentq(_excess_of_stated, 0.71, 0.999)
        is_right = rng.random(self.n) < 0.7
        stated = -np.log(np.where(is_right, q, 1 - q))
        known = np.full(self.n, np.log(2))
        errors = np.zeros(self.n)
        rows = RowLosses(
            names=("model", CONSTANT),
            losses=np.array([[errors, errors], [stated, known]]),
            weights=np.ones(self.n),
            folds=np.arange(self.n) % 10,
            overlap=np.full(2, STABLE_SHARE / 0.9),
            sizes=np.ones(2),
            readable=(True, True),
        )
        verdict = rows.difference(LOG_LOSS, 0, 1).verdict
        return {"posteriors are useless": verdict == "worse"}


def _excess_of_stated(q: float) -> float:
    """Return the log-loss of stating q, of a class whose posterior is 0.7, less log 2."""
    return float(-0.7 * np.log(q) - 0.3 * np.log(1 - q) - np.log(2))


class _Gain:
    """Whether models are said to be better than the constant one."""

    def __init__(self, n: int, share: float):
        self.n = n
        self.share = share

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        distance = 1.0 if has_effect else 0.0
        rows = Population(self.n, 2, distance, self.share).draw(rng)
        models = (
            ComparedModel("LDA", sf.LDA()),
            ComparedModel("QDA", sf.QDA()),
            ComparedModel("GaussianNB", sf.GaussianNB()),
        )
        seed = _seed(rng)
        folds = folds_for(rows.x, rows.y, 10, None, None, seed)
        result = compared(models, folds, seed, progress=False, keep=True)
        model = result[result.reference]
        constant = result.baseline
        by_error = result.difference(constant.name, "error")
        by_log_loss = result.difference(constant.name, "log_loss")
        balanced = _balanced_accuracy(model)
        findings: dict[str, Finding] = {
            "fewer errors than the constant": by_error.verdict == "worse",
            "less log-loss than the constant": by_log_loss.verdict == "worse",
            "balanced accuracy above chance": balanced.p_value <= LEVEL
            and balanced.model > balanced.constant,
            "a threshold is offered": _useful_threshold(model, _recalls(model.held_out))
            is not None,
        }
        choice = result.choice
        if choice is not None:
            is_better = choice.p_value <= LEVEL and choice.error < constant.error
            findings["choice has fewer errors than the constant"] = is_better
        return findings


class _Growth:
    """The error expected with twice as many rows."""

    def __init__(self, population: Population):
        self.population = population

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        rows = self.population.draw(rng)
        model = ComparedModel("LDA", sf.LDA())
        seed = _seed(rng)
        folds = folds_for(rows.x, rows.y, 10, None, None, seed)
        result = compared((model,), folds, seed, progress=False)
        grown = growth(model, folds, result["LDA"], seed=seed)
        if grown is None:
            return {"forecast, twice the rows": None}
        findings: dict[str, Finding] = {}
        n = self.population.n_rows
        for times, forecast in zip((1, 2, 4), grown.forecast, strict=True):
            learnt = _larger(self.population, times * n).draw(rng)
            test = _larger(self.population, 2000).draw(rng)
            error = float(1 - sf.LDA().fit(learnt.x, learnt.y).score(test.x, test.y))
            name = {1: "the rows at hand", 2: "twice the rows", 4: "four times the rows"}[
                times
            ]
            findings[f"forecast, {name}"] = Range(forecast.low, forecast.high, error)
        return findings


def _larger(population: Population, n_rows: int) -> Population:
    return Population(n_rows, population.n_features, population.distance, population.share)


class _MoreRows:
    """Whether more rows are said to help."""

    def __init__(self, n: int, d: int):
        self.n = n
        self.d = d

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        y = rng.permutation(np.arange(self.n) % 2)
        x = rng.normal(size=(self.n, self.d))
        if has_effect:
            x[:, :2] += 1.5 * y[:, None]
        model = ComparedModel("LDA", sf.LDA())
        seed = _seed(rng)
        folds = folds_for(x, y, 10, None, None, seed)
        result = compared((model,), folds, seed, progress=False)
        grown = growth(model, folds, result["LDA"], seed=seed)
        helps = None if grown is None else grown.helps == "would help"
        return {"more rows would help": helps}


class _Importance:
    """The rise of the error once a column is shuffled: of a useful one, and of a useless one."""

    def __init__(self, population: Population):
        self.population = population

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        rows = self.population.draw(rng)
        useless = rng.normal(size=(len(rows.x), 3))
        x = np.concatenate([rows.x, useless], axis=1)
        names = tuple(f"x{j}" for j in range(x.shape[1]))
        model = ComparedModel("LDA", sf.LDA())
        seed = _seed(rng)
        folds = folds_for(x, rows.y, 10, None, None, seed)
        result = compared((model,), folds, seed, progress=False, keep=True)
        found = permutation_importance(model, result["LDA"], folds, names, seed)
        by_name = {each.feature: each for each in found}
        first = by_name["x0"]
        if has_effect:
            return {"a useless column is called needed": first.low > 0}
        needed = [name for name in names[-3:] if by_name[name].low > 0]
        findings: dict[str, Finding] = {"a useless column is called needed": bool(needed)}
        # new rows, for the models of the folds: these are what the interval speaks of
        new = _larger(self.population, 3000).draw(rng)
        new_x = np.concatenate([new.x, rng.normal(size=(len(new.x), 3))], axis=1)
        loss = ERROR if first.loss == "error" else LOG_LOSS
        rises = [_rise(learnt, new_x, new.y, loss) for learnt in result["LDA"].learnt]
        sizes = [len(test) for _, test in folds.splits]
        truth = float(np.average(rises, weights=sizes))
        unit = "error" if loss == ERROR else "log-loss"
        findings[f"importance of a column, {unit}"] = not first.low <= truth <= first.high
        return findings


def _rise(learnt: SklearnClassifier, x: Floats, y: Codes, loss: int) -> float:
    """Return the mean rise of a loss once the first column of new rows is shuffled."""
    shuffled = x.copy()
    shuffled[:, 0] = np.roll(x[:, 0], 1)
    before = losses_of_rows(learnt.predict_log_proba(x), y)[loss]
    after = losses_of_rows(learnt.predict_log_proba(shuffled), y)[loss]
    return float(np.mean(np.minimum(after, LARGEST) - np.minimum(before, LARGEST)))


class _Groups:
    """Whether unseen groups are said to be misclassified more often than random rows."""

    def __init__(self, n: int, n_groups: int):
        self.n = n
        self.n_groups = n_groups

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        groups = rng.permutation(np.arange(self.n) % self.n_groups)
        y = rng.integers(0, 2, self.n)
        x = rng.normal(size=(self.n, 4))
        x[:, 0] += y
        if has_effect:
            # rows of a group are near copies, of one class
            y = rng.integers(0, 2, self.n_groups)[groups]
            x = 3 * rng.normal(size=(self.n_groups, 4))[groups] + 0.5 * rng.normal(
                size=x.shape
            )
        model = ComparedModel("1 neighbour", KNeighborsClassifier(1))
        time = rng.permutation(self.n)
        found = real_errors(model, x, y, groups=groups, time=time, seed=_seed(rng))
        findings: dict[str, Finding] = {}
        for error in found.errors[1:]:
            if error.split == "unseen groups":
                findings["unseen groups are worse"] = error.is_worse
            elif not has_effect:
                findings["the future is worse"] = error.is_worse
        return findings


class _AlikeGroups:
    """The interval of the error on unseen groups, the rows of which have offsets in common."""

    def __init__(self, n: int, n_groups: int):
        self.n = n
        self.n_groups = n_groups

    def findings(self, rng: np.random.Generator, _: bool) -> dict[str, Finding]:
        groups = rng.permutation(np.arange(self.n) % self.n_groups)
        y = rng.integers(0, 2, self.n)
        x = rng.normal(size=(self.n, 4)) + rng.normal(size=(self.n_groups, 4))[groups]
        x[:, 0] += 1.5 * y
        model = ComparedModel("LDA", sf.LDA())
        found = real_errors(model, x, y, groups=groups, seed=_seed(rng)).errors[1]
        return {
            "interval of the error of unseen groups": Range(found.low, found.high, found.error)
        }


class _Later:
    """Whether later rows are said to be misclassified more often, and the interval of the error."""

    def __init__(self, n: int):
        self.n = n

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        time = np.arange(self.n)
        y = rng.integers(0, 2, self.n)
        x = rng.normal(size=(self.n, 4))
        x[:, 0] += 2 * y
        if has_effect:
            # ten rows after another are near copies, of one class
            place = time // 10
            y = rng.integers(0, 2, place[-1] + 1)[place]
            x = 3 * rng.normal(size=(place[-1] + 1, 4))[place] + 0.5 * x
        model = ComparedModel("1 neighbour", KNeighborsClassifier(1))
        found = real_errors(model, x, y, time=time, seed=_seed(rng)).errors[1]
        findings: dict[str, Finding] = {"the future is worse": found.is_worse}
        if not has_effect:
            findings["interval of the error of later rows"] = Range(
                found.low, found.high, found.error
            )
        return findings


class _NewErrors:
    """Whether new rows are said to be misclassified more, or less, often than held-out ones."""

    def __init__(self, n: int, m: int):
        self.n = n
        self.m = m

    def findings(self, rng: np.random.Generator, has_effect: bool) -> dict[str, Finding]:
        before = rng.binomial(self.n, 0.15) / self.n
        after = rng.binomial(self.m, 0.3 if has_effect else 0.15) / self.m
        low, high = newcombe(before, self.n, after, self.m)
        return {"new rows err more or less often": not low <= 0 <= high}
