"""The section on how certain the answer of a report is."""

import numpy as np

from suffice.core.text.numbers import count, percent
from suffice.present.report import blocks as page
from suffice.present.report.assumptions import Assumptions
from suffice.present.report.charts import calibration_chart
from suffice.present.report.findings import Findings
from suffice.typing import Floats


def how_sure(findings: Findings, measured: str, reasons: tuple[str, ...]) -> page.Section:
    """Return the section on how certain the answer is."""
    assumptions = Assumptions.of(findings)
    blocks: list[page.Block] = [page.Paragraph(measured)]
    blocks.extend(page.Paragraph(reason) for reason in reasons)
    growth = _learning_curve(findings)
    if growth is not None:
        blocks.append(page.Paragraph(_would_more_rows_help(findings)))
    elif findings.why_no_curve:
        blocks.append(page.Paragraph(findings.why_no_curve))
    blocks.append(page.Paragraph(assumptions.in_words))
    plots = [calibration_chart(findings), growth]
    blocks.extend(plot for plot in plots if plot is not None)
    return page.Section(
        key="sure",
        title="How sure is that?",
        blocks=tuple(blocks),
        details=assumptions.details,
        more="Every test",
    )


def _would_more_rows_help(findings: Findings) -> str:
    growth = findings.growth
    if growth is None or findings.verdict.usable == "no":
        return (
            "Whether more rows would help cannot be said: the error is no lower than that of the "
            "constant classifier."
        )
    return growth.sentence


def _learning_curve(findings: Findings) -> page.Plot | None:
    """Return a plot of the error over the number of training rows; None if not computed."""
    growth = findings.growth
    if growth is None:
        return None
    sizes = growth.sizes.astype(float)
    observed = page.Series(
        name="observed",
        shape="line",
        x=sizes,
        y=100 * growth.error,
        tips=_error_tips(sizes, growth.error),
    )
    if findings.verdict.usable == "no":
        return page.Plot(
            key="growth",
            caption=(
                "Error on held-out rows against the number of training rows, after training on "
                f"part of the rows (mean of {growth.n_repeats} random splits)."
            ),
            x=page.Axis("training rows", float(sizes[0]), float(sizes[-1]), log=True),
            y=page.Axis("error, %", 0.0, min(100.0, 105 * float(growth.error.max()))),
            series=(observed,),
        )
    expected_sizes = np.array([forecast.n_rows for forecast in growth.forecast], float)
    expected_errors = np.array([forecast.error for forecast in growth.forecast])
    low = 100 * np.array([forecast.low for forecast in growth.forecast])
    high = 100 * np.array([forecast.high for forecast in growth.forecast])
    expected = page.Series(
        name="expected",
        shape="line",
        x=expected_sizes,
        y=100 * expected_errors,
        look=1,
        tips=_error_tips(expected_sizes, expected_errors),
    )
    interval = page.Series("", "band", expected_sizes, low, look=1, upper=high)
    highest = 100 * float(growth.error.max())
    highest = max(highest, float(high.max()))
    return page.Plot(
        key="growth",
        caption=(
            "Error on held-out rows against the number of training rows. Observed: after training "
            f"on part of the rows (mean of {growth.n_repeats} random splits). Expected: a "
            "forecast for all rows of the table and for larger tables, with a 95 % interval. The "
            "forecast starts from the held-out error of the whole table, not from the observed "
            "line, so the two lines may differ by chance."
        ),
        x=page.Axis("training rows", float(sizes[0]), float(expected_sizes[-1]), log=True),
        y=page.Axis("error, %", 0.0, min(100.0, 1.05 * highest)),
        series=(interval, observed, expected),
    )


def _error_tips(sizes: Floats, errors: Floats) -> tuple[str, ...]:
    pairs = zip(sizes, errors, strict=True)
    return tuple(f"{count(size)} rows: {percent(error)}" for size, error in pairs)
