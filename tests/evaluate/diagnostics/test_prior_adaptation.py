"""New priors from unlabelled rows: a changed copy, and what was found."""

import numpy as np
import pytest

import suffice as sf
from suffice.diagnostics import adapt_priors, drift
from suffice.errors import InvalidParameterError


def test_the_copy_has_the_new_priors_and_the_model_keeps_its_own(iris):
    X, y = iris
    lda = sf.LDA().fit(X, y)
    adapted, shift = adapt_priors(lda, X[:75])
    assert isinstance(adapted, sf.LDA)
    np.testing.assert_allclose(adapted.priors_, shift.priors)
    assert shift.priors == pytest.approx([2 / 3, 1 / 3, 0], abs=0.01)
    assert lda.priors_ == pytest.approx([1 / 3] * 3)


def test_drift_is_refused_for_a_model_without_moments(iris):
    X, y = iris
    with pytest.raises(InvalidParameterError, match="LogisticRegression keeps none"):
        drift(sf.LogisticRegression().fit(X, y), X)
