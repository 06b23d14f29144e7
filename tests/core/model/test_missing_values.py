"""Rows with holes: marginals, conditional means and draws against brute force."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_softmax, logsumexp
from scipy.stats import multivariate_normal, multivariate_t

import suffice as sf
from suffice.core.model import class_model, missing_values, rows_by_pattern
from suffice.core.model.class_model import MarginalModel
from suffice.core.model.rows_by_pattern import MissingPatterns
from suffice.errors import InvalidInputError, InvalidParameterError

D, K = 4, 3
MODELS = {
    "full": {"tied": False},
    "tied": {"tied": True},
    "partly tied": {"tied": [[0, 1], [2]]},
    "diagonal": {"covariance": "diagonal"},
    "spherical": {"covariance": "spherical"},
    "edda": {"covariance": "VEE"},
    "student": {"estimate": "predictive"},
    "tied student": {"estimate": "predictive", "tied": True},
    "power": {"power": "yeo-johnson"},
}


def data(seed=0, n=120, d=D):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2 * rng.normal(size=(K, d))[y]
    return x, y


def fitted(name, seed=0, offset=0.0):
    x, y = data(seed)
    if name == "power":
        x = np.exp(x / 4)
    return sf.GaussianClassifier(**MODELS[name]).fit(x + offset, y).model_.model


def with_holes(x, share, seed=1):
    x = np.array(x)
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    return x


def class_density(model, k, seen):
    """Return log p(x_o | k) as SciPy has it."""
    mean = model.means[k][seen]
    if hasattr(model, "degrees"):
        f, s = model.degrees[k], model.shares[k]
        shape = model.group_shapes[model.group_of[k]].dense()[np.ix_(seen, seen)] / (s * f)
        return multivariate_t(mean, shape, df=f).logpdf
    sigma = model.covariance_of(k).dense()[np.ix_(seen, seen)]
    return multivariate_normal(mean, sigma).logpdf


def brute_densities(model, x):
    """Return log p(x_o | k), row by row, class by class, (n, K)."""
    if hasattr(model, "transform"):
        slopes = np.nansum(model.transform.log_slopes(x), 1)
        return brute_densities(model.inner, model.transform.apply(x)) + slopes[:, None]
    a = np.zeros((len(x), model.n_classes))
    for i, row in enumerate(x):
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            a[i] = [class_density(model, k, seen)(row[seen]) for k in range(model.n_classes)]
    return a


@pytest.fixture
def compiled(monkeypatch):
    """Send even few rows through compiled loops, in short runs."""
    monkeypatch.setattr(missing_values, "SMALL", -1)
    monkeypatch.setattr(rows_by_pattern, "LONGEST_RUN", 2)


@pytest.mark.parametrize("how", ["numpy", "compiled"])
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.9))
def test_marginals_are_those_of_scipy(name, how, seed, share):
    model = fitted(name, seed % 5)
    x = data(seed, n=30)[0] + 3
    x = with_holes(np.exp(x / 4) if name == "power" else x, share, seed)
    x[0] = np.nan
    a = brute_densities(model, x)
    joint = a + model.log_priors
    with pytest.MonkeyPatch.context() as patch:
        if how == "compiled":
            patch.setattr(missing_values, "SMALL", -1)
            patch.setattr(rows_by_pattern, "LONGEST_RUN", 2)
        reader = model.allowing_missing()
        np.testing.assert_allclose(reader.class_log_density(x), a, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(reader.log_joint(x), joint, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(reader.log_density(x), logsumexp(joint, axis=1), rtol=1e-9)
        log_posterior = log_softmax(joint, axis=1)
        np.testing.assert_allclose(
            reader.log_posterior(x), log_posterior, rtol=1e-10, atol=1e-10
        )
        np.testing.assert_allclose(reader.posterior(x), np.exp(log_posterior), atol=1e-10)
        np.testing.assert_array_equal(reader.most_probable(x), joint.argmax(1))
        scores = log_softmax(reader.scores(x), axis=1)
        np.testing.assert_allclose(scores, log_posterior, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_without_anything_has_the_prior(name):
    model = fitted(name).with_priors(np.array([0.5, 0.3, 0.2])).with_temperature(2.5)
    reader, x = model.allowing_missing(), np.full((2, D), np.nan)
    np.testing.assert_allclose(reader.posterior(x), [[0.5, 0.3, 0.2]] * 2, rtol=1e-13)
    np.testing.assert_allclose(reader.log_density(x), 0, atol=1e-15)
    np.testing.assert_array_equal(reader.class_log_density(x), np.zeros((2, K)))


@pytest.mark.parametrize("name", MODELS)
def test_complete_rows_read_as_ever(name):
    model, x = fitted(name), np.exp(data(3)[0] / 4)
    holes = with_holes(x, 0.2)
    whole = ~np.isnan(holes).any(1)
    assert 0 < whole.sum() < len(x)
    for verb in ("posterior", "log_posterior", "log_joint", "log_density", "most_probable"):
        old = getattr(model, verb)(x)
        np.testing.assert_array_equal(getattr(model.allowing_missing(), verb)(x), old)
        np.testing.assert_array_equal(
            getattr(model.allowing_missing(), verb)(holes)[whole],
            getattr(model, verb)(x[whole]),
        )


def test_blocks_of_rows_have_nearly_equal_sizes(monkeypatch):
    """A short last block would be read pattern by pattern, which is much slower."""
    model = fitted("full")
    x = with_holes(data(3, n=101)[0], 0.3)
    expected = model.allowing_missing().posterior(x)
    sizes = []
    read_block = MarginalModel._read_by_completeness

    def recording(self, rows, readout, log_weights):
        sizes.append(len(rows))
        return read_block(self, rows, readout, log_weights)

    monkeypatch.setattr(MarginalModel, "_read_by_completeness", recording)
    monkeypatch.setattr(class_model, "_BLOCK", 50 * D)
    np.testing.assert_allclose(model.allowing_missing().posterior(x), expected, rtol=1e-13)
    assert sorted(sizes) == [33, 34, 34]


def test_patterns_list_complete_rows_first_and_empty_ones_last():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((200, 20)) < 0.1, np.nan, 1.0)
    x[[3, 150]] = np.nan
    x[[7, 8, 199]] = 1.0
    patterns = MissingPatterns.of(x)
    observed = ~np.isnan(x)
    n_complete = int(observed.all(1).sum())
    assert observed[patterns.order[:n_complete]].all()
    assert patterns.order[-2:].tolist() == [3, 150]
    np.testing.assert_array_equal(patterns.n_observed(), observed.sum(1))
    np.testing.assert_array_equal(patterns.order[patterns.places()], np.arange(200))
    for p, pattern in enumerate(patterns.patterns):
        assert (observed[patterns.rows_of(p)] == pattern).all()
    assert len(np.unique(patterns.patterns, axis=0)) == len(patterns.patterns)


def test_classes_that_share_a_covariance_share_that_of_the_marginal():
    marginal = fitted("partly tied").marginal(np.array([True, False, True, True]))
    assert len(marginal.covariances) == 2
    assert marginal.n_features == 3
    assert marginal.covariance_of(0) is marginal.covariance_of(1)


def test_a_marginal_student_t_is_the_integral_of_the_joint_one():
    x, y = data(n=12, d=2)
    model = sf.GaussianClassifier(estimate="predictive").fit(x, y).model_.model
    for k in range(K):

        def joint(v, k=k):
            return np.exp(model.class_log_density(np.array([[0.7, v]]))[0, k])

        centre = model.means[k, 1]
        halves = [
            quad(joint, a, b, epsabs=0, epsrel=1e-10)[0]
            for a, b in ((-np.inf, centre), (centre, np.inf))
        ]
        found = model.marginal(np.array([0])).class_log_density(np.array([[0.7]]))[0, k]
        np.testing.assert_allclose(np.exp(found), sum(halves), rtol=1e-7)


def brute_imputed(model, x):
    if hasattr(model, "transform"):
        return model.transform.inverse(brute_imputed(model.inner, model.transform.apply(x)))
    posterior = np.exp(log_softmax(brute_densities(model, x) + model.log_priors, axis=1))
    shapes = [model.group_shapes[g].dense() for g in model.group_of]
    filled = x.copy()
    for i, row in enumerate(x):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        filled[i, m] = sum(
            p * (mu[m] + s[np.ix_(m, o)] @ np.linalg.solve(s[np.ix_(o, o)], row[o] - mu[o]))
            for p, mu, s in zip(posterior[i], model.means, shapes, strict=True)
        )
    return filled


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.9))
def test_imputed_values_are_conditional_means(name, seed, share):
    model = fitted(name, seed % 5)
    x = with_holes(np.exp(data(seed, n=20)[0] / 4), share, seed)
    x[0] = np.nan
    filled = model.impute(x)
    np.testing.assert_allclose(filled, brute_imputed(model, x), rtol=1e-8, atol=1e-8)
    seen = ~np.isnan(x)
    np.testing.assert_array_equal(filled[seen], x[seen])


@pytest.mark.parametrize("name", ["full", "tied", "diagonal", "student"])
def test_draws_have_the_conditional_moments(name):
    model, n = fitted(name), 40_000
    row = np.array([0.4, np.nan, -0.3, np.nan])
    drawn = model.sample_missing(np.tile(row, (n, 1)), np.random.default_rng(5))
    np.testing.assert_array_equal(drawn[:, [0, 2]], np.tile(row[[0, 2]], (n, 1)))
    free, seen = [1, 3], [0, 2]
    error = drawn[:, free].std(0) / np.sqrt(n)
    assert (abs(drawn[:, free].mean(0) - model.impute(row[None])[0, free]) < 5 * error).all()
    # E[x xᵀ | x_o] by its definition
    posterior = model.allowing_missing().posterior(row[None])[0]
    second = np.zeros((2, 2))
    for k in range(K):
        s, mu = model.group_shapes[model.group_of[k]].dense(), model.means[k]
        gain = np.linalg.solve(s[np.ix_(seen, seen)], s[np.ix_(seen, free)]).T
        y = row[seen] - mu[seen]
        mean, rest = mu[free] + gain @ y, s[np.ix_(free, free)] - gain @ s[np.ix_(seen, free)]
        if name == "student":
            f, share = model.degrees[k], model.shares[k]
            distance = y @ np.linalg.solve(s[np.ix_(seen, seen)], y)
            rest = rest * (1 + share * distance) / share / f  # f + d_o − 2
        second += posterior[k] * (rest + np.outer(mean, mean))
    products = drawn[:, free][:, :, None] * drawn[:, free][:, None]
    error = products.std(0) / np.sqrt(n)
    assert (abs(products.mean(0) - second) < 5 * error).all()


def test_draws_through_a_power_transform_are_draws_of_what_is_transformed():
    model, row = fitted("power"), np.array([[1.2, np.nan, 0.9, np.nan]])
    drawn = model.sample_missing(row, np.random.default_rng(2))
    inner = model.inner.sample_missing(model.transform.apply(row), np.random.default_rng(2))
    np.testing.assert_allclose(model.transform.apply(drawn), inner, rtol=1e-9)
    np.testing.assert_array_equal(drawn[:, [0, 2]], row[:, [0, 2]])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", ["full", "partly tied", "diagonal", "student"])
def test_the_order_of_rows_and_their_storage_change_nothing(name):
    model, x = fitted(name), with_holes(data(2)[0], 0.3).astype(np.float32)
    reader, order = model.allowing_missing(), np.random.default_rng(0).permutation(len(x))
    found = reader.posterior(x)
    np.testing.assert_array_equal(reader.posterior(x[order]), found[order])
    np.testing.assert_array_equal(reader.posterior(np.asfortranarray(x)), found)
    np.testing.assert_array_equal(reader.posterior(x.astype(np.float64)), found)


@pytest.mark.parametrize("small", [-1, 100_000])
@pytest.mark.parametrize("name", ["full", "tied", "diagonal", "student"])
def test_far_from_the_origin_no_digits_are_lost(name, small, monkeypatch):
    monkeypatch.setattr(missing_values, "SMALL", small)
    near, far = fitted(name), fitted(name, offset=2.0**27)
    x = np.round(with_holes(data(2)[0], 0.3) * 2**20) / 2**20
    expected = near.allowing_missing().posterior(x)
    np.testing.assert_allclose(
        far.allowing_missing().posterior(x + 2.0**27), expected, atol=1e-5
    )
    np.testing.assert_allclose(far.impute(x + 2.0**27) - 2.0**27, near.impute(x), atol=1e-4)


@pytest.mark.usefixtures("compiled")
def test_patterns_of_more_columns_than_a_word_has_bits():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 70)), np.arange(400) % 2
    model = sf.LDA(shrinkage=0.3).fit(x, y).model_.model
    x[::2, 66] = x[::3, 1] = np.nan
    assert len(MissingPatterns.of(x).patterns) == 4
    expected = [model.allowing_missing().log_density(row[None])[0] for row in x[:12]]
    np.testing.assert_allclose(
        model.allowing_missing().log_density(x)[:12], expected, rtol=1e-12
    )
    np.testing.assert_allclose(
        expected[:3],
        logsumexp(brute_densities(model, x[:3]) + model.log_priors, axis=1),
        rtol=1e-10,
    )


@pytest.mark.usefixtures("compiled")
def test_a_nearly_singular_marginal_is_factored_with_care():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    x[:, 1] = x[:, 0] + 3e-7 * x[:, 1]
    model = sf.QDA().fit(x, y).model_.model
    rows = with_holes(x, 0.2)
    compiled = model.allowing_missing().class_log_density(rows)
    assert np.isfinite(compiled).all()
    exact = np.concatenate([_alone(model, row) for row in rows])
    np.testing.assert_allclose(compiled, exact, rtol=1e-6)


def _alone(model, row):
    seen = np.flatnonzero(~np.isnan(row))
    if not len(seen):
        return np.zeros((1, model.n_classes))
    return model.marginal(seen).class_log_density(row[None, seen])


def test_infinities_and_rows_out_of_reach_are_refused_by_name():
    model, x = fitted("full"), with_holes(data()[0], 0.3)
    x[7, 2] = np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 7, column 2"):
        model.allowing_missing().posterior(x)
    x[7, 2] = 1e200
    with pytest.raises(InvalidInputError, match="row 7 is so far"):
        model.allowing_missing().posterior(x)
    power, x = fitted("power"), np.abs(x)
    x[7, 2] = np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 7, column 2"):
        power.allowing_missing().log_density(x)
    with pytest.raises(InvalidInputError, match="NaN: row"):
        model.posterior(with_holes(data()[0], 0.3))


def test_a_model_of_levels_has_no_marginal():
    x, y = data()
    rows = pd.DataFrame({"number": x[:, 0], "level": np.where(x[:, 1] > 0, "a", "b")})
    model = sf.GaussianClassifier(covariance="tree").fit(rows, y).model_.model
    with pytest.raises(InvalidParameterError, match="no marginal"):
        model.marginal(np.array([0]))


def test_an_average_integrates_where_it_can_and_fills_the_rest():
    x, y = data(n=200)
    fit = sf.AutoGaussian().fit(x, y)
    model, rows = fit.model_.model, with_holes(x, 0.2)
    rows[0] = np.nan
    found = model.allowing_missing().posterior(rows)
    mixture = np.zeros((len(rows), 3))
    for share in model.shares:
        if share.view.by_feature:
            p = np.exp(
                log_softmax(
                    (
                        brute_densities(share.model, share.view.apply(rows))
                        + share.model.log_priors
                    )
                    / share.model.temperature,
                    axis=1,
                )
            )
        else:
            p = share.model.posterior(share.view.apply(model.best.impute(rows)))
        mixture += share.weight * p
    powers = mixture ** (1 / model.temperature)
    tempered = powers / powers.sum(1, keepdims=True)
    expected = model.doubt * model.frequencies + (1 - model.doubt) * tempered
    expected[0] = model.frequencies
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(1), 1)
    np.testing.assert_array_equal(model.allowing_missing().posterior(x), model.posterior(x))


def test_a_classifier_allows_missing_values_when_told_to():
    x, y = data()
    fitted, rows = sf.QDA().fit(x, y).model_, with_holes(x, 0.3)
    classifier = replace(fitted, allow_missing=False)
    with pytest.raises(InvalidInputError, match="contains NaN"):
        classifier.predict(rows)
    allowing = classifier.allowing_missing()
    posterior = allowing.posterior(rows)
    np.testing.assert_array_equal(
        allowing.predict(rows), classifier.classes[posterior.argmax(1)]
    )
    np.testing.assert_array_equal(classifier.impute(rows), classifier.model.impute(rows))
    linear = sf.LogisticRegression().fit(x, y).model_.allowing_missing()
    with pytest.raises(
        InvalidInputError, match=r"NaN: row .*, column .*\. Drop such rows, or impute"
    ):
        linear.posterior(rows)


@pytest.mark.slow
def test_few_rows_do_not_import_numba():
    code = (
        "import sys, numpy as np, suffice as sf\n"
        "x = np.random.default_rng(0).normal(size=(50, 3))\n"
        "model = sf.QDA().fit(x, np.arange(50) % 2).model_.model\n"
        "numba = 'numba' in sys.modules\n"
        "x[::2, 1] = np.nan\n"
        "model.allowing_missing().posterior(x); model.impute(x)\n"
        "assert numba or 'numba' not in sys.modules\n"
        "assert 'suffice.core.model.loops' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_of_tiny_and_huge_units_read_alike_alone_and_among_many():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    x = (rng.normal(size=(240, 8)) @ rng.normal(size=(8, 8)) + y[:, None]) * 10.0 ** np.arange(
        -8, 8, 2
    )
    model = sf.LDA().fit(x, y)
    holed = np.tile(x, (20, 1))
    holed[rng.random(holed.shape) < 0.3] = np.nan
    few = np.vstack([model.predict_proba(part) for part in np.array_split(holed, 240)])
    np.testing.assert_allclose(model.predict_proba(holed), few, rtol=0, atol=1e-10)
