"""The section on how the chosen model decides."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from suffice.core.text.dates import date_text
from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import cell, count, number, percent
from suffice.estimators.gaussian_estimator import GaussianEstimator
from suffice.evaluate.comparison.importance import MOST_COLUMNS as MOST_SHUFFLED
from suffice.evaluate.comparison.models import core
from suffice.evaluate.curves.feature_separation import separation, standardised_coefficients
from suffice.present.report import blocks as page
from suffice.present.report.charts import MOST_LINES, MOST_MULTIPLES, RowCharts
from suffice.present.report.documented_table import Profile
from suffice.present.report.effects import ExplainedModel, local_effects, log_posteriors
from suffice.present.report.findings import Findings
from suffice.typing import Codes, Floats

MOST_EFFECTS = 4  # most columns with an effect
MOST_OPEN_EFFECTS = 2  # most charts of effects that are not folded
MOST_ROWS = 500  # most rows used for an effect
MOST_NAMES = 5  # most columns named in the first sentence
MOST_LEVELS = 8  # most levels shown of a categorical column
MOST_LEVELS_OF_TREE = 5  # most levels of a tree that are written out
FEWEST_VALUES = 4  # with fewer distinct values, a column is not drawn as a curve
MOST_AVERAGED = 6  # most settings of an average that are shown
MOST_PAIRS = 3  # most pairs of classes whose boundary is written out
MOST_LINEAR_FEATURES = 6  # most features of a linear boundary that is written out
# most features of a quadratic boundary that is written out
MOST_QUADRATIC_FEATURES = 2
MOST_COEFFICIENTS = 20  # most rows of the table of coefficients
MOST_OPEN_IMPORTANCES = 8  # most columns whose importance is not folded
MOST_FEATURES = 15  # most rows of a table of parameters
MOST_CLASSES = 9  # most columns of a table of parameters


def explanation(findings: Findings) -> page.Section:
    """Return the section that explains the chosen model."""
    effect_charts = effects(findings)
    # with many classes, each class has a small plot, for which the open part has no room
    n_open_effects = 0 if len(findings.class_names) > MOST_LINES else MOST_OPEN_EFFECTS
    if not all(isinstance(block, page.Plot) for block in effect_charts[:n_open_effects]):
        n_open_effects = 1  # there is no room for a chart and a table side by side
    blocks = [*importance(findings), *effect_charts[:n_open_effects]]
    more_columns = importance_of_more_columns(findings)
    details = [*more_columns, *effect_charts[n_open_effects:]]
    folded = ["importance of more columns"] if more_columns else []
    if effect_charts[n_open_effects:]:
        folded.append("effects of columns")
    charts = RowCharts.of(findings)
    if charts.features is not None:
        details.append(charts.features)
        folded.append("rows plotted over two columns")
    model_blocks = chosen_model(findings)
    blocks.append(model_blocks[0])  # a description of the model
    details.extend(model_blocks[1:])
    if any(isinstance(block, page.Code) for block in model_blocks[1:]):
        folded.append("the tree")
    if any(isinstance(block, page.Equation) for block in details):
        folded.append("equations")
    if any(isinstance(block, page.DataTable) for block in model_blocks[1:]):
        folded.append(_name_of_parameters(findings))
    return page.Section(
        key="why",
        title="Why: how it decides",
        blocks=tuple(blocks),
        details=tuple(details),
        more=f"More: {listed(folded)}" if folded else "",
    )


def _name_of_parameters(findings: Findings) -> str:
    if hasattr(findings.estimator, "choices_"):
        return "what is averaged"
    return "coefficients" if _is_explained_by_coefficients(findings) else "parameters"


def first_picture(findings: Findings) -> page.Plot | None:
    """Return the first picture of the page: held-out rows, with outlines of misclassified rows."""
    if findings.sample.source is None and findings.sample.table.n_features == 1:
        return _posterior_over_only_feature(findings)
    return RowCharts.of(findings).discriminant


# ---- which columns it needs


@dataclass(frozen=True, slots=True)
class _Loss:
    name: str
    axis: str
    style: str  # a key of suffice.core.text.numbers.STYLES
    unit: str


LOSSES = {
    "error": _Loss("error", "percentage points of error", "points", " percentage points"),
    "log_loss": _Loss("log-loss", "units of log-loss", "loss", ""),
}


def importance(findings: Findings) -> list[page.Block]:
    """Return blocks that show which columns the chosen model needs."""
    if findings.fast and not findings.importance:
        left_out = (
            "This page is a first look: it leaves out importance, effects, the learning curve and "
            "simulations."
        )
        return [page.Paragraph(left_out, "note")]
    n_columns = len(findings.sample.columns)
    if n_columns > MOST_SHUFFLED:
        too_many = (
            f"Permutation importance is not measured in tables with more than {MOST_SHUFFLED} "
            f"columns. This table has {n_columns:,}."
        )
        sizes = {"most": MOST_SHUFFLED, "n_columns": n_columns}
        return [page.Paragraph(too_many, "note", sizes)]
    if not findings.importance:
        return []
    most = findings.importance[0]
    loss = LOSSES[most.loss]
    rise = cell(most.mean, loss.style).removeprefix("+") + loss.unit
    needed = [column.feature for column in findings.importance if column.low > 0]
    if not needed:
        low = cell(most.low, loss.style)
        high = cell(most.high, loss.style)
        by_chance = (
            f"No single column is shown to be needed: shuffling {most.feature} raises the "
            f"{loss.name} most, by {rise} (95 % interval {low} to {high}), which may be chance."
        )
        figures = {"rise": most.mean, "low": most.low, "high": most.high}
        return [page.Paragraph(by_chance, "lead", figures)]
    lead = (
        f"{findings.name[:1].upper()}{findings.name[1:]} relies most on "
        f"{listed(needed[:MOST_NAMES])}: shuffling {most.feature} raises the {loss.name} by {rise}."
    )
    caption = f"Permutation importance: rise of the {loss.name} when a column is shuffled"
    chart = _importance_chart(findings, caption, MOST_OPEN_IMPORTANCES)
    return [page.Paragraph(lead, "lead"), chart]


def importance_of_more_columns(findings: Findings) -> list[page.Block]:
    """Return a chart of more columns, if ``importance`` returns only the first columns."""
    is_drawn = any(column.low > 0 for column in findings.importance)
    if not is_drawn or len(findings.importance) <= MOST_OPEN_IMPORTANCES:
        return []
    loss = LOSSES[findings.importance[0].loss]
    caption = f"Rise of the {loss.name} when a column is shuffled, with more columns"
    return [_importance_chart(findings, caption, len(findings.importance))]


def _importance_chart(findings: Findings, caption: str, n_columns: int) -> page.Intervals:
    """Return a chart of the importance of the first columns, with intervals."""
    loss = LOSSES[findings.importance[0].loss]
    items = [
        page.Interval(column.feature, column.mean, low=column.low, high=column.high)
        for column in findings.importance[:n_columns]
    ]
    return page.Intervals(
        caption=caption,
        axis=loss.axis,
        style=loss.style,
        items=tuple(items),
        note=_importance_note(findings, len(items)),
    )


def _importance_note(findings: Findings, n_shown: int) -> str:
    n_rows = findings.importance[0].n_rows
    rows = "held-out rows"
    if n_rows < len(findings.held_out.rows):
        rows = f"a sample of {n_rows:,} held-out rows"
    sentences = [
        f"Measured on {rows}, with 95 % intervals.",
        "Interpret strongly correlated columns together: one can replace another, and shuffling "
        "one creates rows that do not occur in reality.",
    ]
    if findings.importance[0].loss == "log_loss":
        sentences.insert(
            0, "The chart shows the log-loss, because the error hardly changes here."
        )
    n_columns = len(findings.sample.columns)
    if n_shown < n_columns:
        sentences.append(f"Shown are the {n_shown} largest of {n_columns} columns.")
    return " ".join(sentences)


# ---- how posteriors change with a column


def effects(findings: Findings) -> list[page.Block]:
    """Return blocks that show how posteriors change with the most important columns."""
    has_one_feature = findings.sample.source is None and findings.sample.table.n_features == 1
    if has_one_feature:
        return []  # the first picture shows the posterior itself
    if findings.has_many_classes or findings.held_out.logs is None:
        return []
    return _effects_of_columns(findings)


def _posterior_over_only_feature(findings: Findings) -> page.Plot | None:
    """Return a plot of the posterior over the only feature; two classes have rows at 0 and 1."""
    x = findings.sample.table.x[:, 0]
    name = findings.sample.names[0]
    grid = np.linspace(x.min(), x.max(), 121)
    rows = pl.DataFrame({name: grid})
    logs = log_posteriors(findings.estimator, rows, findings.sample.table.classes)
    if logs is None:
        return None
    dots = None
    if len(findings.class_names) == 2:
        step = int(np.ceil(len(x) / MOST_ROWS))
        shown = np.arange(0, len(x), step)
        is_positive = findings.held_out.truth[shown] == findings.positive
        dots = page.Series(
            name="rows",
            shape="dots",
            x=x[shown],
            y=is_positive.astype(float),
            look=1,
            tips=tuple(findings.tip(row) for row in shown.tolist()),
            rows=tuple(findings.id(row) for row in shown.tolist()),
        )
    caption = (
        f"Posterior against {name}, the only feature. The model was fitted to "
        f"{findings.learnt_from}."
    )
    curves = _Curves(0, name, grid, np.exp(logs))
    y_name = "posterior, %"
    if len(findings.class_names) == 2:
        y_name = f"posterior of class {findings.class_names[findings.positive]}, %"
    y = page.Axis(y_name, 0.0, 1.0, percent=True)
    return _curves_plot(findings, curves, caption, y, "percent", dots=dots)


@dataclass(frozen=True, slots=True, eq=False)
class _Curves:
    """Curves of posteriors, or of effects on posteriors, over one column, one for each class."""

    column: int
    name: str
    x: Floats  # (b,)
    values: Floats  # (b, K)


def _effects_of_columns(findings: Findings) -> list[page.Block]:
    positions = {profile.name: j for j, profile in enumerate(findings.sample.profiles)}
    needed = [column.feature for column in findings.importance if column.low > 0]
    effects: list[_Curves] = []
    tables: list[page.Block] = []
    notes: list[page.Block] = []
    for name in needed[:MOST_EFFECTS]:
        profile = findings.sample.profiles[positions[name]]
        if profile.kind == "category" or profile.distinct < FEWEST_VALUES:
            tables.append(posterior_by_level(findings, profile))
            continue
        effect = _effect_of_column(findings, positions[name])
        if effect is None:
            continue
        # posteriors change by at most 1, so larger effects are artefacts of accumulation
        if float(np.ptp(effect.values, axis=0).max()) > 1:
            notes.append(page.Paragraph(_no_effect_alone(name), "note"))
        else:
            effects.append(effect)
    shown = [_shown_classes(findings, effect) for effect in effects]
    extremes = [0.0]
    for effect, classes in zip(effects, shown, strict=True):
        extremes.append(float(effect.values[:, classes].min()))
        extremes.append(float(effect.values[:, classes].max()))
    margin = 0.05 * (max(extremes) - min(extremes))
    y = page.Axis(
        "effect on the posterior, points",
        min(extremes) - margin,
        max(extremes) + margin,
        percent=True,
    )
    plots: list[page.Block] = []
    for effect in effects:
        caption = _effect_caption(findings, effect.name)
        plot = _curves_plot(findings, effect, caption, y, "points")
        if len(findings.class_names) > MOST_LINES:
            plots.append(_one_class_each(plot))
        else:
            plots.append(plot)
    return [*plots, *tables, *notes]


def _one_class_each(plot: page.Plot) -> page.Multiples:
    """Return a small plot for each line of a plot, with common axes."""
    plots = []
    for series in plot.series:
        one = page.Plot(
            key=f"{plot.key}-{series.look}",
            caption=series.name,
            x=plot.x,
            y=plot.y,
            series=(replace(series, look=0, name=""),),
        )
        plots.append(one)
    return page.Multiples(plot.caption, tuple(plots))


def _no_effect_alone(name: str) -> str:
    return (
        f"The effect of {name} is not shown: other columns are so closely related to it that it "
        "never changes alone."
    )


def _effect_of_column(findings: Findings, j: int) -> _Curves | None:
    profile = findings.sample.profiles[j]
    # equal steps through the rows sorted by class give a sample with all classes
    by_class = np.argsort(findings.sample.table.codes, kind="stable")
    observed = by_class[~profile.empty[by_class]]
    step = max(1, int(np.ceil(len(observed) / MOST_ROWS)))
    some = findings.sample.take(observed[::step])
    model = ExplainedModel(findings.estimator, some.named_rows, some.table.classes)
    curve = local_effects(model, j, some.profiles[j].values.astype(float))
    if curve is None:
        return None
    edges, values = curve
    return _Curves(j, profile.name, edges, values)


def _effect_caption(findings: Findings, name: str) -> str:
    n_classes = len(findings.class_names)
    if n_classes == 2:
        return (
            f"Change of the posterior of class {findings.class_names[findings.positive]} with "
            f"{name}, in percentage points from the average of this posterior, while the other "
            "columns stay unchanged (accumulated local effects)."
        )
    caption = (
        f"Change of each posterior with {name}, in percentage points from the average of this "
        "posterior, while the other columns stay unchanged (accumulated local effects)."
    )
    if n_classes > MOST_MULTIPLES:
        return f"{caption} Shown are the {MOST_MULTIPLES} of {n_classes} classes that change most."
    return caption


def _shown_classes(findings: Findings, curves: _Curves) -> list[int]:
    """Return the classes to draw: the positive one of two, or those whose curves vary most."""
    if len(findings.class_names) == 2:
        return [findings.positive]
    movement = np.ptp(curves.values, axis=0)
    most = np.argsort(-movement, kind="stable")[:MOST_MULTIPLES]
    return sorted(most.tolist())


def _curves_plot(
    findings: Findings,
    curves: _Curves,
    caption: str,
    y: page.Axis,
    style: str,
    dots: page.Series | None = None,
) -> page.Plot:
    """Return the curves of some classes over a column; ``style`` formats their values."""
    has_two_classes = len(findings.class_names) == 2
    series = [] if dots is None else [dots]
    are_dates = curves.name in findings.sample.dates
    as_text = date_text if are_dates else number
    for k in _shown_classes(findings, curves):
        tips = [
            f"{curves.name} {as_text(at)}: {findings.class_names[k]} {cell(float(value), style)}"
            for at, value in zip(curves.x, curves.values[:, k], strict=True)
        ]
        line = page.Series(
            name=findings.class_names[k],
            shape="line",
            x=curves.x,
            y=curves.values[:, k],
            look=0 if has_two_classes else k,
            tips=tuple(tips),
        )
        series.append(line)
    margin = 0.02 * float(np.ptp(curves.x) or 1.0)
    low = float(curves.x.min()) - margin
    high = float(curves.x.max()) + margin
    return page.Plot(
        key=f"effect-{curves.column}",
        caption=caption,
        x=page.Axis(curves.name, low, high, dates=are_dates),
        y=y,
        series=tuple(series),
    )


def posterior_by_level(findings: Findings, column: Profile) -> page.DataTable:
    """Return a table of the average posterior per level; for two classes, with observed shares."""
    code_of_empty = len(column.levels) if column.levels else np.nan
    values = np.where(column.empty, code_of_empty, column.values)
    levels, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(findings.class_names) == 2:
        k = findings.positive
        posterior = findings.held_out.posteriors[:, k]
        averaged = np.column_stack([posterior, findings.held_out.truth == k])
        averaged_names: tuple[str, ...] = (
            f"posterior of class {findings.class_names[k]}",
            "observed",
        )
    else:
        averaged = findings.held_out.posteriors
        averaged_names = findings.class_names
    level_names = (*column.levels, "empty")
    as_text = date_text if column.kind == "date" else number
    most_frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    body = []
    for i in np.sort(most_frequent):
        name = level_names[int(levels[i])] if column.levels else as_text(levels[i])
        body.append((name, int(counts[i]), *averaged[codes == i].mean(0).tolist()))
    note = (
        "Averages over held-out rows. Rows with different values here may also differ in other "
        "columns."
    )
    n_more = len(levels) - len(body)
    if n_more:
        note += f" {counted(n_more, 'more level')} not shown."
    return page.DataTable(
        caption=f"Posterior by {column.name}",
        columns=(column.name, "rows", *averaged_names),
        styles=("text", "count", *["percent"] * len(averaged_names)),
        rows=tuple(body),
        note=note,
    )


# ---- the chosen model


def chosen_model(findings: Findings) -> list[page.Block]:
    """Return blocks on the chosen model: a description, an equation, and parameters."""
    if hasattr(findings.estimator, "choices_"):
        return _averaged_model(findings)
    if findings.gaussian is None:
        return _model_without_densities(findings)
    model = findings.gaussian
    blocks: list[page.Block] = [
        page.Paragraph(model_in_words(findings)),
        page.Equation(
            "Score of class k for a row x; the largest score decides", _score(model)
        ),
    ]
    if model.moments_.power is None:
        is_linear = model.model_.density.shared_covariance is not None
        most = MOST_LINEAR_FEATURES if is_linear else MOST_QUADRATIC_FEATURES
        if model.model_.density.n_features <= most:
            blocks.extend(_boundaries(model, is_linear=is_linear))
    blocks.extend(_parameters(findings))
    return blocks


def _model_without_densities(findings: Findings) -> list[page.Block]:
    fitted = findings.estimator
    sentences = []
    n_parameters = findings.outcome.n_parameters
    if np.isnan(n_parameters):
        sentences.append(f"{findings.name} stores the training rows instead of parameters.")
    else:
        sentences.append(f"{findings.name} has {n_parameters:,.0f} parameters.")
    if hasattr(core(fitted), "coef_"):
        sentences.append("Its scores are linear in the features.")
    if not findings.outcome.is_readable:
        sentences.append("It cannot be written as a short equation.")
    blocks: list[page.Block] = [page.Paragraph(" ".join(sentences))]
    coefficients = _coefficients(findings)
    if coefficients is not None:
        blocks.append(coefficients)
    rules = _rules_of_tree(findings)
    if rules is not None:
        blocks.append(rules)
    has_boundary = hasattr(fitted, "boundary") and findings.held_out.logs is not None
    if has_boundary and fitted.coef_.shape[1] <= MOST_LINEAR_FEATURES:
        blocks.extend(_boundaries(fitted, is_linear=True))
    return blocks


def _rules_of_tree(findings: Findings) -> page.Code | None:
    """Return the first levels of a single decision tree as text; None for any other model."""
    tree: Any = core(findings.estimator)
    if type(tree).__name__ != "DecisionTreeClassifier":
        return None
    from sklearn.tree import export_text

    names = _features_of_coefficients(findings, tree).names
    if len(names) != tree.n_features_in_:
        return None
    rules = export_text(
        tree,
        feature_names=list(names),
        class_names=list(findings.class_names),
        max_depth=MOST_LEVELS_OF_TREE - 1,
        decimals=4,
    )
    caption = "The tree"
    if tree.get_depth() > MOST_LEVELS_OF_TREE:
        caption = f"The tree: the first {MOST_LEVELS_OF_TREE} of {tree.get_depth()} levels"
    return page.Code(caption, "text", rules.rstrip())


def _is_explained_by_coefficients(findings: Findings) -> bool:
    """Whether the model is linear without a density, so that coefficients explain it best."""
    return findings.gaussian is None and hasattr(core(findings.estimator), "coef_")


def _coefficients(findings: Findings) -> page.DataTable | None:
    """Return a table of the coefficients of a linear model without densities.

    Features are sorted by their largest coefficient times their standard deviation.
    """
    fitted = findings.estimator
    model: Any = core(fitted)  # the last step of a pipeline
    if not _is_explained_by_coefficients(findings):
        return None
    weights = np.atleast_2d(model.coef_)
    features = _features_of_coefficients(findings, model)
    if len(features.names) != weights.shape[1]:
        return None
    order = np.argsort(-np.abs(weights).max(0) * features.scales, kind="stable")
    shown = order[:MOST_COEFFICIENTS]
    feature = "scaled feature" if features.are_scaled else "feature"
    caption = (
        f"Coefficients: change of the score of each class when a {feature} rises by one unit"
    )
    score_names = _score_names(findings.class_names, len(weights))[:MOST_CLASSES]
    n_scores = len(score_names)
    intercept = ("intercept", *np.ravel(model.intercept_)[:n_scores].tolist())
    body = [(features.names[j], *weights[:n_scores, j].tolist()) for j in shown]
    notes = [
        "Features are sorted by how much a rise of one standard deviation changes a score."
    ]
    n_more_features = len(order) - len(shown)
    n_more_classes = len(weights) - n_scores
    if n_more_features:
        notes.append(f"{counted(n_more_features, 'more feature')} not shown.")
    if n_more_classes:
        notes.append(f"{counted(n_more_classes, 'more class')} not shown.")
    return page.DataTable(
        caption=caption,
        columns=("", *score_names),
        styles=("text", *["short"] * n_scores),
        rows=(intercept, *body),
        note=" ".join(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _LinearFeatures:
    """The features that the coefficients of a linear model multiply."""

    names: tuple[str, ...]  # (d,)
    scales: Floats  # standard deviations over the evaluated rows; 1 if unknown  (d,)
    are_scaled: bool = False  # whether an earlier step of the pipeline changes units


def _features_of_coefficients(findings: Findings, model: Any) -> _LinearFeatures:
    fitted = findings.estimator
    if fitted is not model:
        steps_before = fitted[:-1]
        names = findings.data.names
        if hasattr(steps_before[0], "get_feature_names_out"):
            names = tuple(map(str, steps_before.get_feature_names_out()))
        rows = np.asarray(steps_before.transform(findings.sample.named_rows), np.float64)
        are_scaled = any(hasattr(step, "scale_") for _, step in steps_before.steps)
        return _LinearFeatures(names, rows.std(0), are_scaled)
    names = findings.data.names
    if getattr(model, "encoding_", None) is not None:
        names = tuple(map(str, model.encoding_.feature_names))
    if names == findings.data.names:
        return _LinearFeatures(names, findings.sample.table.x.std(0))
    return _LinearFeatures(names, np.ones(len(names)))


def _score_names(classes: tuple[str, ...], n_scores: int) -> tuple[str, ...]:
    if n_scores > 1:
        return classes
    return (f"{classes[1]} against {classes[0]}",)


def model_in_words(findings: Findings) -> str:
    """Return a sentence that describes the Gaussian model by its fitted covariances."""
    model = findings.gaussian
    density = model.model_.density
    sentences = [f"{findings.name} fits one Gaussian to each class."]
    is_tied = density.shared_covariance is not None
    is_transformed = model.moments_.power is not None
    if is_tied and is_transformed:
        sentences.append(
            "All classes share one covariance, so boundaries are linear in transformed features."
        )
    elif is_tied:
        sentences.append("All classes share one covariance, so boundaries are linear.")
    elif is_transformed:
        sentences.append(
            "Each class has its own covariance, so boundaries are quadratic in transformed "
            "features."
        )
    else:
        sentences.append("Each class has its own covariance, so boundaries are quadratic.")
    if _is_diagonal(density.covariance_matrices):
        sentences.append("Features are independent within a class.")
    sentences.append(f"It has {count(findings.outcome.n_parameters)} free parameters.")
    regularisation = _regularisation(model)
    if regularisation:
        sentences.append(f"Regularisation: {', '.join(regularisation)}.")
    return " ".join(sentences)


def _is_diagonal(covariances: Floats) -> bool:
    """Whether covariances (d, d) or (K, d, d) are diagonal, with at least two features."""
    n_features = covariances.shape[-1]
    off_diagonal = covariances * (1 - np.eye(n_features))
    return n_features > 1 and not np.any(off_diagonal)


def _regularisation(model: GaussianEstimator) -> list[str]:
    """Return phrases on the settings that regularise a Gaussian classifier."""
    settings = model.settings_
    words = []
    if isinstance(settings.pooling, (int, float)):
        words.append(f"pooling λ = {number(settings.pooling, 3)}")
    if isinstance(settings.intensity, str):
        words.append(f"shrinkage by {settings.intensity.upper()}")
    elif settings.shrinkage is not None:
        words.append(f"shrinkage γ = {number(settings.intensity, 3)}")
    if not isinstance(settings.temperature, str) and settings.temperature != 1:
        words.append(f"temperature T = {number(settings.temperature, 3)}")
    return words


def _averaged_model(findings: Findings) -> list[page.Block]:
    averaged = [choice for choice in findings.estimator.choices_ if choice.weight > 0]
    averaged.sort(key=lambda choice: -choice.weight)
    classifiers = counted(len(averaged), "classifier")
    n_parameters = findings.outcome.n_parameters
    if np.isnan(n_parameters):
        lead = (
            f"{findings.name} averages the posteriors of {classifiers}. It cannot be written as a "
            "short equation."
        )
    else:
        lead = (
            f"{findings.name} averages the posteriors of {classifiers}, which have "
            f"{n_parameters:,.0f} free parameters in total. It cannot be written as a short "
            "equation."
        )
    scope = (
        "Classes and posteriors on this page come from the average; densities, samples and "
        "outliers come from its best single Gaussian classifier."
    )
    shown = averaged[:MOST_AVERAGED]
    rest = averaged[MOST_AVERAGED:]
    note = ""
    if rest:
        share = percent(sum(choice.weight for choice in rest))
        note = f"{counted(len(rest), 'more setting')} with {share} in total not shown."
    body = [
        (float(choice.weight), float(choice.log_loss), choice.describe()) for choice in shown
    ]
    table = page.DataTable(
        caption="What is averaged",
        columns=("share", "log-loss", "setting"),
        styles=("percent", "loss", "text"),
        rows=tuple(body),
        note=note,
    )
    return [page.Paragraph(f"{lead} {scope}"), table]


def _score(model: GaussianEstimator) -> tuple[str, ...]:
    """Return lines with the score and the posterior of a Gaussian classifier, and the symbols."""
    density = model.model_.density
    is_transformed = model.moments_.power is not None
    z = "z" if is_transformed else "x"
    if density.shared_covariance is not None:
        score = f"aₖ(x) = wₖᵀ{z} + wₖ₀,   wₖ = Σ⁻¹μₖ,   wₖ₀ = −½ μₖᵀΣ⁻¹μₖ + log πₖ"
    else:
        score = f"aₖ(x) = −½ ({z} − μₖ)ᵀ Σₖ⁻¹ ({z} − μₖ) − ½ log|Σₖ| + log πₖ"
    posterior = "p(k | x) = softmaxₖ(a(x))"
    if density.temperature != 1:
        posterior = f"p(k | x) = softmaxₖ(a(x) / {number(density.temperature, 3)})"
    letters = "with mean μ, covariance Σ and prior π"
    if is_transformed:
        letters = (
            "with mean μ, covariance Σ and prior π of z, and z the features after Yeo–Johnson's "
            "power transform"
        )
    return score, posterior, letters


def _boundaries(model: Any, *, is_linear: bool) -> list[page.Block]:
    """Return the boundary between each pair of classes, unless there are many pairs.

    Positive values favour the later class, as in the table of coefficients.
    """
    classes = model.classes_.tolist()
    pairs = list(combinations(classes, 2))
    if len(pairs) > MOST_PAIRS:
        return []
    lines = []
    for second, first in pairs:
        boundary = model.boundary(first, second)
        lines.append(f"{first} | {second}:   {boundary.equation(digits=4)}")
        if len(pairs) == 1 and is_linear and len(boundary.w) == 1:
            threshold = number(-boundary.w_0 / boundary.w[0])
            lines.append(f"that is, {boundary.feature_names[0]} = {threshold}")
    caption = (
        "Where two classes are equally probable; if the left side is positive, the first is more "
        "probable"
    )
    return [page.Equation(caption, tuple(lines))]


def _parameters(findings: Findings) -> list[page.Block]:
    """Return priors, and the means or coefficients of the most important features."""
    if len(findings.class_names) > MOST_CLASSES:
        return []
    model = findings.gaussian
    n_features = findings.data.table.n_features
    n_shown = min(n_features, MOST_FEATURES)
    if model.model_.density.shared_covariance is None:
        ranked = np.argsort(-separation(model.moments_), kind="stable")
        note = (
            f"The table shows {n_shown} of {n_features:,} features, sorted by how well they "
            "separate the classes."
        )
        return [_means_table(findings, ranked[:n_shown], note)]
    scale = np.sqrt(model.moments_.total_variances)
    weights = standardised_coefficients(model.coef_, scale)
    ranked = np.argsort(-np.abs(weights).max(0), kind="stable")
    note = (
        f"The table shows {n_shown} of {n_features:,} features, sorted by how much they change a "
        "score."
    )
    return [
        _means_table(findings, ranked[:n_shown], note),
        _weights_table(findings, weights, ranked[:n_shown]),
    ]


def _means_table(findings: Findings, order: Codes, note_on_order: str) -> page.DataTable:
    model = findings.gaussian
    means = model.means_ if model.moments_.power is None else findings.moments.means
    columns = {profile.name for profile in findings.data.profiles}
    body = [("prior", *model.priors_.tolist())]
    for j in order:
        feature = findings.data.names[j]
        # a feature that is not a column is the indicator of a level, whose mean is a share
        name = f"mean of {feature}" if feature in columns else f"share of {feature}"
        body.append((name, *means[:, j].tolist()))
    is_complete = len(order) == findings.data.table.n_features
    return page.DataTable(
        caption="Priors and class means",
        columns=("", *findings.class_names),
        styles=("text", *["short"] * len(findings.class_names)),
        rows=tuple(body),
        note="" if is_complete else note_on_order,
    )


def _weights_table(findings: Findings, weights: Floats, order: Codes) -> page.DataTable:
    feature = "feature" if findings.gaussian.moments_.power is None else "transformed feature"
    caption = (
        f"Change of the score of each class when a {feature} rises by one standard deviation of "
        "all rows"
    )
    score_names = _score_names(findings.class_names, len(weights))
    body = [(findings.data.names[j], *weights[:, j].tolist()) for j in order]
    return page.DataTable(
        caption=caption,
        columns=("feature", *score_names),
        styles=("text", *["short"] * len(score_names)),
        rows=tuple(body),
        note=(
            "Features are sorted by the largest change. With three or more classes, each value is "
            "the difference from the mean over the classes."
        ),
    )
