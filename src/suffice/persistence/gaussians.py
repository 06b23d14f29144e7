"""Gaussian classifiers and mixtures in files: moments or components, and settings."""

from dataclasses import fields

import numpy as np

from suffice.core.decision.classifier import Classifier
from suffice.core.decision.conformal import NonconformityScores
from suffice.core.estimation.estimate import (
    chosen_settings,
    decide,
    estimate,
)
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import inverse_lower
from suffice.core.model import (
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    GaussianModel,
)
from suffice.core.model.mixture import MixtureModel
from suffice.core.moments import Moments
from suffice.errors import FileFormatError
from suffice.persistence.fields import (
    Arrays,
    Fields,
    State,
    check_dims,
    kept,
    revived,
    settings_of,
    without_prefix,
)
from suffice.persistence.moments_file import (
    check_feature_names,
    checked_classes,
    checked_state,
)
from suffice.typing import Array

_SLACK = 1e-6  # largest error of a sum of probabilities


def gaussian_state(
    moments: Moments,
    settings: Settings,
    conformity: NonconformityScores | None,
) -> State:
    """Return the header fields and the arrays of a Gaussian estimator."""
    words = {field.name: getattr(settings, field.name) for field in fields(settings)}
    header, arrays = checked_state(moments)
    header["settings"] = {name: kept(name, word) for name, word in words.items()}
    if conformity is not None:
        arrays["conformity_scores"] = conformity.scores
        arrays["conformity_weights"] = conformity.weights
    return header, arrays


def restored_settings(header: Fields) -> Settings:
    """Return the settings of a saved Gaussian estimator."""
    return Settings(**{name: revived(word) for name, word in header["settings"].items()})


def restored_conformity(arrays: Arrays) -> NonconformityScores | None:
    """Return the scores that calibrate prediction sets, or None if the file has none."""
    calibration = without_prefix(arrays, "conformity_")
    if not calibration:
        return None
    n = len(calibration["weights"])
    check_dims(calibration, {"scores": (n,), "weights": (n,)})
    return NonconformityScores(**calibration)


def gaussian_from(header: Fields, arrays: Arrays) -> Classifier:
    """Return the classifier of a saved Gaussian estimator."""
    moments = Moments.of_archive(header, arrays)
    settings = chosen_settings(moments, restored_settings(header))
    return decide(estimate(moments, settings), moments, settings)


def mixture_state(model: MixtureModel) -> dict[str, Array]:
    """Return the arrays of mixtures, with covariances as factors (G, d, d) or scales (G, d)."""
    components = model.components
    factors = []
    for covariance in components.covariances:
        if isinstance(covariance, DiagonalCovariance):
            factors.append(covariance.scale)
        elif isinstance(covariance, FullCovariance):
            factors.append(covariance.factor)
        else:
            factors.append(covariance.as_full().factor)
    return {
        "centre": components.centre,
        "offsets": components.offsets,
        "group_of": components.group_of,
        "priors": components.priors,
        "class_priors": model.priors,
        "class_of": model.class_of,
        "factors": np.stack(factors),
    }


def mixture_from(header: Fields, arrays: Arrays) -> Classifier:
    """Return the classifier of saved mixtures, after checking that the parts match."""
    floats = ("centre", "offsets", "priors", "class_priors", "factors")
    arrays = {**arrays, **{name: np.asarray(arrays[name], np.float64) for name in floats}}
    factors = arrays["factors"]
    class_of = arrays["class_of"]
    classes = arrays["classes"]
    n_groups, d = factors.shape[:2]
    is_diagonal = factors.ndim == 2
    check_dims(
        arrays,
        {
            "factors": (n_groups, d) if is_diagonal else (n_groups, d, d),
            "class_priors": classes.shape,
            "offsets": (len(class_of), d),
            "centre": (d,),
            "priors": class_of.shape,
        },
    )
    check_feature_names(header["feature_names"], d)
    is_sorted = not np.any(np.diff(class_of) < 0)
    if not is_sorted or np.any(np.unique(class_of) != np.arange(len(classes))):
        raise FileFormatError(
            "field 'class_of' must name every class, in order: write the file again"
        )
    _check_mixture(arrays, is_diagonal=is_diagonal)
    covariances: list[Covariance] = []
    for factor in factors:
        if is_diagonal:
            covariances.append(DiagonalCovariance(factor))
        else:
            covariances.append(FullCovariance(factor, inverse_lower(factor)))
    components = GaussianModel.of(
        priors=arrays["priors"],
        centre=arrays["centre"],
        offsets=arrays["offsets"],
        covariances=covariances,
        group_of=arrays["group_of"],
        n_covariance_parameters=n_groups * (d if is_diagonal else d * (d + 1) // 2),
    )
    with np.errstate(divide="ignore"):
        log_priors = np.log(arrays["class_priors"])
    classifier = Classifier.of(
        checked_classes(classes),
        header["feature_names"],
        MixtureModel(log_priors, components, class_of),
        costs=settings_of(header)["costs"],
    )
    refuse_misfits(classifier)
    return classifier.allowing_missing()


def _check_mixture(arrays: Arrays, *, is_diagonal: bool) -> None:
    """Raise unless priors and shares are probabilities, and factors give valid covariances."""
    # the shares of the components of a class must sum to one
    shares = np.bincount(arrays["class_of"], arrays["priors"])
    sums = {"priors": shares, "class_priors": arrays["class_priors"].sum()}
    for name, total in sums.items():
        if np.any(arrays[name] < 0) or np.any(np.abs(total - 1) > _SLACK):
            raise FileFormatError(f"field {name!r} must hold probabilities that sum to one")
    factors = arrays["factors"]
    scales = factors if is_diagonal else np.diagonal(factors, axis1=1, axis2=2)
    if np.any(scales <= 0):
        raise FileFormatError("field 'factors' holds a scale that is not positive")
    if not is_diagonal and np.any(np.triu(factors, 1)):
        raise FileFormatError(
            "field 'factors' holds numbers above a diagonal, where a triangular factor has zeros: "
            "write the file again"
        )


def refuse_misfits(classifier: Classifier) -> None:
    """Raise unless a row can be drawn from the model and scored, which needs parts that match."""
    row, _ = classifier.model.sample(1, np.random.default_rng(0))  # type: ignore[union-attr]
    posterior = classifier.model.posterior(row)
    if posterior.shape != (1, len(classifier.classes)) or not np.isfinite(posterior).all():
        raise FileFormatError(
            "the parts of the model in the file do not fit together: write it again"
        )
