"""What can be read from a fitted Gaussian model, under the names scikit-learn users know."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import UnknownLabelError
from suffice.model.likelihood import log_likelihood

if TYPE_CHECKING:
    from suffice.estimation.fisher import DiscriminantSpace
    from suffice.model import GaussianModel
    from suffice.model.bayes_error import BayesError
    from suffice.model.geometry import Boundary, GaussianScore
    from suffice.moments import Moments
    from suffice.typing import Floats, Labels


class GaussianAttributes:
    """Parameters, boundaries and errors of ``model_``."""

    model_: GaussianModel
    moments_: Moments
    classes_: Labels

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
        model = self.model_
        if model.is_tied:
            return model.covariances[0].dense()
        return np.stack([model.covariance_of(k).dense() for k in range(model.n_classes)])

    @property
    def coef_(self) -> Floats:
        """Weights of linear scores: (1, d) for two classes, second against first, else (K, d)."""
        model = self._tied_model("coef_")
        weights = model.covariances[0].precision_times(model.means)
        return weights[1:] - weights[:1] if len(weights) == 2 else weights

    @property
    def intercept_(self) -> Floats:
        """Intercepts of linear scores, shape (1,) or (K,)."""
        model = self._tied_model("intercept_")
        weights = model.covariances[0].precision_times(model.means)
        # w_k0 = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k
        w0 = model.log_priors - 0.5 * np.einsum("kd,kd->k", model.means, weights)
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

    def boundary(self, label_a: Any, label_b: Any) -> Boundary:
        """Return where two classes are equally probable; positive values favour ``label_a``."""
        from suffice.model.geometry import boundary_between

        a, b = self._code(label_a), self._code(label_b)
        return boundary_between(
            self._class_score(a),
            self._class_score(b),
            tied=bool(self.model_.group_of[a] == self.model_.group_of[b]),
            feature_names=self.moments_.feature_names,
            labels=(self.classes_[a].item(), self.classes_[b].item()),
        )

    def boundaries(self) -> dict[tuple[Any, Any], Boundary]:
        """Return the boundary of every pair of classes, keyed by their labels."""
        pairs = combinations(self.classes_.tolist(), 2)
        return {(a, b): self.boundary(a, b) for a, b in pairs}

    def log_likelihood(self) -> float:
        """Return Σ log p(x, y) of the training rows, from the moments alone."""
        return log_likelihood(self.model_, self.moments_)

    def aic(self) -> float:
        """Return Akaike's criterion, 2 p − 2 log L: smaller is better."""
        return 2 * self.model_.n_parameters - 2 * self.log_likelihood()

    def bic(self) -> float:
        """Return Schwarz's criterion, p log n − 2 log L: smaller is better."""
        n = self.moments_.total_weight
        return float(self.model_.n_parameters * np.log(n)) - 2 * self.log_likelihood()

    def bayes_error(self, n_samples: int = 100_000, random_state: int = 0) -> BayesError:
        """Return the error of the best rule if the model were true."""
        from suffice.model.bayes_error import bayes_error

        return bayes_error(self.model_, n_samples, np.random.default_rng(random_state))

    def _class_score(self, k: int) -> GaussianScore:
        from suffice.model.geometry import GaussianScore

        sigma = self.model_.covariance_of(k)
        log_prior = float(self.model_.log_priors[k])
        return GaussianScore(
            self.model_.means[k], sigma.dense_precision(), sigma.log_det, log_prior
        )

    def _tied_model(self, name: str) -> GaussianModel:
        if not self.model_.is_tied:
            msg = f"{name} exists only where all classes share one covariance (tied=True)"
            raise AttributeError(msg)
        return self.model_

    def _code(self, label: Any) -> int:
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            msg = f"label {label!r} is not one of the classes {self.classes_.tolist()}"
            raise UnknownLabelError(msg)
        return int(found[0])
