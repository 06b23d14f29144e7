"""The chosen model: its equation, priors, boundaries and the space it sees the data in."""

from typing import Any

import numpy as np

from suffice.comparison.models import core
from suffice.curves.importance import separation, standardised_coefficients
from suffice.reporting.blocks import Block, CellStyle, DataTable, Equation, Paragraph
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.text.lists import plural
from suffice.text.numbers import count, number
from suffice.typing import Floats

MOST_PAIRS = 3  # of classes whose boundary is written out
MOST_LINEAR, MOST_QUADRATIC = 6, 2  # features of a boundary that is written out
MOST_FEATURES, MOST_CLASSES = 15, 9  # of a table of parameters


def chosen(data: DocumentedTable, judgement: Judgement) -> tuple[Block, ...]:
    """Return what the chosen model is."""
    model = judgement.explained
    if model is None:
        return (Paragraph(_without_densities(judgement)), *_linear(data, judgement))
    return (
        *_averaged(judgement),
        Paragraph(in_words(judgement)),
        Equation("The score of class k at a row x; the largest wins", _score(model)),
        *_boundaries(model),
        *_parameters(data, model),
    )


def _without_densities(judgement: Judgement) -> str:
    size = judgement.outcome.n_parameters
    kept = "It keeps rows instead of parameters" if np.isnan(size) else f"{size:,.0f} parameters"
    linear = hasattr(core(judgement.estimator), "coef_")
    return f"{judgement.name}: {'scores linear in the features; ' * linear}{kept}."


def _linear(data: DocumentedTable, judgement: Judgement) -> tuple[DataTable, ...]:
    """Return the coefficients of linear scores."""
    fitted, model = judgement.estimator, core(judgement.estimator)
    weights = np.atleast_2d(getattr(model, "coef_", np.zeros((0, 0))))
    encoding, names = getattr(model, "encoding_", None), data.names
    if encoding is not None:
        names = encoding.feature_names
    elif fitted is not model and hasattr(fitted[0], "get_feature_names_out"):
        names = fitted[:-1].get_feature_names_out()
    if len(names) != weights.shape[1] or len(names) > MOST_FEATURES or len(weights) > MOST_CLASSES:
        return ()
    columns = _scored(data.class_names, len(weights))
    body = [("intercept", *np.ravel(model.intercept_).tolist())]
    body += [(str(n), *w.tolist()) for n, w in zip(names, weights.T, strict=True)]
    caption = "Coefficients: change of a class's score for one unit of a feature"
    return (DataTable(caption, ("", *columns), _styles(len(columns)), tuple(body)),)


def _scored(names: tuple[str, ...], n_scores: int) -> tuple[str, ...]:
    return names if n_scores > 1 else (f"{names[1]} against {names[0]}",)


def in_words(judgement: Judgement) -> str:
    """Return what kind of model was chosen, by its fitted covariances."""
    model = judgement.explained
    gaussian = model.model_
    tied = gaussian.shared_covariance is not None
    sigma = np.atleast_3d(gaussian.covariance_matrices.T).T
    diagonal = sigma.shape[-1] > 1 and not np.any(sigma * (1 - np.eye(sigma.shape[-1])))
    alone = "features independent within a class, " * diagonal
    shape = "one covariance shared by all classes" if tied else "a covariance for each class"
    bent = "linear" if tied else "quadratic"
    of = "" if model.moments_.power is None else " of transformed features"
    averaged = hasattr(judgement.estimator, "choices_")
    size = gaussian.n_parameters if averaged else judgement.outcome.n_parameters
    return (
        f"{'The best single one' if averaged else judgement.name}: one Gaussian for each class, "
        f"{alone}{shape}; "
        f"boundaries are {bent}{of}. "
        f"{count(size)} free parameters{_regularisation(model)}."
    )


def _averaged(judgement: Judgement) -> tuple[Block, ...]:
    found = getattr(judgement.estimator, "choices_", None)
    if found is None:
        return ()
    settings = sorted((c for c in found if c.weight > 0), key=lambda c: -c.weight)
    body = tuple((float(c.weight), float(c.log_loss), c.describe()) for c in settings)
    said = (
        f"{judgement.name} averages the posteriors of {plural(len(body), 'classifier')}, with "
        f"{judgement.outcome.n_parameters:,.0f} free parameters together; errors and posteriors on "
        "this page are of the average. It has no short equation: those below, and all densities "
        "and outliers, are of its best single Gaussian in the features themselves."
    )
    head: tuple[str, ...] = ("share", "log-loss", "setting")
    return Paragraph(said), DataTable("What is averaged", head, ("percent", "loss", "text"), body)


def _regularisation(model: Any) -> str:
    said = []
    for name, what in (("pooling", "λ"), ("shrinkage", "γ"), ("temperature", "T")):
        value = model.get_params()[name]
        if isinstance(value, (int, float)) and not (name == "temperature" and value == 1):
            said.append(f"{name} {what} = {number(value, 3)}")
        elif isinstance(value, str):
            said.append(f"{name} by {value.upper()}")
    return f"; {', '.join(said)}" if said else ""


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
    names = data.class_names
    if len(names) > MOST_CLASSES:
        return ()
    weights, importance = _importance(model)
    order = np.argsort(-importance, kind="stable")[:MOST_FEATURES]
    means = [(f"mean of {data.names[j]}", *model.means_[:, j].tolist()) for j in order]
    of = "" if model.moments_.power is None else " (of transformed features)"
    n = data.table.n_features
    few = f"{len(order)} of {n:,} features, the most important first." if n > len(order) else ""
    body = (("prior", *model.priors_.tolist()), *means)
    head = ("", *names)
    tables = [DataTable(f"Priors and class means{of}", head, _styles(len(names)), body, few)]
    if weights is not None:
        columns = _scored(names, len(weights))
        body = tuple((data.names[j], *weights[:, j].tolist()) for j in order)
        caption = (
            f"Change of a class's score for one standard deviation (all rows) of a feature{of}"
        )
        note = "Largest first; of several classes, against the mean of all."
        head = ("feature", *columns)
        tables.append(DataTable(caption, head, _styles(len(columns)), body, note))
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
