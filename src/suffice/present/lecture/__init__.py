"""A lecture on the user's own table: LDA and logistic regression on one HTML page.

``page`` has the template. The package may import every package except ``suffice.cli``, the reports
and the lab.
"""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suffice.core.text.lists import default_names
from suffice.core.text.numbers import number, percent
from suffice.errors import InvalidInputError, SeparationWarning
from suffice.estimators.gaussian import LDA
from suffice.estimators.logistic import LogisticRegression
from suffice.evaluate.comparison import compare
from suffice.present.plots.posteriors import posterior_line
from suffice.typing import Labels, RowsLike

MOST_FEATURES = 12  # with more features, the covariance matrix is not shown
MOST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class LectureTable:
    """A table of formatted text."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Boundary:
    """The hyperplane between two classes, as formatted text."""

    first: str
    second: str
    equation: str
    length: str  # ‖w‖
    distance_of_origin: str  # −w_0 / ‖w‖


@dataclass(frozen=True, slots=True)
class Lecture:
    """The contents of the page."""

    title: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]
    parameters: LectureTable  # π_k and μ_k
    covariance: LectureTable | None  # Σ; None if it is large
    log_likelihood: str
    boundaries: tuple[Boundary, ...]
    n_boundaries: int
    coefficients: LectureTable  # w of LDA and of logistic regression
    generative_figure: str  # SVG, encoded in base64
    discriminative_figure: str
    fit_of_logistic: str  # a sentence on how the solver found the weights
    sides: LectureTable  # comparison of generative and discriminative models

    def html(self) -> str:
        """Return the page as HTML without external resources."""
        environment = Environment(
            autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        template = Path(__file__).parent / "page.html.j2"
        return environment.from_string(template.read_text(encoding="utf-8")).render(
            lecture=self
        )


def lecture(X: RowsLike, y: Labels, title: str, cv: int = 10) -> Lecture:
    """Return the lecture: LDA and logistic regression on the same numbers, compared.

    Errors and log-losses are measured on held-out rows in ``cv`` folds.
    """
    lda = LDA().fit(X, y)
    logistic = _logistic(X, y)
    n_classes = len(lda.classes_)
    if n_classes < 2:
        raise InvalidInputError(
            f"a lecture needs at least two classes, but all labels are {lda.classes_[0]!r}: choose "
            "another target column"
        )
    names = tuple(getattr(lda, "feature_names_in_", default_names(lda.n_features_in_)))
    return Lecture(
        title=title,
        n_rows=int(lda.moments_.counts.sum()),
        n_features=len(names),
        classes=tuple(str(label) for label in lda.classes_),
        parameters=_parameters(lda, names),
        covariance=_covariance(lda, names),
        log_likelihood=number(lda.log_likelihood(), 6),
        boundaries=_boundaries(lda),
        n_boundaries=n_classes * (n_classes - 1) // 2,
        coefficients=_coefficients(lda, logistic, names),
        generative_figure=_svg(posterior_line(lda, X, y)),
        discriminative_figure=_svg(posterior_line(logistic, X, y)),
        fit_of_logistic=_fit_of(logistic),
        sides=_sides(X, y, cv),
    )


def _logistic(X: RowsLike, y: Labels) -> LogisticRegression:
    """Return the maximum-likelihood fit, or a fit with penalty 1 if the classes are separable."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", SeparationWarning
        )  # the page itself reports separation
        return LogisticRegression(l2=0).fit(X, y)


def _fit_of(logistic: LogisticRegression) -> str:
    if logistic.l2_ == 0:
        return "by maximum likelihood"
    return (
        f"with penalty {number(logistic.l2_)}, because a hyperplane separates classes and the "
        "likelihood has no maximum"
    )


def _parameters(lda: LDA, names: tuple[str, ...]) -> LectureTable:
    shown = names[:MOST_FEATURES]
    head = ("class", "rows", "prior π", *shown)
    rows = []
    for k, label in enumerate(lda.classes_):
        means = [number(value) for value in lda.means_[k, : len(shown)]]
        rows.append((str(label), str(lda.moments_.counts[k]), number(lda.priors_[k]), *means))
    return LectureTable("Rows, prior π and mean μ of each class", head, tuple(rows))


def _covariance(lda: LDA, names: tuple[str, ...]) -> LectureTable | None:
    if len(names) > MOST_FEATURES:
        return None
    rows = []
    for name, values in zip(names, lda.covariance_, strict=True):
        rows.append((name, *(number(value) for value in values)))
    return LectureTable("Σ, the covariance that all classes share", ("", *names), tuple(rows))


def _boundaries(lda: LDA) -> tuple[Boundary, ...]:
    """Return the hyperplanes between classes; positive values favour the later class."""
    found = []
    for second, first in list(combinations(lda.classes_, 2))[:MOST_PAIRS]:
        plane = lda.boundary(first, second)
        found.append(
            Boundary(
                first=str(first),
                second=str(second),
                equation=plane.equation(),
                length=number(float(np.linalg.norm(plane.w))),  # type: ignore[union-attr]
                distance_of_origin=number(plane.distance_of_origin),
            )
        )
    return tuple(found)


def _coefficients(
    lda: LDA, logistic: LogisticRegression, names: tuple[str, ...]
) -> LectureTable:
    """Return w and w_0 of each class relative to the first class, for both models."""
    generative, generative_0 = lda.model_.linear_scores()
    conditional, conditional_0 = logistic.model_.linear_scores()
    first = lda.classes_[0]
    head = ["log odds of", "model", "w₀"]
    head += [f"w of {name}" for name in names[:MOST_FEATURES]]
    rows = []
    for k, label in enumerate(lda.classes_[1:], 1):
        pairs = (
            ("LDA", generative[k] - generative[0], generative_0[k] - generative_0[0]),
            ("logistic", conditional[k] - conditional[0], conditional_0[k] - conditional_0[0]),
        )
        for model, w, w_0 in pairs:
            values = [number(value) for value in w[:MOST_FEATURES]]
            rows.append((f"{label} against {first}", model, number(w_0), *values))
    caption = "Log odds of the form wᵀx + w₀, estimated in two ways"
    return LectureTable(caption, tuple(head), tuple(rows))


def _sides(X: RowsLike, y: Labels, cv: int) -> LectureTable:
    models = {"LDA": LDA(), "logistic regression": LogisticRegression()}
    frame = compare(X, y, models, cv).to_frame()
    generative = frame.loc["LDA"]
    discriminative = frame.loc["logistic regression"]
    rows = (
        ("models", "the joint density p(x, k)", "the posterior p(k∣x)"),
        ("assumes", "Gaussian classes with one covariance", "linear log odds"),
        (
            "learns by",
            "counts, means and scatters, in closed form",
            "steps of Newton's method",
        ),
        (
            "parameters",
            f"{generative['n_parameters']:.0f}",
            f"{discriminative['n_parameters']:.0f}",
        ),
        ("held-out error", percent(generative["error"]), percent(discriminative["error"])),
        (
            "held-out log-loss",
            number(generative["log_loss"]),
            number(discriminative["log_loss"]),
        ),
        (
            "also gives",
            "samples, outliers, predictions despite missing values",
            "none of these",
        ),
    )
    return LectureTable(
        f"Generative against discriminative, evaluated in {cv} folds; logistic regression has "
        "penalty 1",
        ("", "generative: LDA", "discriminative: logistic regression"),
        rows,
    )


def _svg(ax: Axes) -> str:
    """Return a figure as SVG, encoded in base64."""
    file = io.BytesIO()
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.savefig(file, format="svg")
    return base64.b64encode(file.getvalue()).decode()
