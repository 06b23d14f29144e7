"""Prediction in the first discriminant coordinates, loadings, and likelihoods of given rows."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError

X, Y = load_wine(return_X_y=True)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_reduced_rank_is_lda_of_the_first_coordinates(rank, shrinkage):
    reduced = sf.LDA(n_components=rank, shrinkage=shrinkage).fit(X, Y)
    z = sf.LDA(shrinkage=shrinkage).fit(X, Y).transform(X)[:, :rank]
    # within classes the coordinates are uncorrelated with variance 1 under the model's Σ
    means = np.stack([z[k == Y].mean(0) for k in range(3)])
    scores = -0.5 * ((z[:, None] - means) ** 2).sum(2) + np.log(np.bincount(Y) / len(Y))
    expected = np.exp(scores - scores.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(reduced.predict_proba(X), expected, atol=1e-10)
    assert reduced.transform(X).shape == (len(X), rank)


def test_all_coordinates_change_nothing():
    full = sf.LDA().fit(X, Y).predict_log_proba(X)
    np.testing.assert_allclose(sf.LDA(n_components=2).fit(X, Y).predict_log_proba(X), full)


def test_cross_validation_and_leave_one_out_equal_refitting():
    one = sf.LDA(n_components=1)
    rest = np.arange(len(Y)) != 7
    left_out = one.fit(X[rest], Y[rest]).predict_log_proba(X[7:8])
    np.testing.assert_allclose(
        sf.leave_one_out(sf.LDA(n_components=1), X, Y).logs[7:8], left_out, atol=1e-8
    )


def test_other_priors_have_their_own_first_coordinate(tmp_path):
    priors, path = [0.05, 0.05, 0.9], tmp_path / "one.suffice"
    changed = sf.LDA(n_components=1).fit(X, Y).with_priors(priors)
    changed.save(path)
    again = sf.LDA(n_components=1, priors=priors).fit(X, Y)
    for other in (changed, sf.load(path)):
        np.testing.assert_allclose(other.predict_proba(X), again.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(other.transform(X), again.transform(X), atol=1e-10)


def test_priors_of_all_rows_have_their_own_first_coordinate_in_every_fold():
    one, kept = sf.LDA(n_components=1), X[:, :3]
    shares = sf.LDA(n_components=1, priors=np.bincount(Y[30:]) / len(Y[30:]))
    folds = [(np.arange(20, 148), np.arange(20))]
    fixed = sf.cross_validate(one, kept[30:], Y[30:], cv=folds, refit_priors=False)
    given = sf.cross_validate(shares, kept[30:], Y[30:], cv=folds)
    np.testing.assert_allclose(fixed.fold_losses, given.fold_losses, rtol=1e-9)
    left_out = sf.leave_one_out(one, kept[30:], Y[30:], refit_priors=False).logs
    expected = sf.leave_one_out(shares, kept[30:], Y[30:]).logs
    np.testing.assert_allclose(left_out, expected, rtol=1e-9)


def test_a_predictive_density_has_all_components_and_fewer_coordinates():
    few = sf.LDA(n_components=1, estimate="predictive").fit(X, Y)
    every = sf.LDA(estimate="predictive").fit(X, Y)
    np.testing.assert_array_equal(few.predict_proba(X), every.predict_proba(X))
    np.testing.assert_array_equal(few.transform(X), every.transform(X)[:, :1])
    with pytest.raises(InvalidParameterError, match="integer"):
        sf.LDA(n_components=0).fit(X, Y)


def test_loadings_are_correlations_within_classes():
    fitted = sf.LDA().fit(X, Y)
    within = X - np.stack([X[k == Y].mean(0) for k in range(3)])[Y]
    z = within @ fitted.discriminants_.scalings
    expected = np.corrcoef(within.T, z.T)[: X.shape[1], X.shape[1] :]
    np.testing.assert_allclose(fitted.discriminants_.loadings, expected, atol=1e-10)


def test_the_likelihood_of_given_rows_is_that_of_the_moments_and_labels_are_checked():
    fitted = sf.QDA().fit(X, Y)
    assert fitted.log_likelihood(X, Y) == pytest.approx(fitted.log_likelihood())
    some = fitted.log_likelihood(X[::2], Y[::2]) + fitted.log_likelihood(X[1::2], Y[1::2])
    assert some == pytest.approx(fitted.log_likelihood())
    with pytest.raises(UnknownLabelError, match="label 9"):
        fitted.log_likelihood(X[:1], [9])
    with pytest.raises(InvalidInputError, match="2 rows but y has 1"):
        fitted.log_likelihood(X[:2], [0])
    with pytest.raises(InvalidParameterError, match="give X and y"):
        fitted.log_likelihood(X)


def test_adapted_priors_are_tested_by_their_likelihood():
    fitted = sf.LDA().fit(X, Y)
    rows = X[Y > 0]
    adapted, shift = sf.diagnostics.adapt_priors(fitted, rows)
    assert adapted.priors_ == pytest.approx([0, 71 / 119, 48 / 119], abs=0.01)
    gain = adapted.model_.log_density(rows).sum() - fitted.model_.log_density(rows).sum()
    assert shift.statistic == pytest.approx(2 * gain, rel=1e-6)
    assert shift.p_value < 1e-6
    assert sf.diagnostics.adapt_priors(fitted, X)[1].p_value > 0.5
