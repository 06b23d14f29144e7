"""Models and exact leave-one-out scores from sums of counts, with a class for each distribution.

Leaving a row out subtracts its counts from the sums of its own class, and leaves the scores of the
other classes unchanged. With the complement model, only the scores of the other classes change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from suffice.core.decision.bayes_decision import decision_by
from suffice.core.decision.classifier import Classifier, check_temperature
from suffice.core.estimation.count_left_out import (
    LeftOutRows,
    changed_complement_sums,
    left_out_absences,
    log_of_smoothed,
    log_products,
)
from suffice.core.estimation.count_settings import CountSettings
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.priors import prior_pseudo_count
from suffice.core.model.counts import (
    BernoulliModel,
    ComplementModel,
    CountModel,
    MultinomialModel,
    PoissonModel,
)
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows
from suffice.core.table.words import TextColumn
from suffice.errors import InvalidInputError, MissingStatisticsError
from suffice.typing import Codes, Floats


class CountKind(ABC):
    """Base class of the families of class-conditional distributions of counts."""

    @abstractmethod
    def model(self, sums: CountSums, alpha: float, log_priors: Floats) -> CountModel:
        """Return the model of these sums."""

    @abstractmethod
    def left_out_scores(self, sums: CountSums, left: LeftOutRows, alpha: float) -> Floats:
        """Return a_k(x_i) (n, K) under the model of all rows except row i, without log priors."""


class Multinomial(CountKind):
    """θ_kj = (N_kj + α) / (N_k + α d)."""

    def model(self, sums: CountSums, alpha: float, log_priors: Floats) -> CountModel:
        weights = log_of_smoothed(sums.sums, alpha)
        weights -= np.log(sums.totals + alpha * sums.n_features)[:, None]
        return MultinomialModel(
            log_priors=log_priors,
            weights=weights,
            constants=np.zeros(sums.n_classes),
            mean_totals=_mean_totals(sums),
            has_fractions=sums.has_fractions,
        )

    def left_out_scores(self, sums: CountSums, left: LeftOutRows, alpha: float) -> Floats:
        d = sums.n_features
        codes = left.codes
        totals = left.totals
        # Σ_j x_j log (N_kj + α) − |x| log (N_k + α d); left.products holds the first sum
        scores = left.products[alpha].copy()
        scores -= totals[:, None] * np.log(sums.totals + alpha * d)
        # in the row's own class y, N_yj − w x_j and N_y − w |x| replace N_kj and N_k;
        # left.present holds the first sum
        own_totals = np.maximum(sums.totals[codes] - left.w * totals, 0.0) + alpha * d
        own = left.present[alpha] - totals * np.log(own_totals)
        scores[np.arange(len(codes)), codes] = own
        return scores


class Poisson(CountKind):
    """λ_kj = (N_kj + α) / (n_k + β), where β = α / r and r is the mean count over all cells.

    λ_kj is the posterior mean under a Gamma prior with shape α and mean r. Given the total of a
    row, its counts have the distribution of the multinomial model with the same α.
    """

    def model(self, sums: CountSums, alpha: float, log_priors: Floats) -> CountModel:
        exposure = sums.weights + _prior_exposure(
            alpha, sums.total_weight, float(sums.totals.sum()), sums.n_features
        )
        # log p(x | k) = Σ_j x_j log λ_kj − Σ_j λ_kj − Σ_j log x_j!
        weights = log_of_smoothed(sums.sums, alpha)
        weights -= np.log(exposure)[:, None]
        return PoissonModel(
            log_priors=log_priors,
            weights=weights,
            constants=-(sums.totals + alpha * sums.n_features) / exposure,
            mean_totals=_mean_totals(sums),
            has_fractions=sums.has_fractions,
        )

    def left_out_scores(self, sums: CountSums, left: LeftOutRows, alpha: float) -> Floats:
        d = sums.n_features
        codes = left.codes
        w = left.w
        totals = left.totals
        each = np.arange(len(codes))
        rest_weight = sums.total_weight - w
        rest_total = np.maximum(sums.totals.sum() - w * totals, 0.0)
        beta = _prior_exposures(alpha, rest_weight, rest_total, d)[:, None]
        class_weights = np.tile(sums.weights, (len(codes), 1))
        class_weights[each, codes] = np.maximum(sums.weights[codes] - w, 0.0)
        class_totals = np.tile(sums.totals, (len(codes), 1))
        class_totals[each, codes] = np.maximum(sums.totals[codes] - w * totals, 0.0)
        scores = left.products[alpha].copy()
        scores[each, codes] = left.present[alpha]
        exposure = class_weights + beta
        # Σ_j x_j log (N_kj + α) − |x| log (n_k + β) − (N_k + α d) / (n_k + β)
        scores -= totals[:, None] * np.log(exposure)
        scores -= (class_totals + alpha * d) / exposure
        return scores


class Bernoulli(CountKind):
    """p_kj = (N_kj + α) / (n_k + 2 α), where N_kj is the weight of the rows with feature j."""

    def model(self, sums: CountSums, alpha: float, log_priors: Floats) -> CountModel:
        if sums.threshold is None:
            raise MissingStatisticsError(
                "kind='bernoulli' needs sums of presence: collect them with threshold=0.0"
            )
        weights, constants = _bernoulli_scores(sums, alpha)
        return BernoulliModel(
            log_priors=log_priors,
            weights=weights,
            constants=constants,
            mean_totals=_mean_totals(sums),
            threshold=sums.threshold,
        )

    def left_out_scores(self, sums: CountSums, left: LeftOutRows, alpha: float) -> Floats:
        d = sums.n_features
        codes = left.codes
        weights, constants = _bernoulli_scores(sums, alpha)
        scores = log_products(left.rows, weights) + constants
        # without the row, its class y has the weight n_y − w, of which N_yj − w b_j has feature j
        absent = left_out_absences(sums, codes, left.w, alpha) - left.absent[alpha]
        rest = np.maximum(sums.weights[codes] - left.w, 0.0)
        own = left.present[alpha] + absent - d * np.log(rest + 2 * alpha)
        scores[np.arange(len(codes)), codes] = own
        return scores


class Complement(CountKind):
    """θ̃_kj = (N_j − N_kj + α) / (N − N_k + α d): the shares in all other classes."""

    def model(self, sums: CountSums, alpha: float, log_priors: Floats) -> CountModel:
        complements = sums.sums.sum(0) - sums.sums
        totals = sums.totals.sum() - sums.totals
        weights = -log_of_smoothed(complements, alpha)
        weights += np.log(totals + alpha * sums.n_features)[:, None]
        return ComplementModel(
            log_priors=log_priors,
            weights=weights,
            constants=np.zeros(sums.n_classes),
            mean_totals=_mean_totals(sums),
            has_fractions=sums.has_fractions,
        )

    def left_out_scores(self, sums: CountSums, left: LeftOutRows, alpha: float) -> Floats:
        d = sums.n_features
        codes = left.codes
        w = left.w
        totals = left.totals
        each = np.arange(len(codes))
        complements = sums.sums.sum(0) - sums.sums
        # a row is in the complement of every class except its own
        class_totals = sums.totals.sum() - sums.totals
        rest_totals = np.maximum(class_totals - (w * totals)[:, None], 0.0)
        rest_totals[each, codes] = class_totals[codes]
        scores = -changed_complement_sums(left.rows, complements, codes, w, alpha)
        scores += totals[:, None] * np.log(rest_totals + alpha * d)
        return scores


COUNT_KINDS: Mapping[str, CountKind] = {
    "multinomial": Multinomial(),
    "complement": Complement(),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
}


def estimate_counts(sums: CountSums, settings: CountSettings) -> CountModel:
    """Return the model of these sums."""
    require_two_classes(sums.classes, sums.weights)
    if not sums.n_features:
        raise InvalidInputError(
            "the sums have no features: collect them from at least one column"
        )
    if sums.threshold != settings.threshold:
        raise MissingStatisticsError(
            f"kind={settings.kind!r} needs sums with threshold={settings.threshold}, but these "
            f"have threshold={sums.threshold}: collect them again"
        )
    priors = settings.class_priors(sums.classes, sums.weights)
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    return COUNT_KINDS[settings.kind].model(sums, settings.pseudo_count(), log_priors)


def decide_counts(model: CountModel, sums: CountSums, settings: CountSettings) -> Classifier:
    """Return the classifier that applies the model, with a temperature and costs."""
    temperature = check_temperature(settings.temperature)
    return Classifier(
        classes=sums.classes,
        feature_names=sums.feature_names,
        model=model.with_temperature(temperature),
        decision=decision_by(settings.costs, sums.classes),
        text=text_column(sums, settings),
    )


def text_column(sums: CountSums, settings: CountSettings) -> TextColumn | None:
    """Return the text column whose words were summed, or None if the settings name no column."""
    if settings.text is None:
        return None
    if sums.feature_names is None:
        raise MissingStatisticsError(
            f"text={settings.text!r} needs sums whose features are words, but these have no names: "
            "collect them with names="
        )
    return TextColumn(settings.text, sums.feature_names)


def left_out_rows(
    sums: CountSums,
    settings: CountSettings,
    rows: CountRows,
    codes: Codes,
    w: Floats,
    alphas: Sequence[float],
) -> LeftOutRows:
    """Return the summed rows as the model reads them, prepared for leaving out each row."""
    left = left_out_logarithms(sums, settings, rows, codes, w, alphas)
    return with_products(left, sums, settings, alphas)


def left_out_logarithms(
    sums: CountSums,
    settings: CountSettings,
    rows: CountRows,
    codes: Codes,
    w: Floats,
    alphas: Sequence[float],
) -> LeftOutRows:
    """Return the rows with the logarithms of the sums of their class for each α, no products."""
    # leaving out a row does not change its class's score in the complement model: no logarithms
    needed = () if settings.kind == "complement" else tuple(alphas)
    return LeftOutRows.of(
        sums, rows, codes, w, needed, with_absences=settings.kind == "bernoulli"
    )


def with_products(
    left: LeftOutRows, sums: CountSums, settings: CountSettings, alphas: Sequence[float]
) -> LeftOutRows:
    """Return the rows with the products for these α if the scores of the model need products."""
    if settings.kind not in ("multinomial", "poisson"):
        return left
    return left.with_products(sums, alphas)


def left_out_joint(
    sums: CountSums,
    settings: CountSettings,
    left: LeftOutRows,
    *,
    refit_priors: bool = True,
) -> Floats:
    """Return log p(x_i, k) (n, K), up to a common term, under the model of all rows except row i.

    ``left`` must hold the logarithms for the α of the settings.
    """
    codes = left.codes
    kind = COUNT_KINDS[settings.kind]
    scores = kind.left_out_scores(sums, left, settings.pseudo_count())
    pseudo_count = prior_pseudo_count(settings.priors, at_mode=False)
    with np.errstate(divide="ignore"):
        if pseudo_count is None or not refit_priors:
            scores += np.log(settings.class_priors(sums.classes, sums.weights))
            return scores
        # π_k ∝ n_k + a, minus the row's weight in its own class
        prior_weights = sums.weights + pseudo_count
        scores += np.log(prior_weights)
        own = np.maximum(sums.weights[codes] - left.w, 0.0)
        own[sums.counts[codes] == 1] = 0.0
        own += pseudo_count
        scores[np.arange(len(codes)), codes] += np.log(own / prior_weights[codes])
    return scores


def _mean_totals(sums: CountSums) -> Floats:
    """Return N_k / n_k, or zero for a class without rows, (K,)."""
    means = np.zeros(sums.n_classes)
    np.divide(sums.totals, sums.weights, out=means, where=sums.weights > 0)
    return means


def _prior_exposure(alpha: float, weight: float, total: float, d: int) -> float:
    """Return β = α n d / N, or α if all counts are zero."""
    return alpha * weight * d / total if total > 0 else alpha


def _prior_exposures(alpha: float, weights: Floats, totals: Floats, d: int) -> Floats:
    """Return β for each pair of a weight and a total, (n,)."""
    safe = np.where(totals > 0, totals, 1.0)
    return np.asarray(np.where(totals > 0, alpha * weights * d / safe, alpha))


def _bernoulli_scores(sums: CountSums, alpha: float) -> tuple[Floats, Floats]:
    """Return w_kj = log p_kj − log (1 − p_kj) (K, d) and c_k = Σ_j log (1 − p_kj) (K,)."""
    n = sums.weights[:, None]
    present = log_of_smoothed(sums.sums, alpha)
    # 1 − p_kj = (n_k − N_kj + α) / (n_k + 2 α)
    absent = log_of_smoothed(np.maximum(n - sums.sums, 0.0), alpha)
    constants = absent.sum(1) - sums.n_features * np.log(sums.weights + 2 * alpha)
    present -= absent
    return present, constants
