"""A masked cell is a missing value, and a masked label a missing label, wherever rows are taken."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, SufficeWarning, UnusedDataWarning

ESTIMATORS = [
    sf.GaussianNB(),
    sf.LDA(),
    sf.QDA(),
    sf.GaussianClassifier(missing="indicator"),
    sf.MixtureClassifier(n_components=1),
]


@pytest.fixture
def tables(iris):
    """Return rows with masked cells, the same with NaN, and labels."""
    X, y = iris
    mask = np.random.default_rng(0).random(X.shape) < 0.05
    return np.ma.masked_array(X, mask), np.where(mask, np.nan, X), y


def same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_fit_and_predict_take_masked_cells_as_missing(tables, estimator):
    masked, holes, y = tables
    expected = estimator.fit(holes, y).predict_proba(holes)
    fitted = estimator.fit(masked, y)
    same(fitted.predict_proba(masked), expected)
    same(fitted.predict_proba(holes), expected)
    same(fitted.predict(masked), fitted.predict(holes))
    assert fitted.score(masked, y) == fitted.score(holes, y)
    if hasattr(fitted, "decision_function"):
        same(fitted.decision_function(masked), fitted.decision_function(holes))


def test_batches_and_forgetting_take_masked_cells_as_missing(tables):
    masked, holes, y = tables
    a = sf.QDA().partial_fit(masked[::2], y[::2]).partial_fit(masked[1::2], y[1::2])
    b = sf.QDA().partial_fit(holes[::2], y[::2]).partial_fit(holes[1::2], y[1::2])
    same(a.predict_proba(holes), b.predict_proba(holes))
    same(
        a.forget(masked[:9], y[:9]).predict_proba(holes),
        b.forget(holes[:9], y[:9]).predict_proba(holes),
    )


def test_sums_take_masked_cells_as_missing(tables):
    masked, holes, y = tables
    expected = sf.Moments.of(holes, y)
    for sums in (
        sf.Moments.of(masked, y),
        sf.summarize(masked, y),
        sf.summarize(iter([(masked, y)])),
    ):
        same(sums.counts, expected.counts)
        np.testing.assert_allclose(sums.means, expected.means, rtol=1e-12)
        np.testing.assert_allclose(sums.scatters, expected.scatters, rtol=1e-9)


def test_validation_and_scoring_take_masked_cells_as_missing(tables, tmp_path):
    masked, holes, y = (rows[::2] for rows in tables)
    a = sf.cross_validate(sf.QDA(), masked, y)
    b = sf.cross_validate(sf.QDA(), holes, y)
    assert repr(a) == repr(b)
    same(
        sf.leave_one_out(sf.LDA(), masked, y).logs,
        sf.leave_one_out(sf.LDA(), holes, y).logs,
    )
    model = sf.QDA().fit(holes, y)
    answers = []
    for number, rows in enumerate((masked, holes)):
        path = tmp_path / f"{number}.csv"
        with pytest.warns(SufficeWarning, match="without column names"):
            sf.streams.predict_stream(model, rows, path)
        answers.append(path.read_text())
    assert answers[0] == answers[1]


def test_masked_text_is_a_missing_level():
    text = np.array([["a", "u"], ["b", "v"], ["a", "v"], ["c", "u"]] * 5, object)
    mask = np.zeros(text.shape, bool)
    mask[3::4, 0] = True
    y = np.array([0, 1, 1, 0] * 5)
    empty = text.copy()
    empty[mask] = None
    masked = np.ma.masked_array(text, mask)
    expected = sf.Moments.of(empty, y, names=["s", "t"])
    sums = sf.Moments.of(masked, y, names=["s", "t"])
    assert sums.schema == expected.schema
    assert "c" not in sums.schema.categories[0].levels
    fitted = sf.GaussianClassifier(covariance="tree").fit(masked, y)
    assert "c" not in fitted.moments_.schema.categories[0].levels
    same(fitted.predict_proba(masked), fitted.predict_proba(empty))
    assert "c" not in sf.summarize(masked, y).schema.categories[0].levels


def test_masked_labels_are_missing_labels(iris):
    X, y = iris
    mask = np.arange(len(y)) % 10 == 3
    masked = np.ma.masked_array(y, mask)
    with pytest.warns(UnusedDataWarning, match="15 of 150 rows have no label"):
        fitted = sf.GaussianNB().fit(X, masked)
    same(fitted.predict_proba(X), sf.GaussianNB().fit(X[~mask], y[~mask]).predict_proba(X))
    with pytest.raises(InvalidInputError, match="row 3 has no label"):
        sf.Moments.of(X, masked)
    codes = np.unique(y, return_inverse=True)[1]
    with pytest.warns(UnusedDataWarning, match="15 of 150 rows have no label"):
        fitted = sf.GaussianNB().fit(X, np.ma.masked_array(codes, mask))
    assert fitted.moments_.counts.sum() == 135
    with pytest.raises(InvalidInputError, match="row 3 has no label"):
        fitted.score(X, np.ma.masked_array(codes, mask))


def test_masked_weights_are_refused_as_nan_is(iris):
    X, y = iris
    w = np.ma.masked_array(np.ones(len(y)), np.arange(len(y)) == 7)
    labels = y.astype(object)
    labels[0] = None
    for fit in (sf.GaussianNB().fit, sf.LDA().fit, sf.LogisticRegression().fit, sf.Moments.of):
        with pytest.raises(InvalidInputError, match="sample_weight of row 7 is masked"):
            fit(X, y, w)
    with (
        pytest.warns(UnusedDataWarning, match="1 of 150 rows"),
        pytest.raises(InvalidInputError, match="sample_weight of row 6 is masked"),
    ):
        sf.GaussianNB().fit(X, labels, w)


def test_models_that_need_complete_rows_refuse_masked_cells(tables):
    masked, _, y = tables
    for estimator in (sf.Perceptron(), sf.LeastSquaresClassifier()):
        with pytest.raises(ValueError, match="NaN"):
            estimator.fit(masked, y)
