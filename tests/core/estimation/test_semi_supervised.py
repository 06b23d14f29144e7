"""Rows without a label: left out and told, or shared out by EM."""

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError, UnusedDataWarning


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 2)) + np.where(y[:, None] == 1, 2.5, 0.0)
    hidden = np.where(np.arange(400) < 12, y, -1)
    return x, y, [None if label < 0 else int(label) for label in hidden]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_rows_without_a_label_are_left_out_with_a_note(rows, kind):
    x, y, hidden = rows
    for estimator in (sf.LDA(), sf.AutoGaussian(), sf.LogisticRegression(l2=1.0)):
        with pytest.warns(UnusedDataWarning, match="388 of 400 rows have no label"):
            found = estimator.fit(x, kind(hidden))
        np.testing.assert_array_equal(
            found.predict_proba(x),
            type(estimator)(**estimator.get_params()).fit(x[:12], y[:12]).predict_proba(x),
        )


def test_weights_follow_the_rows_that_stay(rows):
    x, _, hidden = rows
    w = np.linspace(1, 3, 400)
    with pytest.warns(UnusedDataWarning):
        found = sf.QDA().fit(x, np.array([np.nan if h is None else h for h in hidden]), w)
    assert found.moments_.total_weight == pytest.approx(w[:12].sum())


def test_sharing_out_is_the_textbook_em(rows):
    x, y, hidden = rows
    found = sf.LDA().fit_semisupervised(x, hidden, weight=0.3)
    # plain EM on rows
    p = np.zeros((400, 2))
    p[np.arange(12), y[:12]] = 1
    p[12:] = sf.LDA().fit(x[:12], y[:12]).predict_proba(x[12:])
    for _ in range(500):
        w = np.where(np.arange(400) < 12, 1.0, 0.3)[:, None] * p
        pi, mu = w.sum(0) / w.sum(), (w.T @ x) / w.sum(0)[:, None]
        sigma = sum((w[:, k, None] * (x - mu[k])).T @ (x - mu[k]) for k in range(2)) / w.sum()
        z = [x - m for m in mu]
        score = np.log(pi) - 0.5 * np.stack(
            [(d @ np.linalg.inv(sigma) * d).sum(1) for d in z], 1
        )
        p[12:] = (np.exp(score - score.max(1, keepdims=True)))[12:]
        p[12:] /= p[12:].sum(1, keepdims=True)
    np.testing.assert_allclose(found.means_, mu, atol=1e-4)
    np.testing.assert_allclose(found.covariance_, sigma, atol=1e-4)
    np.testing.assert_allclose(found.priors_, pi, atol=1e-4)


def test_many_rows_without_labels_help_where_the_model_is_right(rows):
    x, y, hidden = rows
    with pytest.warns(UnusedDataWarning):
        alone = sf.QDA().fit(x, hidden).score(x, y)
    helped = sf.QDA().fit_semisupervised(x, hidden)
    assert helped.unlabelled_weight_ > 0
    assert helped.score(x, y) > alone


def test_auto_takes_the_weight_of_least_held_out_loss(rows, monkeypatch):
    from suffice.core.estimation.semi_supervised import WEIGHTS, SemiSupervised

    x, _, hidden = rows
    losses = dict(zip(WEIGHTS, [3.0, 2.0, 0.5, 1.0, 4.0], strict=True))
    monkeypatch.setattr(SemiSupervised, "_loss", lambda self, a, b, u, weight: losses[weight])
    assert sf.LDA().fit_semisupervised(x, hidden).unlabelled_weight_ == WEIGHTS[2]


def test_categories_and_empty_cells_are_shared_out_too(rows):
    x, y, hidden = rows
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(c=np.where(x[:, 0] > 1, "hi", "lo"))
    frame.loc[::9, "b"] = np.nan
    found = sf.LDA().fit_semisupervised(frame, hidden, weight=0.5)
    assert found.score(frame, y) > 0.85
    assert found.moments_.total_weight == pytest.approx(12 + 0.5 * 388)


def test_no_label_at_all_and_words_without_meaning_are_refused(rows):
    x, _, hidden = rows
    with pytest.raises(InvalidInputError, match="no row has a label"):
        sf.LDA().fit(x, [None] * 400)
    for word in (-0.1, 2, "some"):
        with pytest.raises(InvalidParameterError, match="weight must be"):
            sf.LDA().fit_semisupervised(x, hidden, weight=word)
