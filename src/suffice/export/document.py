"""A fitted classifier as JSON, by docs/model.schema.json; docs/export.md says how to score rows."""

import json
from dataclasses import fields
from typing import Any

from suffice.core.decision import classifier_of
from suffice.core.model import views
from suffice.core.model.averaged import AveragedModel, TemperedModel
from suffice.core.model.class_model import MarginalModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.scoring import Formula, LinearScores, Scaled, ScorePart, Whitened
from suffice.core.model.trees import Trees
from suffice.core.text.tables import json_value
from suffice.export.marginal import integrates, own_members

FORMAT = 2
_KINDS = {
    "Plain": "plain",
    "KernelFeatures": "kernel",
    "PiecewiseLinear": "piecewise",
}
_PARAMETERS = ("priors_", "means_", "covariance_", "coef_", "intercept_")


def document_of(estimator: Any) -> dict[str, Any]:
    """Return the classes, the scores, the decision and the settings of a fitted classifier."""
    classifier = classifier_of(estimator)
    model = classifier.model
    document = {
        "suffice": "classifier",
        "format": FORMAT,
        "model": type(estimator).__name__,
        "settings": estimator.get_params(),
        "classes": classifier.classes,
        **_named(classifier, "n_features", "feature_names", "has_posterior"),
        "encoding": classifier.encoding and classifier.encoding.to_json(),
        "integrates": integrates(classifier),
        "formula": None if isinstance(model, AveragedModel) else _formula(model),
        "average": _average(model) if isinstance(model, AveragedModel) else None,
        "decision": _named(classifier.decision, "actions", "costs", "reject"),
    }
    # the same in the words of statistics, where a model has them
    known = {name: getattr(estimator, name, None) for name in _PARAMETERS}
    return document | {n.removesuffix("_"): v for n, v in known.items() if v is not None}


def document_text(document: dict[str, Any]) -> str:
    """Return a document as JSON; numbers that are not finite are null."""
    return json.dumps(json_value(document), indent=1, ensure_ascii=False, allow_nan=False)


def _formula(model: Any) -> dict[str, Any]:
    formula: Formula = model.formula
    tail, shared = formula.tail, formula.shared
    return {
        "power": None if formula.power is None else formula.power.arrays(),
        "origin": formula.scorer.origin,
        "parts": [_part(part) for part in formula.scorer.parts],
        "tail": None if tail is None else _named(tail, "constants", "powers", "shares"),
        "precision": None if shared is None else shared.dense_precision(),
        **_named(formula, "levels", "class_of"),
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
    shares = [
        {
            **_named(s, "weight", "integrates"),
            "view": view_document(s.view),
            **_member(s.model),
        }
        for s in own_members(model)
    ]
    known = _named(model, "features", "doubt", "frequencies")
    return {**known, "shares": shares, "best": _formula(model.best)}


def _named(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _member(model: Any) -> dict[str, Any]:
    if not isinstance(model, TemperedModel):
        return {"formula": _formula(model)}
    tempered = _named(model, "doubt", "temperature")
    if not isinstance(model.inner, Trees):
        return {"formula": _formula(model.inner), "tempered": tempered}
    trees = _named(model.inner, *(field.name for field in fields(Trees)))
    return {"formula": None, "trees": trees, "tempered": tempered}


def view_document(view: views.View) -> dict[str, Any]:
    """Return how a view maps rows, as plain values and arrays."""
    if isinstance(view, views.Softened):  # its noise is in the formula
        return view_document(view.below)
    if isinstance(view, views.PowerTransformed):
        return {"kind": "power", "power": view.transform.arrays()}
    if isinstance(view, views.KernelFeatures):
        parts = _named(view, "below", "centre", "scale", "landmarks", "kernel", "length")
    else:
        names = (field.name for field in fields(view) if field.name not in ("width", "kernel"))
        parts = _named(view, *names)
    if "below" in parts:
        parts["below"] = view_document(parts["below"])
    return {"kind": _KINDS[type(view).__name__], **parts}
