"""The chosen model: its equation, priors, boundaries and the space it sees the data in."""

from typing import Any

import numpy as np

from suffice.comparison.models import core
from suffice.curves.importance import separation, standardised_coefficients
from suffice.reporting.blocks import (
    Block,
    CellStyle,
    DataTable,
    Equation,
    Fact,
    Facts,
    Paragraph,
    Section,
)
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.text.lists import plural
from suffice.text.numbers import number
from suffice.typing import Floats

MOST_PAIRS = 3  # of classes whose boundary is written out
MOST_LINEAR, MOST_QUADRATIC = 6, 2  # features of a boundary that is written out
MOST_FEATURES, MOST_CLASSES = 15, 10  # of a table of parameters


def chosen(data: DocumentedTable, judgement: Judgement, figures: tuple[Block, ...]) -> Section:
    """Return the section of the chosen model."""
    model = judgement.explained
    if model is None:
        return Section(
            "model", "The chosen model", (Paragraph(_without_densities(judgement)), *figures)
        )
    blocks: list[Block] = [
        Paragraph(in_words(judgement), "lead"),
        *_averaged(judgement),
        _facts(judgement),
        Equation("The score of class k at a row x; the largest wins", _score(model)),
        *_boundaries(model),
        *_parameters(data, model),
        *_transforms(data, model),
    ]
    return Section("model", "The chosen model", (*blocks, *figures))


def _without_densities(judgement: Judgement) -> str:
    size = judgement.outcome.n_parameters
    kept = "keeps rows instead of parameters" if np.isnan(size) else f"{size:,.0f} parameters"
    shape = "its scores are linear in the features" * hasattr(core(judgement.estimator), "coef_")
    return f"{judgement.name} has no class densities; {', '.join(filter(None, [shape, kept]))}."


def in_words(judgement: Judgement) -> str:
    """Return what kind of model was chosen, by its fitted covariances."""
    model = judgement.explained
    gaussian = model.model_
    tied = gaussian.shared_covariance is not None
    alone = "features independent within a class, " * _is_diagonal(gaussian)
    shape = "one covariance shared by all classes" if tied else "a covariance for each class"
    bent = "linear" if tied else "quadratic"
    of = "" if model.moments_.power is None else " of transformed features"
    return (
        f"{judgement.name}: one Gaussian for each class, {alone}{shape}; "
        f"boundaries are {bent}{of}. "
        f"{plural(gaussian.n_parameters, 'free parameter')}{_regularisation(model)}."
    )


def _is_diagonal(gaussian: Any) -> bool:
    sigma = np.atleast_3d(gaussian.covariance_matrices.T).T
    return sigma.shape[-1] > 1 and not np.any(sigma * (1 - np.eye(sigma.shape[-1])))


def _averaged(judgement: Judgement) -> tuple[Paragraph, ...]:
    choices = getattr(judgement.estimator, "choices_", None)
    if choices is None:
        return ()
    shares = sum(c.weight > 0 for c in choices)
    return (
        Paragraph(
            f"{judgement.name} averages the posteriors of {plural(shares, 'setting')}, with "
            f"{judgement.outcome.n_parameters:,.0f} free parameters together. All that "
            "follows in this section, and densities, samples and outliers everywhere, are of the "
            "best single one of them; errors and posteriors are of the average.",
            "note",
        ),
    )


def _regularisation(model: Any) -> str:
    said = []
    for name, what in (("pooling", "λ"), ("shrinkage", "γ"), ("temperature", "T")):
        value = model.get_params()[name]
        if isinstance(value, (int, float)) and not (name == "temperature" and value == 1):
            said.append(f"{name} {what} = {number(value, 3)}")
        elif isinstance(value, str):
            said.append(f"{name} by {value.upper()}")
    return f"; {', '.join(said)}" if said else ""


def _facts(judgement: Judgement) -> Facts:
    gaussian = judgement.explained.model_
    return Facts(
        (
            Fact("free parameters", f"{judgement.outcome.n_parameters:,.0f}"),
            Fact("temperature", number(gaussian.temperature, 3), "1 is Bayes' rule"),
            Fact("error it expects", judgement.expected_error, "were the model true", "percent"),
        )
    )


def _score(model: Any) -> tuple[str, ...]:
    gaussian = model.model_
    z = "x" if model.moments_.power is None else "z"
    power = () if z == "x" else ("zⱼ = cⱼ + sⱼ ψ((xⱼ − cⱼ) / sⱼ; λⱼ),   ψ the Yeo–Johnson power",)
    t = gaussian.temperature
    posterior = f"p(k | x) = softmaxₖ(a(x){'' if t == 1 else f' / {number(t, 3)}'})"
    if gaussian.shared_covariance is not None:
        return (
            *power,
            f"aₖ(x) = wₖᵀ{z} + wₖ₀,   wₖ = Σ⁻¹μₖ,   wₖ₀ = −½ μₖᵀΣ⁻¹μₖ + log πₖ",
            posterior,
        )
    return (*power, f"aₖ(x) = −½ ({z} − μₖ)ᵀ Σₖ⁻¹ ({z} − μₖ) − ½ log|Σₖ| + log πₖ", posterior)


def _boundaries(model: Any) -> tuple[Block, ...]:
    """Return the boundaries that are short enough to be written out."""
    gaussian = model.model_
    classes = model.classes_.tolist()
    tied = gaussian.shared_covariance is not None
    d = gaussian.n_features
    if len(classes) > MOST_PAIRS or d > (MOST_LINEAR if tied else MOST_QUADRATIC):
        return ()
    coordinates = "rows" if model.moments_.power is None else "transformed"
    found = model.boundaries(coordinates=coordinates)
    lines = tuple(f"{a} | {b}:   {edge.equation(digits=4)}" for (a, b), edge in found.items())
    if d == 1 and tied and len(classes) == 2 and coordinates == "rows":
        edge = -float(model.intercept_[0] / model.coef_[0, 0])
        lines = (*lines, f"that is, {model.moments_.feature_names[0]} = {number(edge)}")
    of = "" if coordinates == "rows" else ", in transformed features"
    return (
        Equation(
            f"Where two classes are equally probable; above zero favours the first{of}", lines
        ),
    )


def _parameters(data: DocumentedTable, model: Any) -> tuple[Block, ...]:
    """Return priors, and means or coefficients of the features that matter most."""
    shown = slice(MOST_CLASSES)
    names = data.class_names[shown]
    priors = ("prior", *(float(p) for p in model.priors_[shown]))
    weights, importance = _importance(model)
    order = np.argsort(-importance, kind="stable")[:MOST_FEATURES]
    means = [(f"mean of {data.names[j]}", *model.means_[shown, j].tolist()) for j in order]
    of = "" if model.moments_.power is None else " (of transformed features)"
    tables = [
        DataTable(
            f"Priors and class means{of}",
            ("", *names),
            _styles(len(names)),
            (priors, *means),
            note=_left_out(data, len(order)),
        )
    ]
    if weights is not None:
        columns = names if len(weights) > 1 else (f"{data.class_names[1]} against {names[0]}",)
        body = [(data.names[j], *weights[shown, j].tolist()) for j in order]
        tables.append(
            DataTable(
                f"Change of a class's score for one standard deviation (all rows) of a feature{of}",
                ("feature", *columns),
                _styles(len(columns)),
                tuple(body),
                note="Largest first; of several classes, against the mean of all.",
            )
        )
    return tuple(tables)


def _styles(n_numbers: int) -> tuple[CellStyle, ...]:
    numbers: list[CellStyle] = ["short"] * n_numbers
    return ("text", *numbers)


def _importance(model: Any) -> tuple[Floats | None, Floats]:
    """Return standardised coefficients, if scores are linear, and the weight of each feature."""
    moments = model.moments_
    if model.model_.shared_covariance is None:
        return None, separation(moments)
    weights = standardised_coefficients(model.coef_, np.sqrt(moments.total_variances))
    return weights, np.abs(weights).max(0)


def _transforms(data: DocumentedTable, model: Any) -> tuple[Block, ...]:
    power = model.moments_.power
    if power is None:
        return ()
    order = np.argsort(-np.abs(power.exponents - 1), kind="stable")[:MOST_FEATURES]
    body = tuple((data.names[j], float(power.exponents[j])) for j in order)
    return (
        DataTable(
            "Exponents of the power transform",
            ("feature", "λ"),
            ("text", "number"),
            body,
            note="1 leaves a feature as it is; less draws in a long right tail, more a left one.",
        ),
    )


def _left_out(data: DocumentedTable, shown: int) -> str:
    parts = []
    if data.table.n_features > shown:
        parts.append(
            f"{shown} of {plural(data.table.n_features, 'feature')}, the most important first"
        )
    if data.table.n_classes > MOST_CLASSES:
        parts.append(f"{MOST_CLASSES} of {plural(data.table.n_classes, 'class')}")
    return f"Shown: {'; '.join(parts)}." if parts else ""
