"""A fitted classifier as JSON, with the schema docs/model.schema.json."""

import json
from collections.abc import Mapping
from typing import TypeAlias

from suffice.core.decision import classifier_of
from suffice.core.model import views
from suffice.core.model.averaged import AveragedModel, Share, TemperedModel
from suffice.core.model.class_model import ClassModel, MarginalModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.scoring import LinearScores, MatrixPart, Scaled
from suffice.core.model.trees import BoostedTrees, Trees
from suffice.core.text.tables import json_value
from suffice.export.fitted import FittedEstimator, member_model, single_model
from suffice.export.marginal import integrates_missing

FORMAT = 2
_PARAMETERS = ("priors", "means", "covariance", "coef", "intercept")

Document: TypeAlias = dict[str, object]  # keys with plain values, arrays and nested documents


def to_document(estimator: FittedEstimator) -> Document:
    """Return the classes, scores, decision and settings of a fitted classifier as a document."""
    classifier = classifier_of(estimator)
    model = classifier.model
    encoding = classifier.encoding
    document: Document = {
        "suffice": "classifier",
        "format": FORMAT,
        "model": type(estimator).__name__,
        "settings": estimator.get_params(),
        "classes": classifier.classes,
        "n_features": classifier.n_features,
        "feature_names": classifier.feature_names,
        "has_posterior": classifier.has_posterior,
        "encoding": None if encoding is None else encoding.to_json(),
        "integrates": integrates_missing(classifier),
        "formula": None
        if isinstance(model, AveragedModel)
        else _formula(single_model(classifier)),
        "average": _average(model) if isinstance(model, AveragedModel) else None,
        "decision": {
            "actions": classifier.decision.actions,
            "costs": classifier.decision.costs,
            "reject": classifier.decision.reject,
        },
    }
    # the parameters in statistical terms, such as means, if the model has them
    for name in _PARAMETERS:
        value = getattr(estimator, f"{name}_", None)
        if value is not None:
            document[name] = value
    return document


def document_text(document: Mapping[str, object]) -> str:
    """Return a document as JSON text, with null for numbers that are not finite."""
    return json.dumps(json_value(document), indent=1, ensure_ascii=False, allow_nan=False)


def _formula(model: ClassModel | LinearModel) -> Document:
    formula = model.formula
    tail = None
    if formula.tail is not None:
        tail = {
            "constants": formula.tail.constants,
            "powers": formula.tail.powers,
            "shares": formula.tail.shares,
        }
    return {
        "power": None if formula.power is None else formula.power.arrays(),
        "origin": formula.scorer.origin,
        "parts": [_part(part) for part in formula.scorer.matrix_parts()],
        "tail": tail,
        "precision": None if formula.shared is None else formula.shared.dense_precision(),
        "levels": formula.levels,
        "class_of": formula.class_of,
        "log_priors": None if isinstance(model, LinearModel) else model.log_priors,
        "prior_if_empty": isinstance(model.allowing_missing(), MarginalModel),
        "temperature": model.temperature,
    }


def _part(part: MatrixPart) -> Document:
    document: Document = {"classes": part.classes, "constants": part.constants}
    if isinstance(part, LinearScores):
        return {"kind": "linear", **document, "weights": part.weights}
    document["means"] = part.means
    if isinstance(part, Scaled):
        return {"kind": "scaled", **document, "scale": part.scale}
    return {"kind": "whitened", **document, "whitening": part.whitening}


def _average(model: AveragedModel) -> Document:
    return {
        "features": model.features,
        "doubt": model.doubt,
        "frequencies": model.frequencies,
        "temperature": model.temperature,
        "shares": [_share(share) for share in model.shares],
        "best": _formula(model.best),
    }


def _share(share: Share) -> Document:
    model = member_model(share)
    document: Document = {
        "weight": share.weight,
        "integrates": share.integrates,
        "view": view_document(share.view),
        "formula": None if isinstance(model, Trees | BoostedTrees) else _formula(model),
    }
    if isinstance(model, Trees):
        document["trees"] = {
            "roots": model.roots,
            "left": model.left,
            "right": model.right,
            "feature": model.feature,
            "threshold": model.threshold,
            "shares": model.shares,
        }
    if isinstance(model, BoostedTrees):
        document["boosted_trees"] = {
            "roots": model.roots,
            "left": model.left,
            "right": model.right,
            "feature": model.feature,
            "threshold": model.threshold,
            "value": model.value,
            "class_of_tree": model.class_of_tree,
            "baseline": model.baseline,
        }
    if isinstance(share.model, TemperedModel):
        document["tempered"] = {
            "doubt": share.model.doubt,
            "temperature": share.model.temperature,
        }
    return document


def view_document(view: views.View) -> Document:
    """Return a view as plain values and arrays."""
    if isinstance(view, views.Plain):
        return {"kind": "plain"}
    if isinstance(
        view, views.Softened
    ):  # the formula of the member already includes the noise
        return view_document(view.below)
    if isinstance(view, views.PowerTransformed):
        return {"kind": "power", "power": view.transform.arrays()}
    if isinstance(view, views.PiecewiseLinear):
        return {
            "kind": "piecewise",
            "features": view.features,
            "left": view.left,
            "length": view.length,
        }
    return {
        "kind": "kernel",
        "below": view_document(view.below),
        "centre": view.centre,
        "scale": view.scale,
        "landmarks": view.landmarks,
        "kernel": view.kernel,
        "length": view.length,
    }
