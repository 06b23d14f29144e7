"""Named corners of the Gaussian family: the same class with other defaults."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from suffice.estimators.gaussian import GaussianClassifier

if TYPE_CHECKING:
    from collections.abc import Callable


def _with_defaults(**defaults: Any) -> Callable[..., None]:
    """Return an ``__init__`` whose signature is the general one with other defaults."""
    general = inspect.signature(GaussianClassifier.__init__)
    parameters = [
        p.replace(default=defaults.get(p.name, p.default)) for p in general.parameters.values()
    ]
    signature = general.replace(parameters=parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        GaussianClassifier.__init__(*bound.args, **bound.kwargs)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


class LDA(GaussianClassifier):
    """Linear discriminant analysis: one covariance for all classes.

    ``GaussianClassifier(tied=True)``; every other parameter and attribute is the same.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import LDA
    >>> LDA().fit(*load_iris(return_X_y=True)).score(*load_iris(return_X_y=True))
    0.98
    """

    __init__ = _with_defaults(tied=True)


class QDA(GaussianClassifier):
    """Quadratic discriminant analysis: one covariance per class.

    ``GaussianClassifier()``; every other parameter and attribute is the same.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import QDA
    >>> QDA().fit(*load_iris(return_X_y=True)).score(*load_iris(return_X_y=True))
    0.98
    """

    __init__ = _with_defaults()


class RDA(GaussianClassifier):
    """Regularised discriminant analysis: between LDA, QDA and naive Bayes, as the data ask.

    ``GaussianClassifier(pooling="auto", shrinkage="auto")``; every other parameter and attribute
    is the same. Both dials are chosen by exact cross-validation.

    References
    ----------
    Friedman (1989), *JASA* 84, 165–175.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import RDA
    >>> RDA(pooling=0.5, shrinkage=0.1).fit(*load_iris(return_X_y=True)).score(
    ...     *load_iris(return_X_y=True)
    ... )
    0.98
    """

    __init__ = _with_defaults(pooling="auto", shrinkage="auto")


class GaussianNB(GaussianClassifier):
    """Gaussian naive Bayes: features independent given the class.

    ``GaussianClassifier(covariance="diagonal")``; every other parameter and attribute is the
    same. Nothing is added to the variances, so a change of units changes nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianNB
    >>> GaussianNB().fit(*load_iris(return_X_y=True)).score(*load_iris(return_X_y=True))
    0.96
    """

    __init__ = _with_defaults(covariance="diagonal")
