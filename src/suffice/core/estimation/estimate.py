"""Classifiers from sums in two calls: ``estimate`` returns a model, ``decide`` a classifier."""

from suffice.core.decision.bayes_decision import decision_by
from suffice.core.decision.classifier import Classifier, check_temperature
from suffice.core.estimation.categories import fit_indicators, numbers_of
from suffice.core.estimation.chow_liu import fit_tree
from suffice.core.estimation.gaussian import choose_family, fit_numbers
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.settings import Settings
from suffice.core.model.class_model import ClassModel
from suffice.core.model.transformed import TransformedModel
from suffice.core.model.views import View
from suffice.core.moments import Moments
from suffice.errors import InvalidInputError, InvalidParameterError, warn


def estimate(moments: Moments, settings: Settings, *, quiet: bool = False) -> ClassModel:
    """Return the model of these sums; it reads rows transformed as the summed rows were."""
    for name in settings.open_settings:
        if name in ("pooling", "shrinkage"):
            raise InvalidParameterError(
                f"{name}='auto' is chosen by the estimator when it sees rows: call fit(X, y), or "
                "give a number"
            )
    settings = chosen_settings(moments, settings)
    if not quiet and _reads_weights_as_counts(moments, settings):
        warn_of_relative_weights(int(moments.counts.sum()), moments.total_weight)
    require_two_classes(moments.classes, moments.weights)
    if not moments.n_features:
        raise InvalidInputError(
            "the moments have no features: collect them from at least one column"
        )
    if moments.schema is None:
        return fit_numbers(moments, settings, quiet=quiet)
    if settings.averages_divisors:
        raise InvalidParameterError(
            "divisor='averaged' is for numeric columns: use 'mle' or 'unbiased'"
        )
    if settings.reads_tree:
        return fit_tree(moments, settings, quiet=quiet)
    return fit_indicators(moments, settings, quiet=quiet)


def decide(model: ClassModel, moments: Moments, settings: Settings) -> Classifier:
    """Return the classifier, which applies the model to rows in the user's units, with costs."""
    temperature = check_temperature(settings.temperature)
    model = in_row_units(model, moments)
    if temperature != 1:
        model = model.with_temperature(temperature)
    encoding = moments.encoding
    return Classifier(
        classes=moments.classes,
        feature_names=encoding.feature_names if encoding else moments.feature_names,
        model=model,
        decision=decision_by(settings.costs, moments.classes),
        encoding=encoding,
        allow_missing=not settings.needs_fourth,
        notations=moments.notations,
    )


def in_row_units(model: ClassModel, moments: Moments) -> ClassModel:
    """Return the model of the original rows, also if the summed rows were transformed."""
    power = moments.power
    if power is None:
        return model
    encoding = moments.encoding
    return TransformedModel(model, power if encoding is None else power.select(encoding.kept))


def settings_of_view(view: View, pooling: float, shrinkage: float) -> Settings:
    """Return the settings for sums of rows that a view has transformed."""
    if view.lifted:
        return Settings(tied=True, shrinkage=shrinkage)
    return Settings(pooling=pooling, shrinkage=shrinkage)


def chosen_settings(moments: Moments, settings: Settings) -> Settings:
    """Return the settings with the family that ``covariance="auto"`` chooses."""
    if settings.covariance != "auto":
        return settings
    return choose_family(numbers_of(moments), settings)


def _reads_weights_as_counts(moments: Moments, settings: Settings) -> bool:
    """Return whether the estimates change if all weights are multiplied by a number."""
    if settings.divisor != "mle" and settings.plugs_in:
        return True
    if settings.prior_pseudo_count or not settings.plugs_in:
        return True
    smooths_levels = settings.structure.is_diagonal or settings.reads_tree
    if moments.schema is not None and smooths_levels:
        return True
    return settings.regularisation.shrinkage.fixed is None


def warn_of_relative_weights(n_rows: int, total: float) -> None:
    """Warn if the weights, which the model reads as numbers of rows, are too small for that."""
    if 2 * total < n_rows:
        warn(
            f"the weights of {n_rows} rows sum to {total:.3g}: this model reads weights as "
            f"numbers of rows; if they are only relative, multiply them by {n_rows / total:.3g}"
        )
