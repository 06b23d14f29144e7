"""Estimate a Gaussian or Student t model from the sums of numeric columns."""

from dataclasses import replace

import numpy as np

from suffice.core.estimation.degenerate import independent_columns
from suffice.core.estimation.divisors import unbiased_by_class
from suffice.core.estimation.fisher import reduced_rank
from suffice.core.estimation.normal_inverse_wishart import most_probable, predictive
from suffice.core.estimation.plug_in import EstimationInput, plug_in, require_two_classes
from suffice.core.estimation.settings import Settings
from suffice.core.missing.iteration import completed
from suffice.core.model.class_model import ClassModel
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.information_criteria import bic
from suffice.core.moments import Moments
from suffice.core.table.indicator_encoding import Encoding
from suffice.errors import InvalidInputError, MissingStatisticsError


def fit_numbers(
    moments: Moments,
    settings: Settings,
    *,
    quiet: bool,
    encoding: Encoding | None = None,
) -> ClassModel:
    """Return the model of numeric features; ``encoding`` says which features are indicators."""
    whole = complete_rows(moments, settings, quiet=quiet, encoding=encoding)
    inputs = estimation_input(whole, settings, quiet=quiet, encoding=encoding)
    # predictive densities need complete rows of Gaussian features: not rows with expected values
    # from EM, nor indicators
    if settings.is_plug_in and whole is moments and encoding is None:
        inputs = replace(inputs, sums_of_complete_rows=True)
    model = _model_of(inputs, settings)
    if settings.n_components is None or not settings.plugs_in:
        return model
    return reduced_rank(model.as_gaussian(), settings.n_components)


def _model_of(inputs: EstimationInput, settings: Settings) -> ClassModel:
    if settings.plugs_in:
        model, _ = plug_in(inputs)
        return model
    if settings.takes_mode:
        return most_probable(settings.prior, inputs)
    return predictive(settings.prior, inputs)


def estimation_input(
    moments: Moments,
    settings: Settings,
    *,
    quiet: bool,
    encoding: Encoding | None = None,
) -> EstimationInput:
    """Return the sums with the groups, priors and regularisation that the settings define."""
    require_two_classes(moments.classes, moments.weights)
    return EstimationInput(
        moments=unbiased_by_class(moments) if settings.averages_divisors else moments,
        structure=settings.structure,
        regularisation=settings.regularisation,
        group_of=settings.group_of(moments.classes),
        priors=settings.class_priors(moments.classes, moments.weights),
        quiet=quiet,
        encoding=encoding,
    )


def complete_rows(
    moments: Moments,
    settings: Settings,
    *,
    quiet: bool = False,
    encoding: Encoding | None = None,
) -> Moments:
    """Return the sums of complete rows, which EM estimates if numbers are missing."""
    if moments.patterns is None:
        return moments
    if settings.needs_fourth:
        raise MissingStatisticsError(
            "shrinkage='ledoit-wolf' needs fourth moments, which rows with missing values do "
            "not have: use shrinkage='oas' or a number, or missing='indicator'"
        )
    # if the model integrates out its parameters, EM uses plug-in estimates
    is_iterated = settings.plugs_in or settings.takes_mode
    iterated = settings if is_iterated else replace(settings, estimate="plug-in")

    def m_step(whole: Moments) -> GaussianModel:
        inputs = estimation_input(whole, iterated, quiet=True, encoding=encoding)
        return _model_of(inputs, iterated).as_gaussian()

    group_of = settings.group_of(moments.classes)
    is_diagonal = settings.structure.is_diagonal
    return completed(moments, m_step, group_of, diagonal=is_diagonal, quiet=quiet)


def choose_family(numbers: Moments, settings: Settings) -> Settings:
    """Return the settings with the EDDA family that minimises p log n − 2 log L."""
    families = settings.families
    if not families:
        return settings
    # drop dependent columns, with which log L has no maximum
    columns = independent_columns(numbers)
    if not len(columns):
        return families[0]
    if len(columns) < numbers.n_features:
        numbers = numbers.select(columns)
    losses = [plug_in_bic(numbers, family) for family in families]
    return families[int(np.argmin(losses))]


def plug_in_bic(moments: Moments, settings: Settings) -> float:
    """Return p log n − 2 log L of plug-in estimates, or ∞ if L has no maximum."""
    whole = complete_rows(moments, settings, quiet=True)
    try:
        model, deficient = plug_in(estimation_input(whole, settings, quiet=True))
    except InvalidInputError:  # L has no maximum, or the features' scales differ too much
        return np.inf
    if deficient:
        return np.inf
    return bic(model._log_likelihood(moments), model.n_parameters, moments.total_weight)
