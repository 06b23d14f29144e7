"""A model of groups of features that are independent given the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Self

import numpy as np

from suffice.core.model.class_model import ClassModel
from suffice.core.model.counts import CountModel
from suffice.core.model.posterior import Joint, LogDensity, Readout
from suffice.core.model.scoring import Formula
from suffice.core.moments import Moments
from suffice.core.moments.mixed_sums import MixedSums
from suffice.core.table.matrix import as_matrix
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.typing import Array, Codes, Floats, RowsLike

if TYPE_CHECKING:
    from suffice.core.model.gaussian import GaussianModel


@dataclass(frozen=True, slots=True, eq=False)
class ModelPart:
    """The model of one group of features."""

    model: ClassModel
    features: Codes  # positions of the group's features in a row  (m,)
    names: tuple[str, ...]  # names of the group's features


@dataclass(frozen=True, eq=False)
class ProductModel(ClassModel):
    """Independent parts: p(x | k) = Π_m p(x_m | k), naive Bayes over groups of features."""

    log_priors: Floats  # log π; every part has the same priors  (K,)
    parts: tuple[ModelPart, ...]
    temperature: float = 1.0

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return all(part.model.has_density for part in self.parts)

    @property
    def n_features(self) -> int:
        return sum(len(part.features) for part in self.parts)

    @property
    def centre(self) -> Floats:  # type: ignore[override]
        return np.zeros(self.n_features)

    @cached_property
    def offsets(self) -> Floats:  # type: ignore[override]
        means = np.zeros((self.n_classes, self.n_features))
        for part in self.parts:
            means[:, part.features] = part.model.means
        return means

    @property
    def n_parameters(self) -> int:
        n_priors = int(np.isfinite(self.log_priors).sum()) - 1
        return n_priors + sum(part.model.n_parameters - n_priors for part in self.parts)

    @property
    def covariance_matrices(self) -> Floats:
        raise InvalidParameterError(
            "a model of numbers and counts has no covariance matrix: read the means instead"
        )

    def as_gaussian(self) -> GaussianModel:
        raise InvalidParameterError(
            "a model of numbers and counts is not Gaussian, and boundaries are computed for "
            "Gaussian models only: compare its posteriors"
        )

    @property
    def formula(self) -> Formula:
        raise InvalidParameterError(
            "a model of numbers and counts cannot be exported: save it, or export a model of its "
            "numbers or of its counts alone"
        )

    def with_log_priors(self, log_priors: Floats) -> Self:
        models = [part.model.with_log_priors(log_priors) for part in self.parts]
        return replace(self, log_priors=log_priors, parts=self._parts_with(models))

    def with_temperature(self, temperature: float) -> Self:
        return replace(self, temperature=temperature)

    def allowing_missing(self) -> Self:
        """Return the same model, which reads NaN in a numeric column as "not observed"."""
        models = [part.model.allowing_missing() for part in self.parts]
        return replace(self, parts=self._parts_with(models))

    def _parts_with(self, models: Sequence[ClassModel]) -> tuple[ModelPart, ...]:
        pairs = zip(self.parts, models, strict=True)
        return tuple(replace(part, model=model) for part, model in pairs)

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        rows, _ = as_matrix(x)
        if rows.shape[1] != self.n_features:
            raise FeatureMismatchError(
                f"X has {rows.shape[1]} features, but the model has {self.n_features}"
            )
        weights = self.log_priors if log_weights is None else log_weights
        is_density = log_weights is not None and isinstance(readout, (Joint, LogDensity))
        # a_k(x) = Σ_m log p(x_m | k) + log π_k
        scores = np.tile(weights, (len(rows), 1))
        for part in self.parts:
            columns = np.ascontiguousarray(rows[:, part.features])
            if isinstance(part.model, CountModel):
                part.model.require_dense_counts(columns, part.names)
            scores += self._part_scores(part.model, columns, is_density=is_density)
        scores[:, np.isneginf(weights)] = -np.inf
        return readout.read(scores)

    def _part_scores(self, model: ClassModel, columns: Array, *, is_density: bool) -> Floats:
        """Return log p(x_m | k), up to a term common to all classes unless ``is_density``."""
        if is_density:
            return model.class_log_density(columns)
        joint = model.scores(columns)
        return joint - np.where(np.isfinite(self.log_priors), self.log_priors, 0.0)

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        rows = np.empty((len(codes), self.n_features))
        for part in self.parts:
            rows[:, part.features] = part.model.sample_of(codes, rng)
        return rows

    def _log_likelihood(self, moments: Moments) -> NoReturn:
        raise InvalidParameterError(
            f"a model of numbers and counts reads MixedSums, not {type(moments).__name__}: call "
            "log_likelihood of the estimator"
        )

    def log_likelihood_of(self, sums: MixedSums) -> float:
        """Return Σ w (log p(x | y) + log π_y) over the rows that were summed."""
        models = [part.model for part in self.parts]
        total = 0.0
        if sums.numbers is not None:
            encoding = sums.numbers.encoding
            numbers = sums.numbers.select(encoding.kept) if encoding else sums.numbers
            total += models.pop(0)._log_likelihood(numbers)
        for model, block in zip(models, sums.blocks, strict=True):
            assert isinstance(model, CountModel)
            total += model.log_likelihood_of(block.sums)
        # the likelihood of every part includes the priors, which must be counted only once
        is_present = sums.weights > 0
        priors = np.where(is_present, self.log_priors, 0.0)
        return total - (len(self.parts) - 1) * float(sums.weights @ priors)
