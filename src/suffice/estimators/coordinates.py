"""``transform``: a setting where it is assigned, a method where it is called.

scikit-learn reads settings and methods from one namespace; the name is taken twice, by the power
transform of features and by discriminant coordinates. The descriptor below keeps the setting in
the instance's ``__dict__``, where ``get_params`` finds it, and answers with the method.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import TransformerMixin

from suffice.estimation.fisher import DiscriminantSpace
from suffice.estimation.recipe import Recipe
from suffice.estimators.validation import checked_rows
from suffice.moments.rows import refuse_unusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.model import ClassModel
    from suffice.moments import Moments
    from suffice.typing import Floats


class SettingAndMethod:
    """A data descriptor: ``est.name = value`` is kept for ``get_params``, ``est.name`` is bound."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.method if instance is None else MethodType(self.method, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


class Projecting(TransformerMixin):
    """The method, wrapped by scikit-learn so that ``set_output`` works."""

    def transform(self, X: Any) -> Floats:
        """Return Fisher's discriminant coordinates, at most K − 1 columns."""
        x = checked_rows(self, X)
        power = self.moments_.transform
        with np.errstate(invalid="ignore", over="ignore"):
            y = x if power is None else power.apply(x)
            coordinates: Floats = self._space().project(y)
        if not np.isfinite(coordinates).all():
            refuse_unusable(x, self.moments_.feature_names)
        return coordinates


class Coordinates:
    """Discriminant coordinates of a fitted model, and a setting of the same name."""

    moments_: Moments
    divisor: str

    transform = SettingAndMethod(Projecting.transform)

    @property
    def model_(self) -> ClassModel:
        """Densities, posterior and samples."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return every setting by name."""
        params: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        return {**params, "transform": vars(self)["transform"]}

    def _space(self) -> DiscriminantSpace:
        model, centre = self.model_, self.moments_.grand_mean
        within = model.shared_covariance or self._pooled_covariance()
        return DiscriminantSpace.of(model.priors, centre, model.means - centre, within)

    def _pooled_covariance(self) -> Any:
        covariance = "diagonal" if self.moments_.storage == "diagonal" else "full"
        recipe = Recipe.parse(covariance=covariance, tied=True, divisor=self.divisor)
        return recipe.estimate(self.moments_, quiet=True).shared_covariance

    @property
    def _n_features_out(self) -> int:
        return int(self._space().scalings.shape[1])
