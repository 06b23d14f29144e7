"""Replace classes of scikit-learn with those of suffice, for code that cannot be edited."""

import sys
from collections.abc import Mapping
from threading import Lock

from suffice.estimators.dropin.counts import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    MultinomialNB,
)
from suffice.estimators.dropin.gaussian import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from suffice.estimators.dropin.logistic import LogisticRegression

_OURS = (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)
# each of our classes extends the class of scikit-learn that it replaces
_THEIRS: Mapping[type, type] = {ours: ours.__bases__[-1] for ours in _OURS}
_LOCK = Lock()


def patch() -> None:
    """Replace eight classifiers in all loaded modules of scikit-learn with those of suffice.

    Call this function before other code imports scikit-learn's classes. ``unpatch`` restores them.

    Examples
    --------
    >>> import suffice.sklearn
    >>> suffice.sklearn.patch()
    >>> from sklearn.naive_bayes import GaussianNB
    >>> GaussianNB is suffice.sklearn.GaussianNB
    True
    >>> suffice.sklearn.unpatch()
    """
    _replace({theirs: ours for ours, theirs in _THEIRS.items()})


def unpatch() -> None:
    """Restore the classifiers of scikit-learn.

    Examples
    --------
    >>> import suffice.sklearn
    >>> suffice.sklearn.unpatch()
    """
    _replace(_THEIRS)


def _replace(substitutes: Mapping[type, type]) -> None:
    """Replace classes, given as {old: new}, in every loaded module of scikit-learn."""
    with _LOCK:
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] != "sklearn" or module is None:
                continue
            for attribute, value in list(vars(module).items()):
                if isinstance(value, type) and value in substitutes:
                    setattr(module, attribute, substitutes[value])
