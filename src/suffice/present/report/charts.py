"""Compute the charts of a report: thresholds, calibration, rows, features, distances."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import chdtri

from suffice.core.moments import Moments
from suffice.core.text.dates import date_text
from suffice.core.text.numbers import number, percent
from suffice.estimators.gaussian import LDA
from suffice.estimators.gaussian_estimator import GaussianEstimator
from suffice.evaluate.curves.reliability import Reliability, reliability
from suffice.evaluate.curves.thresholds import CostCurve, cost_curve
from suffice.present.report import blocks as page
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.findings import Findings
from suffice.typing import Codes, Floats

MOST_POINTS = 800  # most rows drawn in a plane
MOST_STEPS = 200  # most points of a curve
MOST_BARS = 24  # most bars of a histogram
FEWEST_BINS = 4  # least number of points of a calibration curve; fewer points show no shape
NEARLY = 0.9  # a column with a larger correlation with a coordinate shows nothing new
FEWEST_VALUES = 8  # a feature needs this many distinct values to be an axis
MOST_HISTOGRAMS = 24  # most columns with a histogram
MOST_LINES = 4  # most classes in one chart; with more classes, each has its own chart
MOST_MULTIPLES = 12  # most classes that have their own charts
FARTHEST = 100.0  # largest distance shown, in standard deviations within classes


def threshold_chart(findings: Findings) -> page.Thresholds | None:
    """Return hits and false alarms for each threshold; None unless there are two classes."""
    if findings.held_out.logs is None or len(findings.class_names) != 2:
        return None
    return _thresholds(findings)


def _thresholds(findings: Findings) -> page.Thresholds:
    held_out = findings.held_out
    positive = findings.positive
    curve = cost_curve(held_out, held_out.classes[positive])
    n_rows = float(held_out.weights.sum())
    n_positive = float(held_out.weights[held_out.truth == positive].sum())
    recommended = findings.verdict.threshold
    shown_first = 0.5 if recommended is None else recommended.value
    last = len(curve.thresholds) - 1
    start = min(int(np.searchsorted(curve.thresholds, shown_first)), last)
    kept = np.unique([*_thinned(len(curve.thresholds)), *_least_cost_thresholds(curve), start])
    # All thresholds up to the next posterior find the same rows. The shortest number is shown.
    thresholds = np.array([curve.short_threshold(i) for i in kept.tolist()])
    place_of_start = int(np.searchsorted(kept, start))
    thresholds[place_of_start] = min(curve.thresholds[start], shown_first)
    hits = n_positive - n_rows * curve.misses[kept]
    false_alarms = n_rows * curve.false_alarms[kept]
    return page.Thresholds(
        positive=findings.class_names[positive],
        n_positive=n_positive,
        n_negative=n_rows - n_positive,
        auc=findings.outcome.auc,
        thresholds=tuple(thresholds.tolist()),
        hits=tuple(hits.round(9).tolist()),
        false_alarms=tuple(false_alarms.round(9).tolist()),
        start=place_of_start,
        counted=findings.counted,
    )


def _least_cost_thresholds(curve: CostCurve) -> Codes:
    """Return the thresholds that are optimal for some costs of a miss and a false alarm.

    These thresholds are the vertices of the lower left convex hull of (false alarms, misses).
    """
    hull: list[int] = []
    # from the last threshold (no false alarms) to the first (no misses)
    for i in range(len(curve.thresholds) - 1, -1, -1):
        while len(hull) > 1 and not _turns_left(curve, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    return np.array(hull, np.intp)


def _turns_left(curve: CostCurve, first: int, second: int, third: int) -> bool:
    """Whether three points (false alarms, misses) make a left turn."""
    alarms = curve.false_alarms
    misses = curve.misses
    # (b − a) × (c − b) > 0
    to_second = (alarms[second] - alarms[first], misses[second] - misses[first])
    to_third = (alarms[third] - alarms[second], misses[third] - misses[second])
    return bool(to_second[0] * to_third[1] - to_second[1] * to_third[0] > 0)


def calibration_chart(findings: Findings) -> page.Plot | None:
    """Return a plot of observed frequencies against posteriors, with a 95 % band."""
    held_out = findings.held_out
    if held_out.logs is None:
        return None
    if len(findings.class_names) == 2:
        positive = findings.positive
        stated = held_out.posteriors[:, positive]
        happened = held_out.truth == positive
        caption = (
            f"Calibration: observed frequency of class {findings.class_names[positive]} against "
            "its posterior, in bins with equally many held-out rows, with 95 % intervals. On the "
            "dashed line, both agree."
        )
    else:
        stated = held_out.posteriors.max(1)
        happened = held_out.right
        caption = (
            "Calibration: observed accuracy against the posterior of the most probable class, in "
            "bins with equally many held-out rows, with 95 % intervals. On the dashed line, both "
            "agree."
        )
    bins = reliability(
        happened,
        stated.clip(max=1),
        held_out.weight,
        bins=int(np.clip(len(stated) // 25, 3, 10)),
        equal_counts=True,
    )
    n_points = len(np.unique(bins.stated.round(2)))  # points closer than 0.01 look like one
    if n_points < FEWEST_BINS:
        return None
    high = min(1.0, 1.05 * float(max(bins.stated.max(), bins.high.max())))
    low = max(0.0, float(min(bins.stated.min(), bins.low.min())) - 0.03)
    if len(findings.class_names) == 2 and low < high / 3:
        low = 0.0
    tips = _calibration_tips(bins, weighted=findings.counted != "rows")
    return page.Plot(
        key="calibration",
        caption=caption,
        x=page.Axis("stated probability, %", low, high, percent=True),
        y=page.Axis("observed frequency, %", low, high, percent=True),
        series=(
            page.Series("", "guide", (low, high), (low, high), look=-1),
            page.Series("", "band", bins.stated, bins.low, upper=bins.high),
            page.Series("", "line", bins.stated, bins.observed),
            page.Series("", "dots", bins.stated, bins.observed, tips=tips),
        ),
    )


def _calibration_tips(bins: Reliability, *, weighted: bool) -> tuple[str, ...]:
    tips = []
    for stated, observed, weight in zip(bins.stated, bins.observed, bins.weights, strict=True):
        size = number(weight)
        rows = f"rows that weigh {size}" if weighted else f"{size} rows"
        tips.append(f"stated {percent(stated)}, observed {percent(observed)} of {rows}")
    return tuple(tips)


def _thinned(n: int) -> Codes:
    """Return at most ``MOST_STEPS`` of n positions, among them the first and the last."""
    positions = np.linspace(0, n - 1, min(n, MOST_STEPS))
    return np.unique(positions.round().astype(np.intp))


@dataclass(frozen=True, slots=True, eq=False)
class RowCharts:
    """Plots of held-out rows over discriminant coordinates and over the two best features."""

    discriminant: page.Plot | None
    features: page.Plot | None

    @classmethod
    def of(cls, findings: Findings) -> Self:
        """Return the plots that are possible for the table."""
        table = findings.sample.table
        if table.n_features < 2:
            return cls(None, None)
        drawn, others = _split_in_halves(table.codes, table.n_classes)
        axes = [
            j
            for j in findings.ranked_features
            if len(np.unique(table.x[:, j])) >= FEWEST_VALUES
        ]
        coordinates = _discriminant_coordinates(findings, drawn, others)
        return cls(
            discriminant=_over_discriminant(findings, coordinates, drawn, axes),
            features=_over_features(findings, drawn, axes[:2]),
        )


def _over_discriminant(
    findings: Findings,
    coordinates: Floats | None,
    drawn: Codes,
    axes: list[int],
) -> page.Plot | None:
    """Return a plot over two coordinates, or over a single one and the best other feature."""
    if coordinates is None:
        return None
    if coordinates.shape[1] > 1:
        return _discriminant_plot(
            findings,
            coordinates[:, :2],
            drawn,
            "discriminant coordinate 1",
            "discriminant coordinate 2",
        )
    if not axes:
        return None
    x = findings.sample.table.x[drawn]
    best = next((j for j in axes if not _is_nearly(x[:, j], coordinates[:, 0])), axes[0])
    xy = np.column_stack([coordinates, x[:, best]])
    name = findings.sample.names[best]
    return _discriminant_plot(findings, xy, drawn, "discriminant coordinate 1", name)


def _is_nearly(x: Floats, coordinate: Floats) -> bool:
    """Whether a feature and a coordinate are so correlated that rows lie close to a line."""
    spread = float(np.std(x) * np.std(coordinate))
    covariance = float(np.mean((x - np.mean(x)) * (coordinate - np.mean(coordinate))))
    return abs(covariance) > NEARLY * spread


def _over_features(findings: Findings, drawn: Codes, axes: list[int]) -> page.Plot | None:
    if len(axes) < 2 or findings.has_many_classes:
        return None
    x = findings.sample.table.x[drawn][:, axes]
    names = [findings.sample.names[j] for j in axes]
    caption = (
        "Held-out predictions of some rows over the two numeric columns that separate the classes "
        "most. Outlined rows were misclassified. Select a row to highlight it everywhere."
    )
    return page.Plot(
        key="features",
        caption=caption,
        x=_axis_of_feature(findings, names[0], x[:, 0]),
        y=_axis_of_feature(findings, names[1], x[:, 1]),
        series=_dots_by_class(findings, x, drawn),
    )


def _split_in_halves(codes: Codes, n_classes: int) -> tuple[Codes, Codes]:
    """Return the rows to draw and the rows to train on, alternate rows of each class.

    Of a large class, only some rows are drawn.
    """
    order = np.argsort(codes, kind="stable")
    half = order[1::2]
    class_of = codes[half]
    class_sizes = np.bincount(class_of, minlength=n_classes)
    most_of_a_class = max(1, MOST_POINTS // n_classes)
    step = np.maximum(1, np.ceil(class_sizes / most_of_a_class).astype(np.intp))
    first_of_class = np.cumsum(class_sizes) - class_sizes
    place_in_class = np.arange(len(half)) - first_of_class[class_of]
    drawn = half[place_in_class % step[class_of] == 0]
    return drawn, order[::2]


def _discriminant_coordinates(
    findings: Findings,
    drawn: Codes,
    others: Codes,
) -> Floats | None:
    """Return discriminant coordinates of the drawn rows, fitted to ``others``, if possible."""
    table = findings.sample.table
    try:
        discriminant = LDA(shrinkage="oas").fit_moments(Moments.of_table(table.take(others)))
        coordinates = np.asarray(discriminant.discriminants_.project(table.x[drawn]))
    except (ValueError, np.linalg.LinAlgError):
        return None
    if not coordinates.size or np.abs(coordinates).max() > FARTHEST:
        return None
    return coordinates


def _discriminant_plot(
    findings: Findings,
    xy: Floats,
    rows: Codes,
    x_name: str,
    y_name: str,
) -> page.Plot:
    """Return a plot of rows as dots; with many classes, names stand at the class means."""
    series = _dots_by_class(findings, xy, rows)
    if findings.has_many_classes:
        caption = (
            "Each dot is a held-out row, and outlined rows were misclassified. The dots are from "
            "one half of the rows; the discriminants were fitted to the other half. The name of a "
            "class stands at its mean, where there is space. Select a row to highlight it "
            "everywhere."
        )
        series = (*series, _class_labels(findings, xy, rows))
    else:
        caption = (
            "Each dot is a held-out row, and outlined rows were misclassified. The dots are from "
            "one half of the rows; the discriminants were fitted to the other half. Select a row "
            "to highlight it everywhere."
        )
    return page.Plot(
        key="discriminant",
        caption=caption,
        x=_axis_around(x_name, xy[:, 0]),
        y=_axis_of_feature(findings, y_name, xy[:, 1]),
        series=series,
    )


def _dots_by_class(findings: Findings, xy: Floats, rows: Codes) -> tuple[page.Series, ...]:
    series = []
    for k, name in enumerate(findings.class_names):
        of_class = np.flatnonzero(findings.held_out.truth[rows] == k)
        rows_of_class = rows[of_class]
        wrong = np.flatnonzero(findings.held_out.predicted[rows_of_class] != k)
        dots = page.Series(
            name="" if findings.has_many_classes else name,
            shape="dots",
            x=xy[of_class, 0],
            y=xy[of_class, 1],
            look=-1 if findings.has_many_classes else k,
            tips=tuple(findings.tip(row) for row in rows_of_class),
            rows=tuple(findings.id(row) for row in rows_of_class),
            marked=tuple(wrong.tolist()),
        )
        series.append(dots)
    return tuple(series)


def _class_labels(findings: Findings, xy: Floats, rows: Codes) -> page.Series:
    """Return names at the class means, without names that would overlap."""
    truth = findings.held_out.truth[rows]
    shown = np.unique(truth)
    names = [findings.class_names[k] for k in shown]
    means = np.array([xy[truth == k].mean(0) for k in shown])
    free = _without_overlap(means / np.ptp(xy, axis=0), names)
    return page.Series(
        name="",
        shape="labels",
        x=means[free, 0],
        y=means[free, 1],
        tips=tuple(names[i] for i in free),
    )


def _without_overlap(places: Floats, names: list[str]) -> Codes:
    """Return indices of names that do not overlap, preferring names far from the centre."""
    # a drawing has room for 15 lines of about 46 letters
    line_height = 1 / 15
    from_centre = np.square(places - places.mean(0)).sum(1)
    kept: list[int] = []
    for i in np.argsort(-from_centre).tolist():
        is_free = True
        for j in kept:
            letters = (len(names[i]) + len(names[j]) + 2) / 2
            across, up = np.abs(places[i] - places[j])
            if across <= letters / 46 and up <= line_height:
                is_free = False
        if is_free:
            kept.append(i)
    return np.array(kept)


def _axis_around(name: str, values: Floats) -> page.Axis:
    low = float(values.min())
    high = float(values.max())
    margin = 0.04 * (high - low or 1.0)
    return page.Axis(name, low - margin, high + margin)


def _axis_of_feature(findings: Findings, name: str, values: Floats) -> page.Axis:
    return replace(_axis_around(name, values), dates=name in findings.sample.dates)


def distributions(findings: Findings) -> list[page.Block]:
    """Return a plot for each numeric column: histograms by class, or shares of one value."""
    charts: list[page.Block] = []
    table = findings.sample.table
    for j in findings.ranked_features[:MOST_HISTOGRAMS].tolist():
        x = table.x[:, j]
        of_class = [x[table.codes == k] for k in range(len(findings.class_names))]
        n_values = len(np.unique(x))
        if n_values < 2:
            continue
        if n_values == 2:
            charts.append(_shares_of_larger_value(findings, j, of_class))
        elif len(findings.class_names) > MOST_LINES:
            charts.append(_small_histograms(findings, j, of_class))
        else:
            charts.append(_histograms(findings, j, of_class))
    return charts


def _small_histograms(findings: Findings, j: int, of_class: list[Floats]) -> page.Multiples:
    """Return a small histogram for each class, with common axes."""
    whole = _histograms(findings, j, of_class)
    plots = []
    for series in whole.series[:MOST_MULTIPLES]:
        one = page.Plot(
            key=f"{whole.key}-{series.look}",
            caption=series.name,
            x=whole.x,
            y=whole.y,
            series=(replace(series, look=0, name=""),),
        )
        plots.append(one)
    caption = whole.caption
    if len(whole.series) > MOST_MULTIPLES:
        caption = f"{whole.caption} The first {MOST_MULTIPLES} of {len(whole.series)} classes."
    return page.Multiples(caption, tuple(plots))


def _shares_of_larger_value(findings: Findings, j: int, of_class: list[Floats]) -> page.Block:
    name = findings.sample.names[j]
    larger = max(x.max() for x in of_class if len(x))
    # the name of the indicator of a level already contains "="
    text = date_text(larger) if name in findings.sample.dates else number(larger)
    value = name if "=" in name else f"{name} = {text}"
    items = []
    for class_name, x in zip(findings.class_names, of_class, strict=True):
        n_larger = int((x == larger).sum())
        remark = f"{n_larger:,} of {len(x):,}"
        items.append(page.Interval(class_name, float((x == larger).mean()), remark))
    return page.Intervals(
        caption=f"How many rows of each class have {value}",
        axis="of the rows of that class",
        style="percent",
        items=tuple(items),
    )


def _histograms(findings: Findings, j: int, of_class: list[Floats]) -> page.Plot:
    name = findings.sample.names[j]
    bars = _bars(of_class)
    edges = bars.edges
    lines = []
    highest = 0.0
    for k, x in enumerate(of_class):
        counts, _ = np.histogram(x.clip(edges[0], edges[-1]), edges)
        shares = counts / max(counts.sum(), 1)
        highest = max(highest, float(shares.max()))
        outline_x = np.repeat(edges, 2)[1:-1]
        outline_y = np.repeat(shares, 2)
        lines.append(
            page.Series(findings.class_names[k], "line", outline_x, outline_y, look=k)
        )
    caption = (
        f"Histogram of {name}: the height of a bar is the share of the rows of its class."
    )
    if bars.has_rows_beyond:
        caption = (
            f"Histogram of {name}: the height of a bar is the share of the rows of its class. The "
            "outermost bars also count all rows beyond them."
        )
    return page.Plot(
        key=f"feature-{j}",
        caption=caption,
        x=_axis_of_feature(findings, name, edges),
        y=page.Axis("rows of the class, %", 0.0, 1.05 * highest, percent=True),
        series=tuple(lines),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Bars:
    edges: Floats
    has_rows_beyond: bool  # whether the outermost bars include rows beyond the edges


def _bars(of_class: list[Floats]) -> _Bars:
    """Return the bars of histograms, whose edges leave a few distant rows outside."""
    quantiles = np.array([np.quantile(x, (0, 0.02, 0.98, 1)) for x in of_class if len(x)])
    smallest, low = quantiles[:, :2].min(0)
    high, largest = quantiles[:, 2:].max(0)
    # with a few distant rows inside, all other rows would fall into few bars
    margin = (high - low) or np.inf
    start = max(smallest, low - margin)
    end = min(largest, high + margin)
    x = np.concatenate(of_class)
    step = np.diff(np.unique(x)).min()
    n_bars = np.floor(np.clip(np.sqrt(len(x)), 6, MOST_BARS))
    width = step * np.ceil((end - start) / step / n_bars)
    n_edges = np.ceil((end - start + step) / width) + 1
    edges = start - step / 2 + width * np.arange(n_edges)
    return _Bars(edges, has_rows_beyond=bool(end - start < largest - smallest))


def distances(model: GaussianEstimator, x: Floats, sample: DocumentedTable) -> page.Plot:
    """Return a plot of distances from the class mean against those expected of Gaussian rows."""
    # the rows are already power-transformed, so the density of transformed rows is needed
    density: Any = getattr(model.model_.density, "inner", model.model_.density)
    dots = []
    low = np.inf
    high = 0.0
    for k, name in enumerate(sample.class_names):
        rows = x[sample.table.codes == k]
        # D = |L⁻¹(x − μ)|
        z = density.covariance_of(k).whiten(rows - density.means[k])
        observed = np.sort(np.linalg.norm(z, axis=1))
        expected = _expected_distances(len(z), x.shape[1])
        low = min([low, *expected, *observed])
        high = max([high, *expected, *observed])
        shown = _thinned(len(z))
        dots.append(page.Series(name, "dots", expected[shown], observed[shown], look=k))
    if low <= high / 2:
        low = 0.0
    high = 1.02 * high
    caption = (
        "Distance of each row from the mean of its class, against the distance expected of "
        "Gaussian rows. Where the dots lie above the dashed line, the class has more distant rows "
        "than a Gaussian. The model was fitted to these same rows."
    )
    guide = page.Series("", "guide", (low, high), (low, high), look=-1)
    return page.Plot(
        key="distances",
        caption=caption,
        x=page.Axis("expected distance", low, high),
        y=page.Axis("distance", low, high),
        series=(guide, *dots),
    )


def _expected_distances(n: int, n_features: int) -> Floats:
    """Return the expected distances of n Gaussian rows: quantiles of the χ distribution."""
    upper_tail = 1 - (np.arange(n) + 0.5) / n
    return np.asarray(np.sqrt(chdtri(n_features, upper_tail)))


def class_distances(findings: Findings, order: Codes) -> page.Matrix | None:
    """Return the distances between class means in the given order; None for few classes."""
    moments = findings.moments
    try:
        discriminant = LDA(shrinkage="oas").fit_moments(moments)
        means = discriminant.discriminants_.project(moments.means[order])
    except (ValueError, np.linalg.LinAlgError):
        return None
    distances = np.sqrt(np.square(means[:, None] - means[None]).sum(2))
    note = "A stronger colour means a smaller distance."
    if distances.max() > FARTHEST:
        note = f"{note} Distances of {FARTHEST:.0f} or more are blank."
    return page.Matrix(
        caption="Distance between classes, in standard deviations within classes (Mahalanobis)",
        classes=tuple(findings.class_names[k] for k in order),
        counts=tuple(map(tuple, np.minimum(distances, FARTHEST).tolist())),
        note=note,
        distances=True,
    )
