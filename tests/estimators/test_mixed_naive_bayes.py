"""Naive Bayes over numbers, categories and counts is the product of its parts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import suffice as sf
from suffice.errors import (
    FeatureMismatchError,
    FileFormatError,
    ForgetError,
    InvalidInputError,
    InvalidParameterError,
)
from suffice.persistence.load import load_classifier

KINDS = {"word_*": "multinomial", "click_*": "poisson", "seen": "bernoulli"}


def mixed_table(n=90, seed=0):
    r = np.random.default_rng(seed)
    y = np.arange(n) % 3
    columns = {
        "size": r.normal(size=n) + y,
        "word_a": r.poisson(1 + y),
        "zone": np.array(["n", "s", "w"])[(y + r.integers(0, 2, n)) % 3],
        "word_b": r.poisson(3 - y),
        "click_x": r.poisson(1.0 + y),
        "seen": r.integers(0, 2 + y),
        "age": r.normal(size=n) * (1 + y),
    }
    return pd.DataFrame(columns), np.array(["a", "b", "c"])[y]


def posterior_of_parts(x, y, rows):
    """Return the posteriors by the separate models of each group of columns."""
    priors = np.log(np.unique(y, return_counts=True)[1] / len(y))
    log_joint = np.tile(priors, (len(rows), 1))
    parts = [
        (sf.GaussianNB(), ["size", "zone", "age"]),
        (sf.CountNB("multinomial"), ["word_a", "word_b"]),
        (sf.CountNB("poisson"), ["click_x"]),
        (sf.CountNB("bernoulli"), ["seen"]),
    ]
    for model, columns in parts:
        fitted = model.fit(x[columns], y).model_
        log_joint += fitted.class_log_density(rows[columns])
    unscaled = np.exp(log_joint - log_joint.max(1, keepdims=True))
    return unscaled / unscaled.sum(1, keepdims=True)


@pytest.mark.parametrize("kind_of_frame", ["pandas", "polars"])
def test_the_posterior_is_that_of_the_product_of_the_parts(kind_of_frame):
    x, y = mixed_table()
    new, _ = mixed_table(20, seed=1)
    expected = posterior_of_parts(x, y, new)
    if kind_of_frame == "polars":
        x, new = pl.DataFrame(x), pl.DataFrame(new)
    model = sf.MixedNB(KINDS).fit(x, y)
    assert np.allclose(model.predict_proba(new), expected, rtol=0, atol=1e-12)
    assert np.allclose(np.exp(model.predict_log_proba(new)), expected, rtol=0, atol=1e-12)


def test_columns_of_numbers_alone_are_read_from_arrays_by_position():
    x, y = mixed_table()
    rows = x.drop(columns="zone").to_numpy(float)
    model = sf.MixedNB({"x[13]": "poisson"}).fit(rows[:, [0, 1, 5, 2]], y)
    gaussian = sf.GaussianNB().fit(rows[:, [0, 5]], y).model_
    counts = sf.CountNB("poisson").fit(rows[:, [1, 2]], y).model_
    log_joint = gaussian.class_log_density(rows[:, [0, 5]])
    log_joint = log_joint + counts.class_log_density(rows[:, [1, 2]]) + np.log(1 / 3)
    found = model.model_.class_log_density(rows[:, [0, 1, 5, 2]]) + np.log(1 / 3)
    assert np.allclose(found, log_joint, rtol=1e-12)


def test_without_kinds_it_is_gaussian_naive_bayes():
    x, y = mixed_table()
    ours = sf.MixedNB().fit(x, y).predict_proba(x)
    assert np.allclose(ours, sf.GaussianNB().fit(x, y).predict_proba(x), rtol=0, atol=1e-13)


def test_counts_alone_are_the_model_of_counts():
    x, y = mixed_table()
    words = x[["word_a", "word_b"]]
    ours = sf.MixedNB({"word_*": "multinomial"}, alpha=0.3).fit(words, y).predict_proba(words)
    expected = sf.CountNB(alpha=0.3).fit(words, y).predict_proba(words)
    assert np.allclose(ours, expected, rtol=0, atol=1e-13)


def test_columns_of_two_multinomial_patterns_have_two_totals():
    x, y = mixed_table()
    rows = x[["word_a", "word_b", "click_x", "seen"]]
    together = {"[wcs]*": "multinomial"}
    apart = {"word_*": "multinomial", "[cs]*": "multinomial"}
    one = sf.MixedNB(together).fit(rows, y).predict_proba(rows)
    two = sf.MixedNB(apart).fit(rows, y).predict_proba(rows)
    assert np.abs(one - two).max() > 0.01


def test_a_categorical_pattern_reads_numbers_as_levels():
    x, y = mixed_table()
    rows = x[["size", "word_a"]]
    ours = sf.MixedNB({"word_a": "categorical"}).fit(rows, y)
    expected = sf.GaussianNB(categorical=["word_a"]).fit(rows, y)
    assert np.allclose(ours.predict_proba(rows), expected.predict_proba(rows), atol=1e-13)


def test_chunks_merged_sums_and_forgetting_give_the_model_of_one_fit():
    x, y = mixed_table()
    whole = sf.MixedNB(KINDS).fit(x, y)
    stream = sf.MixedNB(KINDS)
    for rows in np.array_split(np.arange(len(y)), 4):
        stream.partial_fit(x.iloc[rows], y[rows])
    parts = [
        sf.MixedSums.of(x.iloc[rows], y[rows], kinds=KINDS)
        for rows in np.array_split(np.arange(len(y)), 4)
    ]
    merged = sf.MixedNB(KINDS).fit_moments(sum(parts))
    more = sf.MixedNB(KINDS).fit(pd.concat([x, x[:9]]), np.concatenate([y, y[:9]]))
    more.forget(x[:9], y[:9])
    expected = whole.predict_proba(x)
    for model in (stream, merged, more):
        assert np.allclose(model.predict_proba(x), expected, rtol=0, atol=1e-10)


def test_weights_are_numbers_of_rows():
    x, y = mixed_table()
    w = np.arange(len(y)) % 4
    weighted = sf.MixedNB(KINDS).fit(x, y, w)
    rows = np.repeat(np.arange(len(y)), w)
    repeated = sf.MixedNB(KINDS).fit(x.iloc[rows], y[rows])
    assert np.allclose(weighted.predict_proba(x), repeated.predict_proba(x), atol=1e-10)


def test_a_file_gives_the_same_answers_also_without_the_estimator(tmp_path):
    x, y = mixed_table()
    model = sf.MixedNB(KINDS, priors="uniform", costs=sf.Costs(reject=0.3)).fit(x, y)
    model.save(tmp_path / "mixed.suffice")
    loaded = sf.load(tmp_path / "mixed.suffice")
    assert loaded.get_params()["kinds"] == KINDS
    assert (loaded.predict_proba(x) == model.predict_proba(x)).all()
    classifier = load_classifier(tmp_path / "mixed.suffice")
    assert classifier.predict(x).tolist() == model.predict(x).tolist()
    loaded.partial_fit(x, y)
    assert int(loaded.moments_.counts.sum()) == 180


def test_a_file_whose_parts_have_other_rows_is_refused(tmp_path):
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x, y)
    other = sf.MixedNB(KINDS).fit(x[:60], y[:60])
    blocks = (*model.moments_.blocks[:-1], other.moments_.blocks[-1])
    object.__setattr__(model.moments_, "blocks", blocks)
    model.save(tmp_path / "forged.suffice")
    with pytest.raises(FileFormatError, match="other classes or numbers of rows"):
        sf.load(tmp_path / "forged.suffice")


def test_the_likelihood_of_sums_is_that_of_the_rows():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x, y)
    assert model.log_likelihood() == pytest.approx(model.log_likelihood(x, y), rel=1e-10)


def test_parameters_count_the_priors_once():
    x, y = mixed_table()
    model = sf.MixedNB({"word_*": "multinomial"}).fit(x[["size", "word_a", "word_b"]], y)
    # 2 priors, 3 means, 3 variances, one free share of two words in each of three classes
    assert model.model_.n_parameters == 2 + 3 + 3 + 3


def test_priors_costs_and_temperature_change_without_a_fit():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x, y)
    priors = [0.8, 0.1, 0.1]
    expected = sf.MixedNB(KINDS, priors=priors).fit(x, y).predict_proba(x)
    assert np.allclose(model.with_priors(priors).predict_proba(x), expected, atol=1e-12)
    odds = model.decision_function(x)
    warm = sf.MixedNB(KINDS, temperature=2.0).fit(x, y).predict_proba(x)
    assert np.allclose(np.log(warm[:, 0] / warm[:, 1]), (odds[:, 0] - odds[:, 1]) / 2)
    rejecting = model.with_costs(sf.Costs(reject=0.01))
    assert (rejecting.predict(x) == None).any()  # noqa: E711


def test_a_class_that_has_no_rows_is_never_predicted():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).partial_fit(x, y, classes=["a", "b", "c", "d"])
    posterior = model.predict_proba(x)
    assert (posterior[:, 3] == 0).all()
    expected = sf.MixedNB(KINDS).fit(x, y).predict_proba(x)
    assert np.allclose(posterior[:, :3], expected, atol=1e-12)


def test_samples_have_the_columns_and_kinds_of_the_table():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x, y)
    drawn, labels = model.sample(4000, random_state=0)
    assert list(drawn.columns) == list(x.columns)
    assert set(drawn["zone"]) <= {"n", "s", "w"}
    assert (drawn["click_x"] == np.floor(drawn["click_x"])).all()
    again = sf.MixedNB(KINDS).fit(drawn, labels).predict_proba(x)
    assert np.abs(again - model.predict_proba(x)).max() < 0.2


def test_missing_numbers_are_integrated_out_and_missing_counts_are_refused():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x, y)
    holes = x.copy()
    holes.loc[3, "size"] = np.nan
    without = sf.MixedNB(KINDS).fit(x.drop(columns="size"), y)
    expected = without.predict_proba(x.drop(columns="size"))[3]
    assert np.allclose(model.predict_proba(holes)[3], expected, atol=1e-10)
    holes["click_x"] = holes["click_x"].astype(float)
    holes.loc[5, "click_x"] = np.nan
    with pytest.raises(InvalidInputError, match="row 5, column 'click_x'"):
        model.predict(holes)
    with pytest.raises(InvalidInputError, match="row 5, column 'click_x'"):
        sf.MixedNB(KINDS).fit(holes, y)


def test_a_row_is_explained_column_by_column():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x, y)
    explained = model.explain_row(x[:1])
    assert explained.columns == tuple(x.columns)
    log_posterior = np.sort(model.predict_log_proba(x[:1])[0])
    total = explained.reference + explained.parts.sum()
    assert total == pytest.approx(log_posterior[-1] - log_posterior[-2])


@pytest.mark.parametrize(
    ("kinds", "error", "message"),
    [
        ({"wrod_*": "multinomial"}, FeatureMismatchError, "no column has such a name"),
        ({"word_*": "binomial"}, InvalidParameterError, "binomial"),
        ({"word_*": "complement"}, InvalidParameterError, "not densities"),
        ({"w*": "poisson", "word_a": "bernoulli"}, InvalidParameterError, "'word_a' twice"),
        ({0: "poisson"}, InvalidParameterError, "as text"),
        (["word_*"], InvalidParameterError, "must map patterns"),
        ({"zone": "poisson"}, InvalidInputError, "zone"),
        ({"size": "poisson"}, InvalidInputError, "Negative values.*column 'size'"),
    ],
)
def test_kinds_that_do_not_fit_the_table_are_refused(kinds, error, message):
    x, y = mixed_table()
    with pytest.raises(error, match=message):
        sf.MixedNB(kinds).fit(x, y)


def test_sums_of_other_kinds_or_columns_do_not_merge():
    x, y = mixed_table()
    a = sf.MixedSums.of(x, y, kinds=KINDS)
    with pytest.raises(FeatureMismatchError, match="same kinds"):
        a + sf.MixedSums.of(x, y, kinds={**KINDS, "seen": "poisson"})
    with pytest.raises(FeatureMismatchError, match="'size'"):
        a + sf.MixedSums.of(x.drop(columns="size"), y, kinds=KINDS)
    with pytest.raises(InvalidParameterError, match="MixedSums"):
        sf.MixedNB(KINDS).fit_moments(sf.Moments.of(np.eye(3), [0, 1, 2]))


def test_sums_are_added_by_sum_but_not_to_a_number():
    x, y = mixed_table()
    whole = sf.MixedSums.of(x, y, kinds=KINDS)
    assert whole.total_weight == len(y)
    parts = [
        sf.MixedSums.of(x[:90], y[:90], kinds=KINDS),
        sf.MixedSums.of(x[90:], y[90:], kinds=KINDS),
    ]
    np.testing.assert_array_equal(sum(parts).counts, whole.counts)
    with pytest.raises(TypeError):
        1 + whole


def test_sums_of_other_kinds_are_not_read_by_an_estimator():
    x, y = mixed_table()
    sums = sf.MixedSums.of(x, y, kinds=KINDS)
    with pytest.raises(FeatureMismatchError, match="kinds"):
        sf.MixedNB({"word_*": "poisson"}).fit_moments(sums)


def test_rows_that_were_not_learnt_are_not_forgotten():
    x, y = mixed_table()
    model = sf.MixedNB(KINDS).fit(x[:60], y[:60])
    with pytest.raises(ForgetError):
        model.forget(pd.concat([x, x]), np.concatenate([y, y]))
