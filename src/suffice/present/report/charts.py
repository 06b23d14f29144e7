"""Charts as numbers: thresholds, calibration, rows in a plane, features by class, distances."""

from typing import Any

import numpy as np
from scipy.special import chdtri

from suffice.core.moments import Moments
from suffice.core.text.numbers import number, percent
from suffice.estimators.gaussian import LDA
from suffice.evaluate.curves.reliability import reliability
from suffice.evaluate.curves.thresholds import cost_curve
from suffice.present.report import blocks as page
from suffice.present.report.choosing import Findings
from suffice.present.report.documented import DocumentedTable
from suffice.typing import Codes, Floats

MOST_POINTS, MOST_STEPS, MOST_BARS = 800, 200, 24
FEWEST_VALUES = 8  # different ones of a feature that rows are drawn over
FARTHEST = 100.0  # standard deviations within classes, beyond which no distance says more


def posteriors(f: Findings) -> tuple[page.Block, ...]:
    """Return what thresholds on held-out posteriors find, and whether they are calibrated."""
    if f.held_out.logs is None:
        return ()
    return (*((_thresholds(f),) if len(f.names) == 2 else ()), *_calibration(f))


def _thresholds(f: Findings) -> page.Thresholds:
    rows, k = f.held_out, f.positive
    curve = cost_curve(rows, rows.classes[k])
    total, n = float(rows.weights.sum()), float(rows.weights[rows.truth == k].sum())
    useful = f.verdict.threshold
    first = 0.5 if useful is None else useful.value  # that of the answer, if it names one
    half = min(int(np.searchsorted(curve.thresholds, first)), len(curve.thresholds) - 1)
    kept = np.unique([*_thinned(len(curve.thresholds)), half])
    hits, alarms = n - total * curve.misses[kept], total * curve.false_alarms[kept]
    # a threshold finds the same up to the next posterior of a row: that asked for is shown
    asked = np.where(kept == half, min(curve.thresholds[half], first), curve.thresholds[kept])
    at, found, called = (tuple(a.tolist()) for a in (asked, hits.round(9), alarms.round(9)))
    size, start = (n, total - n, f.outcome.auc), int(np.searchsorted(kept, half))
    return page.Thresholds(f.names[k], *size, at, found, called, start, f.counted)


def _calibration(f: Findings) -> tuple[page.Plot, ...]:
    """Return observed against stated frequency in bins of equally many rows, with a 95 % band."""
    rows, k, two = f.held_out, f.positive, len(f.names) == 2
    p = rows.posteriors[:, k] if two else rows.posteriors.max(1)
    happened, bins = rows.truth == k if two else rows.right, int(np.clip(len(p) // 25, 3, 10))
    found = reliability(happened, p.clip(max=1), rows.weight, bins=bins, equal_counts=True)
    if len(found.stated) < 2:
        return ()
    high = min(1.0, 1.05 * float(max(found.stated.max(), found.high.max())))
    low = max(0.0, float(min(found.stated.min(), found.low.min())) - 0.03)
    low = 0.0 if two and low < high / 3 else low
    points = zip(found.stated, found.observed, found.weights, strict=True)
    of = {"rows": "of {} rows"}.get(f.counted, "of rows that weigh {}")
    tips = (
        f"stated {percent(s)}, observed {percent(o)} {of.format(number(w))}"
        for s, o, w in points
    )
    what = f"rows are {f.names[k]}" if two else "the most probable class is right"
    caption = (
        f"Calibration: how often {what}, against the posterior stated, in bins of equally many "
        "held-out rows with 95 % intervals; on the dashed line both agree."
    )
    names = ("stated probability, %", "observed frequency, %")
    across, up = (page.Axis(name, low, high, percent=True) for name in names)
    series = (
        page.Series("", "guide", (low, high), (low, high), -1),
        page.Series("", "band", found.stated, found.low, upper=found.high),
        page.Series("", "line", found.stated, found.observed),
        page.Series("", "dots", found.stated, found.observed, tips=tuple(tips)),
    )
    return (page.Plot("calibration", caption, across, up, series),)


def _thinned(n: int) -> Codes:
    """Return at most some hundred places out of n, the ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST_STEPS)).round().astype(np.intp))


def plane(f: Findings) -> tuple[page.Block, ...]:
    """Return rows in discriminant coordinates learnt from other rows, and over two features."""
    table = f.sample.table
    if table.n_features < 2:
        return ()
    order = np.argsort(table.codes, kind="stable")
    drawn = order[1::2]  # every second row of each class; of rare classes as many as there are
    sizes = np.bincount(table.codes[drawn], minlength=table.n_classes)
    every = np.maximum(1, -(-sizes // max(1, MOST_POINTS // table.n_classes)))
    place = np.arange(len(drawn)) - (np.cumsum(sizes) - sizes)[table.codes[drawn]]
    drawn = drawn[place % every[table.codes[drawn]] == 0]
    graded = [j for j in f.ranked_features if len(np.unique(table.x[:, j])) >= FEWEST_VALUES][
        :2
    ]
    x, names = table.x[drawn][:, graded], tuple(f.sample.names[j] for j in graded)
    said = (
        "Held-out predictions of some rows over the two numbers that separate the classes most"
    )
    two = len(graded) == 2 and not f.many
    found = [_scatter(f, "features", said, names, x, drawn)] if two else []
    try:
        learnt = LDA(shrinkage="oas").fit_moments(Moments.of_table(table.take(order[::2])))
        z = learnt.transform(table.x[drawn])
    except (ValueError, np.linalg.LinAlgError):
        return tuple(found)
    if np.abs(z).max() > FARTHEST or z.shape[1] + len(graded) < 2:
        return tuple(found)
    coordinates = ("discriminant coordinate 1", "discriminant coordinate 2")
    if z.shape[1] == 1:
        z, coordinates = np.c_[z, x[:, 0]], (coordinates[0], names[0])
    said = "Held-out rows; the discriminant was learnt from the other half of the rows"
    return (_scatter(f, "discriminant", said, coordinates, z[:, :2], drawn), *found)


def _scatter(
    f: Findings,
    key: str,
    said: str,
    names: tuple[str, ...],
    xy: Floats,
    at: Codes,
) -> page.Plot:
    """Return rows as dots by class; of many classes pale, with the name at each one's middle."""
    series, truth = [], f.held_out.truth[at]
    for k, name in enumerate(f.names):
        own = np.flatnonzero(truth == k)
        wrong = tuple(np.flatnonzero(f.held_out.predicted[at[own]] != k).tolist())
        tips, ids = (tuple(map(verb, at[own])) for verb in (f.tip, f.id))
        (x, y), (label, look) = xy[own].T, ("", -1) if f.many else (name, k)
        series.append(page.Series(label, "dots", x, y, look, tips, ids, wrong))
    if f.many:
        said += "; names at the middle of classes, where there is room"
        known = [k for k in range(len(f.names)) if (truth == k).any()]
        means = np.array([xy[truth == k].mean(0) for k in known])
        free = _apart(means / np.ptp(xy, axis=0), [f.names[k] for k in known])
        middles = means[free, 0], means[free, 1], 0, tuple(f.names[known[i]] for i in free)
        series.append(page.Series("", "labels", *middles))
    across, up = map(_around, names, xy.T)
    said += "; outlined rows were misclassified. Select a row to see it everywhere."
    return page.Plot(key, said, across, up, tuple(series))


def _apart(places: Floats, names: list[str]) -> Codes:
    """Return the names whose letters cover no name before them, outermost first."""
    free: list[int] = []
    for i in np.argsort(-np.square(places - places.mean(0)).sum(1)).tolist():
        # a drawing has room for about 46 letters and 15 lines
        room = [((len(names[i]) + len(names[j]) + 2) / 2 / 46, 1 / 15) for j in free]
        if all(
            (np.abs(places[i] - places[j]) > r).any() for j, r in zip(free, room, strict=True)
        ):
            free.append(i)
    return np.array(free)


def _around(name: str, values: Floats) -> page.Axis:
    low, high = float(values.min()), float(values.max())
    room = 0.04 * (high - low or 1.0)
    return page.Axis(name, low - room, high + room)


def distributions(f: Findings) -> tuple[page.Block, ...]:
    """Return histograms of each class over the best features; of two values, shares of one."""
    found: list[page.Block] = []
    for j in () if f.many else f.ranked_features[:2]:
        x, codes, name = f.sample.table.x[:, j], f.sample.table.codes, f.sample.names[j]
        if len(np.unique(x)) <= 2:
            what = name if "=" in name else f"{name} = {number(x.max())}"
            have = [x[codes == k] == x.max() for k in range(len(f.names))]
            told = [(float(h.mean()), f"{h.sum():,} of {len(h):,}") for h in have]
            items = tuple(
                page.Interval(n, *each) for n, each in zip(f.names, told, strict=True)
            )
            caption = f"How many rows of each class have {what}"
            found.append(
                page.Intervals(caption, "of the rows of that class", "percent", items)
            )
            continue
        of_class = [x[codes == k] for k in range(len(f.names))]
        edges, beyond = _bars(of_class)
        heights = [np.histogram(own.clip(edges[0], edges[-1]), edges)[0] for own in of_class]
        shares = [h / max(h.sum(), 1) for h in heights]
        lines = tuple(
            page.Series(label, "line", np.repeat(edges, 2)[1:-1], np.repeat(share, 2), k)
            for k, (label, share) in enumerate(zip(f.names, shares, strict=True))
        )
        said = f"Each class over {name}: the share of its own rows in each bar{beyond}."
        top = page.Axis(
            "rows of the class, %", 0.0, 1.05 * float(np.max(shares)), percent=True
        )
        found.append(page.Plot(f"feature-{j}", said, _around(name, edges), top, lines))
    return tuple(found)


def _bars(classes: list[Floats]) -> tuple[Floats, str]:
    """Return edges of bars, which split no whole number, and what to say of rows beyond."""
    each = np.array([np.quantile(x, (0, 0.02, 0.98, 1)) for x in classes if len(x)])
    (least, low), (high, most) = each[:, :2].min(0), each[:, 2:].max(0)
    room = (high - low) or np.inf  # a few rows far from the others would empty the picture
    start, end = max(least, low - room), min(most, high + room)
    x = np.concatenate(classes)
    step, bars = np.diff(np.unique(x)).min(), np.clip(np.sqrt(len(x)), 6, MOST_BARS) // 1
    width = step * np.ceil((end - start) / step / bars)
    edges = start - step / 2 + width * np.arange(np.ceil((end - start + step) / width) + 1)
    return edges, "; the outermost hold all rows beyond" if end - start < most - least else ""


def distances(model: Any, x: Floats, sample: DocumentedTable) -> page.Plot:
    """Return distances of rows, as Gaussians see them, from their class mean against theirs."""
    codes, series, ends = sample.table.codes, [], [np.inf, 0.0]
    gaussian = getattr(model.model_.model, "inner", model.model_.model)  # of transformed rows
    for k, name in enumerate(sample.class_names):
        z = gaussian.covariance_of(k).whiten(
            x[codes == k] - gaussian.means[k]
        )  # D = |L⁻¹(x − μ)|
        observed = np.sort(np.linalg.norm(z, axis=1))
        expected = np.sqrt(
            chdtri(x.shape[1], 1 - (np.arange(len(z)) + 0.5) / len(z))
        )  # upper tail
        at, both = _thinned(len(z)), (*expected, *observed)
        ends = [min(ends[0], *both), max(ends[1], *both)]
        series.append(page.Series(name, "dots", expected[at], observed[at], k))
    caption = (
        "Distance of rows from the mean of their class, against that of Gaussian rows; above the "
        "dashed line tails are heavier. In sample: the model was fitted to these rows."
    )
    low, high = ends[0] if ends[0] > ends[1] / 2 else 0.0, 1.02 * ends[1]
    guide = page.Series("", "guide", (low, high), (low, high), -1)
    axes = page.Axis("expected distance", low, high), page.Axis("distance", low, high)
    return page.Plot("distances", caption, *axes, (guide, *series))


def class_distances(f: Findings, order: Codes) -> tuple[page.Matrix, ...]:
    """Return how far the means of many classes lie apart, in the order given."""
    try:
        means = LDA(shrinkage="oas").fit_moments(f.moments).transform(f.moments.means[order])
    except (ValueError, np.linalg.LinAlgError):
        return ()
    apart = np.sqrt(np.square(means[:, None] - means[None]).sum(2))
    cells = tuple(map(tuple, np.minimum(apart, FARTHEST).tolist()))
    caption = "Distance between classes, in standard deviations within classes (Mahalanobis)"
    note = "The stronger the colour, the nearer."
    note += f" Blank: {FARTHEST:.0f} or farther." if apart.max() > FARTHEST else ""
    return (
        page.Matrix(caption, tuple(f.names[k] for k in order), cells, note, distances=True),
    )
