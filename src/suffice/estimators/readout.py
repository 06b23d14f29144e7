"""What can be read from a fitted Gaussian model, under the names scikit-learn users know."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError, UnknownLabelError

if TYPE_CHECKING:
    from suffice.estimation.fisher import DiscriminantSpace
    from suffice.model import ClassModel, GaussianModel
    from suffice.model.bayes_error import BayesError
    from suffice.model.geometry import Boundary, GaussianScore
    from suffice.moments import Moments
    from suffice.typing import Floats, Labels


class GaussianAttributes:
    """Parameters, boundaries and errors of ``model_``."""

    moments_: Moments
    classes_: Labels

    @property
    def model_(self) -> ClassModel:
        """Densities, posterior and samples."""
        raise NotImplementedError

    def _space(self) -> DiscriminantSpace:
        raise NotImplementedError

    @property
    def means_(self) -> Floats:
        """μ, shape (K, d)."""
        return self.model_.means

    @property
    def priors_(self) -> Floats:
        """π, shape (K,)."""
        return self.model_.priors

    @property
    def covariance_(self) -> Floats:
        """Σ, shape (d, d) if all classes share it, else (K, d, d)."""
        return self.model_.covariance_matrices

    @property
    def coef_(self) -> Floats:
        """Weights of linear scores: (1, d) for two classes, second against first, else (K, d)."""
        model = self._tied_model("coef_")
        weights: Floats = model.covariances[0].precision_times(model.means)
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    @property
    def intercept_(self) -> Floats:
        """Intercepts of linear scores, shape (1,) or (K,)."""
        model = self._tied_model("intercept_")
        weights = model.covariances[0].precision_times(model.means)
        # w_k0 = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k
        w0: Floats = model.log_priors - 0.5 * np.einsum("kd,kd->k", model.means, weights)
        return w0[1:] - w0[:1] if len(w0) == 2 else w0

    @property
    def scalings_(self) -> Floats:
        """Columns of the discriminant coordinates, shape (d, at most K − 1)."""
        return self._space().scalings

    @property
    def xbar_(self) -> Floats:
        """Prior-weighted mean of the class means, shape (d,)."""
        return self._space().centre

    @property
    def explained_variance_ratio_(self) -> Floats:
        """Share of between-class variance along each discriminant coordinate."""
        return self._space().explained_ratio

    def boundary(self, label_a: Any, label_b: Any, *, coordinates: str = "rows") -> Boundary:
        """Return where two classes are equally probable; positive values favour ``label_a``.

        With a power transform the boundary is a hyperplane or quadric of transformed rows only:
        ask for it by ``coordinates="transformed"``.
        """
        from suffice.model.geometry import boundary_between

        a, b = self._code(label_a), self._code(label_b)
        self._check_coordinates(coordinates)
        model = self.model_.as_gaussian()
        return boundary_between(
            _class_score(model, a),
            _class_score(model, b),
            tied=bool(model.group_of[a] == model.group_of[b]),
            feature_names=self.moments_.feature_names,
            labels=(self.classes_[a].item(), self.classes_[b].item()),
        )

    def boundaries(self, *, coordinates: str = "rows") -> dict[tuple[Any, Any], Boundary]:
        """Return the boundary of every pair of classes, keyed by their labels."""
        pairs = combinations(self.classes_.tolist(), 2)
        return {(a, b): self.boundary(a, b, coordinates=coordinates) for a, b in pairs}

    def log_likelihood(self) -> float:
        """Return Σ log p(x, y) of the training rows, from the moments alone."""
        return self.model_.log_likelihood(self.moments_)

    def aic(self) -> float:
        """Return Akaike's criterion, 2 p − 2 log L: smaller is better."""
        return 2 * self.model_.n_parameters - 2 * self.log_likelihood()

    def bic(self) -> float:
        """Return Schwarz's criterion, p log n − 2 log L: smaller is better."""
        n = self.moments_.total_weight
        return float(self.model_.n_parameters * np.log(n)) - 2 * self.log_likelihood()

    def bayes_error(self, n_samples: int = 100_000, random_state: int = 0) -> BayesError:
        """Return the error of the best rule if the model were true."""
        return self.model_.bayes_error(n_samples, np.random.default_rng(random_state))

    def _check_coordinates(self, coordinates: str) -> None:
        if coordinates not in ("rows", "transformed"):
            msg = f"coordinates must be 'rows' or 'transformed', got {coordinates!r}"
            raise InvalidParameterError(msg)
        if coordinates == "rows" and self.moments_.transform is not None:
            msg = (
                "with a power transform the boundary is no hyperplane or quadric of the rows: ask "
                "for boundary(a, b, coordinates='transformed') and evaluate it at "
                "moments_.transform.apply(X)"
            )
            raise InvalidParameterError(msg)

    def _tied_model(self, name: str) -> GaussianModel:
        if self.model_.shared_covariance is None:
            msg = f"{name} exists only where all classes share one covariance (tied=True)"
            raise AttributeError(msg)
        return self.model_.as_gaussian()

    def _code(self, label: Any) -> int:
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            msg = f"label {label!r} is not one of the classes {self.classes_.tolist()}"
            raise UnknownLabelError(msg)
        return int(found[0])


def _class_score(model: GaussianModel, k: int) -> GaussianScore:
    from suffice.model.geometry import GaussianScore

    sigma, log_prior = model.covariance_of(k), float(model.log_priors[k])
    return GaussianScore(model.means[k], sigma.dense_precision(), sigma.log_det, log_prior)
