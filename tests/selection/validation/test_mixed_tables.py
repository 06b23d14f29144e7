"""Held-out predictions of tables with categories are those of models fitted without the rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

import suffice as sf
from suffice.errors import FeatureMismatchError

WORDS = [
    {"tied": True},
    {"pooling": 0.3},
    {"estimate": "predictive"},
    {"covariance": "diagonal"},
    {"covariance": "auto"},
    {"covariance": "diagonal", "missing": "indicator"},
    {"covariance": "tree"},
    {"covariance": "tree", "tied": True, "missing": "indicator"},
    {"shrinkage": 0.3, "missing": "indicator"},
    {"covariance": "diagonal", "missing": "indicator", "power": sf.PowerTransform([0.5, 1.4])},
    {"shrinkage": "oas", "missing": "indicator", "power": sf.PowerTransform([0.5, 1.4])},
]


def table(rng, n=90, *, holes):
    y = np.repeat(["a", "b", "c"], n // 3)
    code = np.repeat([0, 1, 2], n // 3)
    colour = np.array(list("rgb"))[
        (rng.integers(2, size=n) + (rng.random(n) < 0.3) * code) % 3
    ]
    x = rng.normal(size=n) + code + (colour == "r")
    x = np.where(holes & (rng.random(n) < 0.2), np.nan, x)
    size = rng.choice(["s", "m", "l"], n)
    return pd.DataFrame({"colour": colour, "x": x, "z": rng.normal(size=n), "size": size}), y


@pytest.mark.parametrize("refit_priors", [True, False])
@pytest.mark.parametrize("words", WORDS, ids=str)
def test_a_row_left_out_is_judged_by_the_model_of_the_others(words, refit_priors):
    df, y = table(np.random.default_rng(0), 60, holes="missing" in words)
    estimator = sf.GaussianClassifier(**words)
    found = sf.leave_one_out(estimator, df, y, refit_priors=refit_priors).log_posteriors
    for i in (0, 21, 42, 59):
        rest = np.arange(len(y)) != i
        priors = {} if refit_priors else {"priors": np.full(3, 1 / 3)}
        own = sf.GaussianClassifier(**words, **priors).fit(df[rest], y[rest])
        np.testing.assert_allclose(found[i], own.predict_log_proba(df.iloc[[i]])[0], atol=1e-9)


@pytest.mark.parametrize("words", WORDS, ids=str)
def test_rows_that_come_in_parts_are_learnt_as_all_at_once(words):
    df, y = table(np.random.default_rng(3), holes="missing" in words)
    whole, parts = sf.GaussianClassifier(**words).fit(df, y), sf.GaussianClassifier(**words)
    for rows in (slice(0, 40), slice(40, 75), slice(75, 90)):
        parts.partial_fit(df[rows], y[rows])
    np.testing.assert_allclose(parts.predict_proba(df), whole.predict_proba(df), atol=1e-9)
    if "power" in words:
        assert parts.log_likelihood() == pytest.approx(whole.log_likelihood(), rel=1e-9)
    rest = parts.forget(df[75:], y[75:])
    alone = sf.GaussianClassifier(**words).fit(df[:75], y[:75])
    np.testing.assert_allclose(rest.predict_proba(df), alone.predict_proba(df), atol=1e-7)


@pytest.mark.parametrize("words", [{"divisor": "averaged"}, {"shrinkage": "ledoit-wolf"}])
def test_what_fit_refuses_is_not_left_out_either(words):
    df, y = table(np.random.default_rng(4), holes=False)
    estimator = sf.GaussianClassifier(tied=True, **words)
    for answer in (estimator.fit, lambda X, y: sf.leave_one_out(estimator, X, y)):
        with pytest.raises(ValueError, match=r"numeric columns|must hold numbers"):
            answer(df, y)


@pytest.mark.parametrize("words", WORDS, ids=str)
def test_folds_are_judged_by_the_model_of_the_others(words):
    df, y = table(np.random.default_rng(1), holes="missing" in words)
    estimator, folds = sf.GaussianClassifier(**words), StratifiedKFold(3)
    found = sf.cross_validate(estimator, df, y, cv=folds).to_frame()["log_loss"][0]
    expected = -cross_val_score(estimator, df, y, cv=folds, scoring="neg_log_loss").mean()
    assert found == pytest.approx(expected, rel=1e-6)


def test_rows_without_their_levels_are_refused_by_a_model_of_both():
    df, y = table(np.random.default_rng(2), holes=False)
    fitted = sf.GaussianClassifier(covariance="tree").fit(df, y)
    with pytest.raises(FeatureMismatchError, match="rows have 2 columns, but the model has 6"):
        fitted.model_.model.posterior(df[["x", "z"]].to_numpy())
