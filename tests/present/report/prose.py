"""What a page says, and the numbers that its sentences must have.

``expected`` writes every fragment of a sentence that has a number from the field of the result it
is about. ``unexplained`` takes these fragments out of the text of the page: where digits are left,
a sentence has another number than the result, or one that nobody answers for.
"""

import re
import warnings
from html.parser import HTMLParser
from importlib.metadata import version
from itertools import combinations, permutations, product
from platform import python_version

import numpy as np
from scipy.stats import binomtest

from suffice.core.moments import Moments
from suffice.core.text.lists import listed
from suffice.core.text.numbers import (
    count,
    loss,
    number,
    p_statement,
    percent,
    percentage_points,
    points_between,
)
from suffice.data.density_threshold import OUTLIER_RATE
from suffice.estimators.gaussian import LDA
from suffice.evaluate.curves.reliability import reliability
from suffice.evaluate.diagnostics import (
    box_m,
    class_separation,
    drift,
    normality,
    predictive_check,
)
from suffice.present.report.assumptions import (
    SIMULATIONS,
    columns_of_few_values,
    gaussian_rows,
    simulated_rows_of_a_class,
)
from suffice.present.report.blocks import Checks, Matrix, Plot, Thresholds
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.misclassified import Outliers
from suffice.present.report.usage import PACKAGES

UNITS = ("p", "tr", "figcaption", "h1", "h2", "h3", "li", "div", "label", "summary", "footer")
UNREAD = (
    "script",
    "style",
    "svg",
    "pre",
    "code",
    "data",
    "select",
    "title",
)  # or numbers alone
VOID = ("meta", "link", "br", "input", "hr", "img", "col")
CELLS = ("td", "th", "dt", "dd", "small", "span", "output")
CONSTANTS = (
    "95 % interval of the error",
    "95 % intervals",
    "with a 95 % interval.",
    "Posteriors below 2e-9 are treated as 2e-9.",
    "| 95 % interval |",
    "1 is Bayes' rule",
    "where 0 is the row of the true class",
    "(1 for the true class, 0 for the others)",
    "of the rows with a posterior of 80 % for a class, 80 % belong to this class",
    "A value of 0.5 is chance; 1 is best.",
    "95 % interval | A range that contains the true value in 95 of 100 cases.",
    "Columns with fewer than 8 distinct values",
    "If it is at most 0.05, the difference is called significant.",
)


class Units(HTMLParser):
    """Sentences and rows of a page as text; cells that carry their number are left out."""

    def __init__(self, page):
        super().__init__()
        self.texts, self._open, self._units = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in VOID:
            return
        self._open.append((tag, tag in UNREAD or "data-value" in dict(attrs)))
        if tag in UNITS:
            self._units.append([])
        elif tag in CELLS and self._units:
            self._units[-1].append(" | ")

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag in UNITS and self._units:
            text = "".join(self._units.pop()).replace("\N{NO-BREAK SPACE}", " ")
            self.texts.append(re.sub(r"(\s*\|\s*)+", " | ", f"| {' '.join(text.split())} |"))

    def handle_data(self, data):
        if self._units and not any(unread for _, unread in self._open):
            self._units[-1].append(data)


def explained(report, X, y, new=None):
    """Return all that may be said with numbers: fragments, longest first, then names."""
    told = (*expected(report, X, y), *(() if new is None else _against(X, y, *new)))
    known = [text.replace("\N{NO-BREAK SPACE}", " ") for text in told]
    names = map(str, [*_columns(X, report), *_labels(report)])
    return [each for part in (known, CONSTANTS, names) for each in sorted(part, key=len)[::-1]]


def unexplained(page, known):
    """Return the texts of a page with digits that no field of the result accounts for."""
    left = []
    for text in Units(page).texts:
        rest = text
        for fragment in known:
            rest = rest.replace(fragment, "\0")
        left += [text] if re.search(r"\d", rest) else []
    return left


def _columns(X, report):
    found = list(getattr(X, "columns", [f"x{j + 1}" for j in range(np.shape(X)[1])]))
    return [*found, *(report.estimator.moments_.feature_names or ())]


def _labels(report):
    return report.judgement.held_out.classes.tolist()


def expected(report, X, y):
    """Yield every fragment with numbers, written from the result; some are of no sentence."""
    n, k, comparison = len(y), len(_labels(report)), report.comparison
    for word in ("features", "columns"):
        yield f"{count(n)} rows of {np.shape(X)[1]} {word} in {k} classes"
    judged = len(report.judgement.held_out.truth)
    yield f"measured on rows that were not used in training: {_folds(comparison)}"
    yield f"Held-out losses: {count(judged)} rows, {_folds(comparison)}"
    yield f"a stratified sample of {count(judged)} of {count(n)} rows"
    yield f"fitted to a sample of {count(judged)} rows"
    share = np.unique(np.asarray(y).astype(str), return_counts=True)
    yield from (f"| {name} | {percent(m / n)} |" for name, m in zip(*share, strict=True))
    for part in (_verdict, _classes, _comparison, _model, _slider):
        yield from part(report)
    yield from _data(report, X, y)
    yield from (f"| {name} | {version(name)} |" for name in PACKAGES)
    yield f"| Python | {python_version()} |"
    yield "| seed | 0 |"
    yield f"Written by suffice {version('suffice')}"


def _folds(comparison):
    return f"{comparison.n_folds} stratified folds, shuffled with seed 0"


def _figures(report):
    """Return error and interval, that of the constant classifier, and p-values by model."""
    comparison, rows = report.comparison, report.judgement.held_out
    p = {d.model: d.p_value for d in comparison.differences()}
    low, high = report.judgement.outcome.interval
    error = percent((rows.truth != rows.predicted).mean())
    beside = percent(comparison.baseline.error), p_statement(p["constant"])
    return error, f"{percent(low)} to {percent(high)}", *beside, p


def _reasons(comparison):
    """Yield why a model is recommended, with the losses and sizes of each."""
    for o in comparison.outcomes:
        rows = f"{count(o.n_rows)} rows"
        yield f"lowest log-loss ({loss(o.log_loss)})"
        yield f"lowest log-loss ({loss(o.log_loss)}; {rows})"
        yield f"lowest log-loss ({o.name}, {loss(o.log_loss)})"
        yield f"of the lowest ({o.name}, {loss(o.log_loss)})"
        yield f"it has the fewest parameters ({count(o.n_parameters)}) of the models"
        yield from (f"{how} errors ({percent(o.error)})" for how in ("as many", "makes fewer"))
        yield f"it has fewer parameters ({count(o.n_parameters)}) than"
        yield f"its log-loss ({loss(o.log_loss)}) exceeds that of"
        yield f"has fewer parameters ({count(o.n_parameters)})"
        yield f"makes more errors ({percent(o.error)})"
        for better in comparison.outcomes:
            lower = f"above that of {better.name}"
            yield f"{lower} ({percent(o.error)} against {percent(better.error)}, {rows})"
            yield f"{lower} ({loss(o.log_loss)} against {loss(better.log_loss)}, {rows})"
        constant = loss(comparison.baseline.log_loss)
        yield f"frequencies (log-loss {loss(o.log_loss)} against {constant}, {rows})"
        yield f"is easier to read ({percent(o.error)} errors, log-loss {loss(o.log_loss)})"


def _whole_procedure(verdict):
    """Yield the error of the whole procedure, that of the model, and what else is better."""
    between = f"{percent(verdict.low)} to {percent(verdict.high)}"
    error = percent(verdict.error)
    procedure = f"he procedure that chose {verdict.model}, repeated in every fold,"
    interval = f"(95 % interval {between})"
    yield f"{procedure} misclassifies {error} of held-out rows {interval}"
    yield f"{procedure} misclassifies {error} {interval}"
    yield f"error | 95 % interval {between} |"
    own = f"95 % interval {' to '.join(map(percent, verdict.own.interval))}"
    name = f"{verdict.model[:1].upper()}{verdict.model[1:]}"
    yield f"{name} itself misclassifies {percent(verdict.own.error)} ({own}), which may be too low"
    yield f"error of {verdict.model} itself | {own} |"
    yield f"error, model chosen in each fold | 95 % interval {between} |"
    chance = p_statement(verdict.gains[0].p_value)
    constant = percent(verdict.gains[0].constant)
    rows = f"{count(verdict.own.n_rows)} rows"
    yield f"misclassifies significantly more: {constant} ({chance}, {rows})"
    yield f"misclassifies {constant}, which is not significantly more ({chance}, {rows})"
    yield f"misclassifies no more: {constant} ({chance})"
    yield f"its error; {chance} |"
    yield f"has an error of {constant} ({chance})"
    choice = verdict.choice
    if choice is not None:
        n_folds = len(choice.choices)
        yield f"{verdict.model} is chosen in all {n_folds} folds"
        for n_same in (choice.choices.count(verdict.model), "none"):
            yield f"{verdict.model} is chosen in {n_same} of {n_folds} folds"
        yield f"between {percent(verdict.own.error)} and {percent(choice.high)}"
    for gain in verdict.gains[1:]:
        said = loss if gain.measure == "log-loss" else percent
        figures = f"{said(gain.model)} against {said(gain.constant)}"
        rows = f"{count(verdict.own.n_rows)} rows"
        yield f"than the constant classifier ({figures}, {p_statement(gain.p_value)}, {rows})"


def _verdict(report):
    error, between, beside, chance, _ = _figures(report)
    j, k = report.judgement, len(_labels(report))
    yield f"it misclassifies {error} of held-out rows (95 % interval {between})"
    yield from _whole_procedure(j.verdict)
    yield from _reasons(report.comparison)
    rows = f"{count(j.verdict.own.n_rows)} rows"
    yield f"misclassifies significantly more: {beside} ({chance}, {rows})"
    yield f"misclassifies no more: {beside} ({chance})"
    yield f"error | 95 % interval {between} |"
    yield f"its error; {chance} |"
    others = {
        "log-loss": loss(report.comparison.baseline.log_loss),
        "balanced accuracy": percent(1 / k),
    }
    for gain in j.verdict.gains[1:]:
        yield f"constant classifier {others[gain.measure]}; {p_statement(gain.p_value)} |"
    if j.verdict.choice is not None:
        c = j.verdict.choice
        told = f"{percent(c.error)} ({percent(c.low)} to {percent(c.high)})"
        same, n = c.choices.count(j.name), len(c.choices)
        yield f"{j.name} is chosen in {same} of {n} folds"
        yield f"The error is then {told}. This error includes the effect of choosing"
        yield (
            f"On {count(c.n_rows)} other rows, which were not used to choose the model, it "
            f"misclassifies {told}"
        )
    if j.verdict.threshold is not None:
        t = j.verdict.threshold
        yield (
            f"AUC of {j.name} is {loss(j.outcome.auc)}. Predicting class {t.label} when its "
            f"posterior is at least {number(t.value, 12)} finds {t.n_found} of {t.of} rows, with "
            f"{t.false_alarms} false alarms (precision "
            f"{percent(t.n_found / (t.n_found + t.false_alarms))})"
        )
        yield (
            f"With a threshold of {number(t.value, 12)}, the model would find {t.n_found} of "
            f"{t.of} rows, with {t.false_alarms} false alarms."
        )


def _classes(report):
    """Yield what is found of each class, and what it is predicted as."""
    rows, names = report.judgement.held_out, list(map(str, _labels(report)))
    k = len(names)
    counts = np.zeros((k, k), int)
    np.add.at(counts, (rows.truth, rows.predicted), 1)
    recalls = np.diagonal(counts) / counts.sum(1)
    for c, name in enumerate(names):
        n = counts[c].sum()
        yield f"| {name} | {count(counts[c, c])} of {count(n)} |"
        if recalls[c] == min(recalls):
            missed = f" misses {count(n - counts[c, c])} of {count(n)} rows of class {name}"
            yield f"{missed} ({percent(1 - recalls[c])})"
    yield f"at least half of the rows of {(recalls <= 0.5).sum() - 1} other class"
    yield f"The 8 classes with the lowest recall. {k - 8} more class"
    yield from _ties(counts, names)
    checks = report.judgement.checks
    bound = np.ceil(1000 * checks.n_separable / checks.n_rows) / 1000
    yield f"right on more than {percent(bound)} of these rows: {count(checks.n_conflicting)} rows"
    yield "any significant difference is at most 5 %"
    yield "Rows are numbered from 0"
    yield f"{(counts[~np.eye(k, dtype=bool)] > 0).sum() - 10} more pair"
    yield f"Shown: 10 of {k} classes."
    for a, b in permutations(range(k), 2):
        wrong, of = counts[a, b], counts[a].sum()
        yield f"class {names[a]} was predicted as {names[b]} ({count(wrong)} of {count(of)})"
        yield f"| {names[a]} → {names[b]} | {percent(wrong / of)} |"
    wrong = counts.sum() - np.trace(counts)
    yield f" misclassified {count(wrong)} of {count(counts.sum())} rows"
    logs = rows.log_posteriors[np.arange(len(rows.truth)), rows.truth]
    worst = np.argsort(logs, kind="stable")[:6]
    n_more = wrong - (rows.predicted[worst] != rows.truth[worst]).sum()
    yield f"{count(n_more)} more misclassified row"


def _ties(counts, names):
    """Yield the share missed of classes that tie, with the counts of each."""
    found = np.diagonal(counts)
    of = counts.sum(1)
    shares = found / of
    tied = np.flatnonzero(shares == shares.min())
    tied = tied[np.argsort(-of[tied], kind="stable")]
    of_each = [f"{count(of[c] - found[c])} of {count(of[c])}" for c in tied]
    told = f"{percent(1 - shares.min())} of the rows of each of the classes "
    yield f"{told}{listed([names[c] for c in tied], 5)} ({listed(of_each, 5)})"


def _comparison(report):
    error, between, beside, chance, p = _figures(report)
    comparison, own = report.comparison, report.judgement.outcome
    best = min(comparison.outcomes, key=lambda o: o.error)
    points = points_between(own.error, best.error).removeprefix("+")
    more = f"{points} percentage points more errors than {best.name}"
    for word in ("not significant", "significant"):
        tested = p_statement(p.get(best.name, np.nan))
        rows = f"{count(own.n_rows)} rows"
        yield f"{more} ({percent(best.error)}; {word}, {tested}, {rows})"
    yield f"{own.name}. Its error is {error} (95 % interval {between})"
    yield f"has an error of {beside} ({chance})"
    alike = {name: q for name, q in p.items() if q > 0.05 and name != "constant"}
    least = min(alike.values(), default=1)
    relation = "=" if len(alike) == 1 or least == 1 else "≥"
    points = {d.model: percentage_points(d.mean) for d in comparison.differences()}
    means = sorted(d.mean for d in comparison.differences() if d.model in alike)
    ends = dict.fromkeys(percentage_points(mean) for mean in (*means[:1], *means[-1:]))
    sizes = f"{' to '.join(ends)} percentage points"
    yield f"differs significantly: their errors differ by {sizes} (smallest {p_statement(least)})"
    models = listed(list(alike), 5) if alike else "none"
    yield f"not differ significantly: {models} ({sizes}, {p_statement(least, relation)})"
    yield f"of the {len(alike)} others"
    for name, q in p.items():
        if q <= 0.05:
            yield f"{name} ({points[name]} percentage points, {p_statement(q)})"
    yield f"on the same {count(comparison.n_rows)} rows"
    n_others = len(p) - ("constant" in p)
    yield f"p-values are adjusted for {n_others * (n_others + 1) // 2} pairs of models"
    yield from (f"{o.name}: {note}" for o in comparison.outcomes for note in o.notes)


def _model(report):
    error, between, *_ = _figures(report)
    j, name = report.judgement, report.judgement.name
    averaged = hasattr(j.estimator, "choices_")
    size = j.gaussian.model_.model.n_parameters if averaged else j.outcome.n_parameters
    yield f"{count(size)} free parameters"
    for i in j.importance[:1]:
        unit, said = (
            (" percentage points", percentage_points) if i.loss == "error" else ("", loss)
        )
        what, (low, high) = i.loss.replace("_", "-"), map(said, (i.low, i.high))
        rise = said(i.mean).lstrip("+") + unit
        yield f"shuffling {i.feature} raises the {what} by {rise}."
        told = f"most, by {rise} (95 % interval {low} to {high})"
        yield f"shuffling {i.feature} raises the {what} {told}"
    if j.growth is not None:
        yield f"(mean of {j.growth.n_repeats} random splits)"
        later = j.growth.forecast[1]
        yield (
            f"With twice as many rows ({count(2 * len(j.held_out.truth))}), {name} should "
            f"misclassify about {percent(later.error)} (95 % interval {percent(later.low)} to "
            f"{percent(later.high)}), against {error} now ({between})"
        )


def _data(report, X, y):
    """Yield what is said of columns, outliers and assumptions."""
    data = DocumentedTable.of(X, y)
    j, table, model = report.judgement, data.table, report.judgement.gaussian
    empty, n = sum(int(p.empty.sum()) for p in data.profiles), table.n_rows
    yield f"| empty cells | {percent(empty / (n * max(len(data.profiles), 1)))} of all |"
    yield f"; {count(j.checks.n_conflicting)} have the same values as a row of another class |"
    for p in data.profiles:
        yield from (f"{p.name} ({p.distinct} levels{end})" for end in ("", " and missing"))
        yield f"{p.name} ({count(p.empty.sum())}, {percent(p.empty.mean())})"
    yield from _two_valued(data)
    holed = [p.empty for p in data.profiles if p.empty.any()]
    if len(holed) > 1:
        patterns = len({tuple(row) for row in np.stack(holed, 1).tolist()})
        yield f"The table shows {patterns} of {patterns} patterns"
        yield f"and {len(holed)} of {len(holed)} columns with empty cells"
    outliers, at = Outliers.of(j), np.zeros(0, int)
    if outliers is not None:
        at = np.argsort(outliers.log_densities, kind="stable")[:10]
        yield f"An outlier has a log density below {number(outliers.threshold)}."
        yield (
            f"If the model were true, about {number(OUTLIER_RATE * n, 2)} outliers would be "
            f"expected among the {count(n)} rows."
        )
    own = j.held_out.log_posteriors[np.arange(n), j.held_out.truth]
    shown = (*at, *np.argsort(own, kind="stable")[:10])
    yield from (f"| {data.ids[i]} | {data.class_names[table.codes[i]]} |" for i in shown)
    if len(data.class_names) <= 3 and table.n_features <= 6:
        for b, a in combinations(model.classes_.tolist(), 2):
            equation = model.boundary(a, b).equation(digits=4)
            yield f"{a} | {b}: {' '.join(equation.split())}"
    calibrated = j.calibration
    yield (
        f"(the calibration error is {loss(j.outcome.calibration_error)}; that of a calibrated "
        f"model would be about {loss(calibrated.expected_error)}; "
        f"{p_statement(calibrated.p_value)})"
    )
    seen = gaussian_rows(j, columns_of_few_values(data))
    box = box_m(Moments.of(seen.x, table.labels))
    yield f"(Box's M = {number(box.statistic)}, {p_statement(box.p_value)})"
    yield repr(normality(seen.x, table.labels, max_rows=500))
    if not j.fast:
        options = {"simulations": SIMULATIONS, "max_rows": simulated_rows_of_a_class(data)}
        yield repr(predictive_check(seen.model, seen.rows, table.labels, **options))
    (checks,) = (b for s in report.sections for b in s.all_blocks if isinstance(b, Checks))
    yield f"None of {len(checks.items)} tests"
    yield from _separation(j.moments)


def _two_valued(data):
    """Yield how many rows of each class have the larger of two values."""
    for v in data.table.x.T:
        if len(np.unique(v)) == 2:
            for k, name in enumerate(data.class_names):
                larger = v[data.table.codes == k] == v.max()
                yield f"| {name} | {count(larger.sum())} of {count(len(larger))} |"


def _separation(moments):
    """Yield Wilks' lambda and the canonical correlations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        separation = class_separation(moments)
    yield repr(separation)
    for i, correlation in enumerate(separation.correlations):
        yield f"coordinate {i + 1}, canonical correlation {loss(correlation)}"


def _slider(report):
    """Yield what stands beside the slider before it is moved, counted from held-out rows."""
    rows, j = report.judgement.held_out, report.judgement
    for slider in (
        b for s in report.sections for b in s.all_blocks if isinstance(b, Thresholds)
    ):
        k = _labels(report).index(slider.positive)
        at = slider.thresholds[slider.start]
        called, mine = rows.posteriors[:, k] >= at, rows.truth == k
        hits, alarms = (called & mine).sum(), (called & ~mine).sum()
        yield f"| {hits} | of {mine.sum()} rows of class {slider.positive} |"
        yield f"| {alarms} | of {(~mine).sum()} other rows |"
        yield f"| {mine.sum() - hits} |"
        yield f"| {percent(hits / (hits + alarms))} |"
        yield f"| {percent(hits / mine.sum())} |"
        yield f"| {mine.sum() - hits + alarms} |"
        yield f"| {number(at, 12)} |"
        yield f"ROC curve of class {slider.positive}, held-out rows: AUC {loss(j.outcome.auc)};"
        yield f"the dashed line is its share of all rows, {percent(mine.mean())}."


def _against(X, y, new_rows, new_labels):
    """Yield what is said of new rows: drift of the fitted moments, and the errors counted."""
    n, model = len(new_labels), LDA().fit(X, y)
    wrong = int((model.predict(new_rows) != new_labels).sum())
    yield f"compares {count(n)} new rows with the {count(len(y))} rows of the report"
    moved = drift(model, new_rows)
    yield f"joint test of all means and shares gives {p_statement(moved.p_value)}"
    yield f"o evidence in {sum(np.isfinite(c.p_value) for c in moved.columns)} tests"
    yield f" misclassifies {count(wrong)} of {count(n)} new rows"
    low, high = binomtest(wrong, n).proportion_ci(method="wilson")
    yield f"| error, new rows | 95 % interval {percent(low)} to {percent(high)} |"


def tips(report, X, y):
    """Yield what charts may say under the pointer, each written from the result it is of."""
    j, data = report.judgement, DocumentedTable.of(X, y)
    names = list(map(str, _labels(report)))
    yield from _of_classes(j.held_out, names, data)
    yield from _of_models(j)
    yield from _stated(j)
    for block in (b for s in report.sections for b in s.all_blocks):
        if isinstance(block, Thresholds):
            yield from _at_thresholds(block, j.held_out, names)
        elif isinstance(block, Matrix) and block.distances:
            cells = product(
                zip(block.classes, block.counts, strict=True), enumerate(block.classes)
            )
            yield from (f"{a} and {b}: {number(row[i], 3)}" for (a, row), (i, b) in cells)
        elif isinstance(block, Plot) and block.key.startswith("effect"):
            lines = [s for s in block.series if s.shape == "line"]
            drawn = ((s.name, v, p) for s in lines for v, p in zip(s.x, s.y, strict=True))
            yield from (
                f"{block.x.name} {number(v)}: {s} {percentage_points(p)}" for s, v, p in drawn
            )


def _of_classes(rows, names, data):
    """Yield what is counted: confusions, rows, features of two values, variance between classes."""
    k, x = len(names), data.table.x
    counts = np.zeros((k, k), int)
    np.add.at(counts, (rows.truth, rows.predicted), 1)
    for a, b in product(range(k), repeat=2):
        part = counts[a, b] / counts[a].sum()
        pair = f"{names[a]} → {names[b]}: {count(counts[a, b])}"
        yield from (pair, f"{pair} ({percent(part)} of {names[a]})")
    for c, name in enumerate(names):
        yield f"{name}: {percent(counts[c, c] / counts[c].sum())}"
        yield f"{name}: {count((data.table.codes == c).sum())}"
        yield from (f"{name}: {percent((v == v.max())[rows.truth == c].mean())}" for v in x.T)
    for name, v in zip(data.names, x.T, strict=True):
        within = v - (np.bincount(rows.truth, v) / np.bincount(rows.truth))[rows.truth]
        yield f"{name}: {percent(1 - within.var() / v.var())}"
    for i, identity in enumerate(data.ids):
        yield f"{identity}: {names[rows.truth[i]]}, predicted {names[rows.predicted[i]]}"


def _of_models(j):
    """Yield differences of models, importances of columns, and errors by the number of rows."""
    for d in j.comparison.differences():
        mean, low, high = map(percentage_points, (d.mean, d.low, d.high))
        yield f"{d.model}: {mean} ({low} to {high})"
    for i in j.importance:
        mean, low, high = map(
            percentage_points if i.loss == "error" else loss, (i.mean, i.low, i.high)
        )
        yield f"{i.feature}: {mean} ({low} to {high})"
    if j.growth is not None:
        later = [(f.n_rows, f.error) for f in j.growth.forecast]
        seen = zip(j.growth.sizes, j.growth.error, strict=True)
        yield from (f"{count(n)} rows: {percent(error)}" for n, error in (*seen, *later))


def _at_thresholds(block, rows, names):
    k = names.index(block.positive)
    mine = rows.truth == k
    for at in block.thresholds:
        called = rows.posteriors[:, k] >= at
        hits, alarms = (called & mine).sum(), (called & ~mine).sum()
        recall, start = percent(hits / mine.sum()), f"from {number(at, 12)}: "
        yield f"{start}finds {recall}, false alarms {percent(alarms / (~mine).sum())}"
        if hits + alarms:
            yield f"{start}recall {recall}, precision {percent(hits / (hits + alarms))}"


def _stated(j):
    """Yield how often what was stated came true, in bins of equally many rows."""
    rows = j.held_out
    two, bins = rows.posteriors.shape[1] == 2, int(np.clip(len(rows.truth) // 25, 3, 10))
    p = rows.posteriors[:, j.positive] if two else rows.posteriors.max(1)
    true = rows.truth == j.positive if two else rows.truth == rows.predicted
    found = reliability(true, p.clip(max=1), rows.weight, bins=bins, equal_counts=True)
    for stated, observed, n in zip(found.stated, found.observed, found.weights, strict=True):
        yield f"stated {percent(stated)}, observed {percent(observed)} of {number(n)} rows"
