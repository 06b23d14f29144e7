"""Classifiers of other libraries in files, which skops stores as parts of known types."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from suffice.core.decision.classifier import Classifier
from suffice.core.model.linear import LinearModel
from suffice.core.model.predicted import FilledModel, PredictedModel
from suffice.core.table.indicator_encoding import Encoding
from suffice.errors import FileFormatError, InvalidParameterError, SufficeWarning, warn
from suffice.persistence.fields import Arrays, Fields, State
from suffice.persistence.moments_file import check_feature_names, checked_classes
from suffice.typing import Array, Floats, Labels

NAME = "SavedClassifier"
#: The types that files may contain besides those that skops trusts; loading them runs no code.
TRUSTED = (
    "collections.OrderedDict",
    "catboost.core.CatBoostClassifier",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
    "suffice.evaluate.comparison.competitors.CalibratedSvm",
    "suffice.evaluate.comparison.competitors.ChosenNeighbours",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)
_LIBRARIES = {
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "sklearn": "scikit-learn",
    "xgboost": "xgboost",
}


@dataclass(frozen=True, slots=True, eq=False)
class PortableParts:
    """A fitted classifier of another library, and the encoding of the rows that it reads."""

    # a linear model of suffice, or a classifier of another library, which reads numeric rows
    fitted: Any
    classes: Labels  # (K,)
    feature_names: tuple[str, ...] | None
    n_features: int
    encoding: Encoding | None  # encoding of a mixed table
    # values that replace missing numbers, if these are filled first  (m,)
    fills: Floats | None
    takes_missing: bool  # whether rows may have missing numbers


def portable_state(parts: PortableParts) -> State:
    """Return the header and the arrays of a classifier, or raise if it holds unknown types."""
    header: dict[str, object] = {
        "n_features": parts.n_features,
        "n_classes": len(parts.classes),
        "feature_names": None if parts.feature_names is None else list(parts.feature_names),
        "encoding": None if parts.encoding is None else parts.encoding.to_json(),
        "takes_missing": parts.takes_missing,
    }
    arrays: dict[str, Array] = {"classes": parts.classes}
    if parts.fills is not None:
        arrays["fills"] = parts.fills
    if isinstance(parts.fitted, LinearModel):
        header["holds"] = "linear model"
        header["libraries"] = {}
        header["has_posterior"] = parts.fitted.has_posterior
        arrays["weights"] = parts.fitted.weights
        arrays["intercepts"] = parts.fitted.intercepts
        arrays["centre"] = parts.fitted.centre
    else:
        header["holds"] = type(parts.fitted).__name__
        header["libraries"] = _libraries(parts.fitted)
        arrays["skops"] = np.frombuffer(_skops_bytes(parts.fitted), np.uint8)
    return header, arrays


def _skops_bytes(fitted: Any) -> bytes:
    import skops.io

    name = type(fitted).__name__
    try:
        data: bytes = skops.io.dumps(fitted)
        unknown = set(skops.io.get_untrusted_types(data=data)) - set(TRUSTED)
    except Exception as error:
        raise InvalidParameterError(
            f"{name} cannot be saved ({error}): a file holds the models of suffice and of "
            "scikit-learn, LightGBM, XGBoost and CatBoost"
        ) from error
    if unknown:
        raise InvalidParameterError(
            f"{name} cannot be saved: it holds {', '.join(sorted(unknown))}, and a file holds only "
            "types of which loading is known to be safe"
        )
    return data


def portable_from(header: Fields, arrays: Arrays) -> Classifier:
    """Return the classifier in a file, or raise for unknown types and for unsound trees."""
    classes = checked_classes(arrays["classes"])
    encoding = Encoding.from_json(header["encoding"])
    check_feature_names(header["feature_names"], int(header["n_features"]))
    n_features = int(header["n_features"]) if encoding is None else encoding.n_features
    inner: PredictedModel | LinearModel
    if "skops" in arrays:
        inner = _predicted_from(header, arrays, n_features, len(classes))
    else:
        inner = LinearModel.of(
            arrays["weights"],
            arrays["intercepts"],
            has_posterior=bool(header["has_posterior"]),
            centre=arrays["centre"],
        )
        _require_size(inner.n_features, inner.n_classes, n_features, len(classes))
    model: PredictedModel | LinearModel | FilledModel = inner
    if "fills" in arrays:
        model = FilledModel(inner, np.asarray(arrays["fills"], np.float64))
    names = header["feature_names"] if encoding is None else encoding.feature_names
    classifier = Classifier.of(classes, names, model, encoding=encoding)
    return classifier.allowing_missing() if header["takes_missing"] else classifier


def _predicted_from(
    header: Fields, arrays: Arrays, n_features: int, n_classes: int
) -> PredictedModel:
    import skops.io

    _warn_of_other_versions(header["libraries"])
    data = np.asarray(arrays["skops"], np.uint8).tobytes()
    unknown = set(skops.io.get_untrusted_types(data=data)) - set(TRUSTED)
    if unknown:
        raise FileFormatError(
            f"the file holds {', '.join(sorted(unknown))}, which suffice does not load: it was not "
            "written by suffice"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = skops.io.loads(data, trusted=list(TRUSTED))
    for step in _steps(fitted):
        # rows are arrays without names, of which a classifier with names would warn
        vars(step).pop("feature_names_in_", None)
    for tree in _trees(_steps(fitted)[-1]):
        _check_tree(tree, n_features)
    for predictor in _predictors(_steps(fitted)[-1]):
        _check_predictor(predictor, n_features)
    found = getattr(fitted, "n_features_in_", n_features)
    _require_size(found, len(fitted.classes_), n_features, n_classes)
    return PredictedModel(fitted, n_classes, n_features)


def _warn_of_other_versions(libraries: Mapping[str, str]) -> None:
    for library, saved in libraries.items():
        installed = version(library)
        if installed != saved:
            warn(
                f"the file was written with {library} {saved}, and {installed} is installed: its "
                "predictions may differ; write it again with this version",
                SufficeWarning,
            )


def _require_size(
    found_features: int, found_classes: int, n_features: int, n_classes: int
) -> None:
    if (found_features, found_classes) != (n_features, n_classes):
        raise FileFormatError(
            f"the file holds a classifier of {found_features} features and {found_classes} "
            f"classes, but its header states {n_features} and {n_classes}: the file was altered"
        )


def _libraries(fitted: object) -> dict[str, str]:
    """Return the versions of the libraries that the steps of a classifier come from."""
    libraries = {"scikit-learn": version("scikit-learn")}
    for step in _steps(fitted):
        package = type(step).__module__.partition(".")[0]
        if package in _LIBRARIES:
            library = _LIBRARIES[package]
            libraries[library] = version(library)
    return libraries


def _steps(fitted: Any) -> list[Any]:
    """Return the steps of a pipeline, or the classifier itself."""
    steps = getattr(fitted, "steps", None)
    return [fitted] if steps is None else [step for _, step in steps]


def _trees(classifier: Any) -> Iterator[Any]:
    """Yield the trees of a scikit-learn tree or forest."""
    if hasattr(classifier, "tree_"):
        yield classifier.tree_
    for member in np.ravel(getattr(classifier, "estimators_", ())):
        if hasattr(member, "tree_"):
            yield member.tree_


def _check_tree(tree: Any, n_features: int) -> None:
    nodes = np.arange(tree.node_count)
    is_leaf = tree.children_left == -1
    left = tree.children_left[~is_leaf]
    right = tree.children_right[~is_leaf]
    feature = tree.feature[~is_leaf]
    # if children have larger indices than their parents, every path ends in a leaf
    follow = (left > nodes[~is_leaf]) & (right > nodes[~is_leaf])
    inside = (left < len(nodes)) & (right < len(nodes))
    _require_sound(follow & inside & (feature >= 0) & (feature < n_features))


def _predictors(classifier: Any) -> Iterator[Any]:
    """Yield the trees of scikit-learn's gradient boosting."""
    for trees in getattr(classifier, "_predictors", ()):
        yield from trees


def _check_predictor(predictor: Any, n_features: int) -> None:
    inner = predictor.nodes[predictor.nodes["is_leaf"] == 0]
    nodes = np.flatnonzero(predictor.nodes["is_leaf"] == 0)
    n_nodes = len(predictor.nodes)
    left = inner["left"]
    right = inner["right"]
    follow = (left > nodes) & (right > nodes)
    inside = (left < n_nodes) & (right < n_nodes)
    feature = inner["feature_idx"]
    _require_sound(follow & inside & (feature >= 0) & (feature < n_features))


def _require_sound(is_sound: Array) -> None:
    if not np.all(is_sound):
        raise FileFormatError(
            "the file holds a tree with invalid nodes, so it was altered: write it again"
        )
