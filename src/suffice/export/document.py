"""A fitted classifier as a JSON document: all that a program in any language needs to score rows.

``docs/model.schema.json`` says what stands where; ``docs/export.md`` how scores are computed.
"""

import json
from dataclasses import fields
from typing import Any

from suffice.decision import classifier_of
from suffice.export.marginal import integrates, own_members
from suffice.model import views
from suffice.model.averaged import AveragedModel, TemperedModel, Trees
from suffice.model.class_model import MarginalModel
from suffice.model.linear import LinearModel
from suffice.model.scoring import Formula, LinearScores, Scaled, ScorePart, Whitened
from suffice.text.tables import jsonable

FORMAT = 2
_PARAMETERS = ("priors_", "means_", "covariance_", "coef_", "intercept_")


def document_of(estimator: Any) -> dict[str, Any]:
    """Return the classes, the scores, the decision and the settings of a fitted classifier."""
    classifier = classifier_of(estimator)
    model, decision = classifier.model, classifier.decision
    document = {
        "suffice": "classifier",
        "format": FORMAT,
        "model": type(estimator).__name__,
        "settings": estimator.get_params(),
        "classes": classifier.classes,
        "n_features": classifier.n_features,
        "feature_names": classifier.feature_names,
        "has_posterior": classifier.has_posterior,
        "encoding": classifier.encoding and classifier.encoding.to_json(),
        "integrates": integrates(classifier),
        "formula": None if isinstance(model, AveragedModel) else _formula(model),
        "average": _average(model) if isinstance(model, AveragedModel) else None,
        "decision": {name: getattr(decision, name) for name in ("actions", "costs", "reject")},
    }
    # the same in the words of statistics, where a model has them
    known = {name: getattr(estimator, name, None) for name in _PARAMETERS}
    return document | {n.removesuffix("_"): v for n, v in known.items() if v is not None}


def document_text(document: dict[str, Any]) -> str:
    """Return a document as JSON; numbers that are not finite are null."""
    return json.dumps(jsonable(document), indent=1, ensure_ascii=False, allow_nan=False)


def _formula(model: Any) -> dict[str, Any]:
    formula: Formula = model.formula
    tail, shared = formula.tail, formula.shared
    names = ("constants", "powers", "shares")
    return {
        "power": None if formula.power is None else formula.power.arrays(),
        "origin": formula.scorer.origin,
        "parts": [_part(part) for part in formula.scorer.parts],
        "tail": None if tail is None else {name: getattr(tail, name) for name in names},
        "precision": None if shared is None else shared.dense_precision(),
        "levels": formula.levels,
        "class_of": formula.class_of,
        "log_priors": None if isinstance(model, LinearModel) else model.log_priors,
        "prior_if_empty": isinstance(model.allowing_missing(), MarginalModel),
        "temperature": model.temperature,
    }


def _part(part: ScorePart) -> dict[str, Any]:
    names = ("classes", "constants", "weights", "means", "scale", "whitening")
    known = {name: getattr(part, name) for name in names if hasattr(part, name)}
    kinds = {LinearScores: "linear", Scaled: "scaled", Whitened: "whitened"}
    return {"kind": kinds[type(part)], **known}


def _average(model: AveragedModel) -> dict[str, Any]:
    return {
        "features": model.features,
        "doubt": model.doubt,
        "frequencies": model.frequencies,
        "shares": [
            {
                "weight": share.weight,
                "view": view_document(share.view),
                "integrates": share.integrates,
                **_member(share.model),
            }
            for share in own_members(model)
        ],
        "best": _formula(model.best),
    }


def _member(model: Any) -> dict[str, Any]:
    if not isinstance(model, TemperedModel):
        return {"formula": _formula(model)}
    tempered = {"doubt": model.doubt, "temperature": model.temperature}
    if not isinstance(model.inner, Trees):
        return {"formula": _formula(model.inner), "tempered": tempered}
    trees = {field.name: getattr(model.inner, field.name) for field in fields(Trees)}
    return {"formula": None, "trees": trees, "tempered": tempered}


def view_document(view: views.View) -> dict[str, Any]:
    """Return how a view maps rows, as plain values and arrays."""
    if isinstance(view, views.Softened):  # its noise is in the formula
        return view_document(view.below)
    if isinstance(view, views.PowerTransformed):
        return {"kind": "power", "power": view.transform.arrays()}
    names = (field.name for field in fields(view) if field.name not in ("width", "kernel"))
    parts = {name: getattr(view, name) for name in names}
    if "below" in parts:
        parts["below"] = view_document(parts["below"])
    return {"kind": _VIEWS[type(view)], **parts}


_VIEWS: dict[type, str] = {
    views.Plain: "plain",
    views.FourierFeatures: "fourier",
    views.PiecewiseLinear: "piecewise",
}
