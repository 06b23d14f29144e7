"""EM of mixtures: the same as scikit-learn, R, brute force, and one Gaussian where it is one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

import suffice as sf
from suffice.core.estimation import fit_mixtures as mixtures
from suffice.core.estimation import mixture_rows
from suffice.core.estimation.fit_mixtures import choose_counts, fit_mixtures
from suffice.core.estimation.k_means import k_means
from suffice.core.estimation.mixture_em import MixtureProblem
from suffice.core.estimation.mixture_rows import MixtureRows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.model.mixture import MixtureModel
from suffice.core.table import Table
from suffice.core.table.sampling import ranks_within
from suffice.core.threads import at_most
from suffice.errors import DegenerateDataWarning, InvalidInputError, NotConvergedWarning

ALONE = MixtureSettings(prior_rows=0.0)  # maximum likelihood
REFERENCE = Path(__file__).parents[2] / "reference" / "data"


def blobs(seed=0, n=300, d=3, n_classes=3, per_class=2, apart=3.0):
    """Return rows of classes with several centres each."""
    rng = np.random.default_rng(seed)
    y, part = np.arange(n) % n_classes, rng.integers(per_class, size=n)
    centres = apart * rng.normal(size=(n_classes, per_class, d))
    mix = np.eye(d) + 0.4 * rng.normal(size=(n_classes, per_class, d, d))
    return np.einsum("nij,nj->ni", mix[y, part], rng.normal(size=(n, d))) + centres[y, part], y


def problem(how, x, y, counts, weight=None, classes=None):
    """Return the problem of some classes, their rows, and a start."""
    data = MixtureRows.of(Table.of(x, y, weight), how, quiet=True)
    own = MixtureProblem(how, data, classes or list(range(len(counts))), counts)
    rows = [data.rows[k] for k in own.classes]
    own, start = own.start(rows, np.random.default_rng(0))
    return own, rows, start


@pytest.mark.parametrize(
    ("how", "alone"),
    [
        (MixtureSettings(), sf.QDA()),
        (MixtureSettings(tied="class", prior_rows=7.0), sf.QDA()),
        (MixtureSettings(tied=True), sf.LDA()),
        (MixtureSettings("diagonal"), sf.GaussianNB()),
        (MixtureSettings("diagonal", True), sf.GaussianClassifier("diagonal", tied=True)),
    ],
)
@given(seed=st.integers(0, 1000), holes=st.booleans())
@settings(max_examples=4, deadline=None)
def test_one_component_is_the_gaussian_of_its_class(how, alone, seed, holes):
    x, y = blobs(seed, n=90)
    x = 10.0 ** np.array([-6, 0, 6]) * (x + 5)
    weight = np.random.default_rng(seed).uniform(0.2, 3, len(y))
    if holes:
        x[np.random.default_rng(seed).random(x.shape) < 0.1] = np.nan
    model, _ = fit_mixtures(Table.of(x, y, weight), [1, 1, 1], how, 0)
    one = alone.fit(x, y, weight)
    new = np.where(np.isnan(x), 0.0, x)
    np.testing.assert_allclose(model.posterior(new), one.predict_proba(new), atol=1e-10)
    assert model.class_log_density(new) == pytest.approx(
        one.model_.class_log_density(new), rel=1e-10
    )


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_the_same_start_leads_to_the_likelihood_of_scikit_learn(kind):
    x, y = blobs(n=900)
    words = {"full": ("full", False), "tied": ("full", "class"), "diag": ("diagonal", False)}[
        kind
    ]
    how = MixtureSettings(*words, prior_rows=0.0, max_iter=25, tol=-1.0)
    own, rows, start = problem(how, x, y, [3], classes=[1])
    run = own.run(rows, start)
    precisions = np.stack([c.dense_precision() for c in start.covariances])
    given_ = {
        "full": precisions,
        "tied": precisions[0],
        "diag": precisions[:, range(3), range(3)],
    }
    theirs = GaussianMixture(
        3,
        covariance_type=kind,
        reg_covar=0,
        tol=0,
        max_iter=25,
        weights_init=start.priors,
        means_init=start.means,
        precisions_init=given_[kind],
    )
    with pytest.warns(Warning, match="converge"):
        theirs.fit(x[y == 1])
    found = MixtureModel(np.zeros(1), run.model, np.zeros(3, int))
    np.testing.assert_allclose(run.model.means, theirs.means_, rtol=1e-8)
    np.testing.assert_allclose(run.model.priors, theirs.weights_, rtol=1e-8)
    new = blobs(5)[0]
    np.testing.assert_allclose(found.log_density(new), theirs.score_samples(new), rtol=1e-8)


def direct_step(x, w, shares, means, sigmas):
    """Return one EM step over rows with holes, row by row, and the observed log-likelihood."""
    k, d = means.shape
    total, s, t, u = 0.0, np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    for row, weight in zip(x, w, strict=True):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        logs = np.log(shares)
        if len(o):
            parts = zip(means, sigmas, strict=True)
            logs = logs + [
                multivariate_normal(a[o], b[np.ix_(o, o)]).logpdf(row[o]) for a, b in parts
            ]
        total += weight * logsumexp(logs)
        for r, p in enumerate(weight * np.exp(logs - logsumexp(logs))):
            full, spread = row.copy(), np.zeros((d, d))
            gain = sigmas[r][np.ix_(m, o)] @ np.linalg.inv(sigmas[r][np.ix_(o, o)])
            full[m] = means[r][m] + gain @ (row[o] - means[r][o])
            spread[np.ix_(m, m)] = sigmas[r][np.ix_(m, m)] - gain @ sigmas[r][np.ix_(o, m)]
            s[r] += p
            t[r] += p * full
            u[r] += p * (np.outer(full, full) + spread)
    mu = t / s[:, None]
    return s / s.sum(), mu, u / s[:, None, None] - mu[:, :, None] * mu[:, None, :], total


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_step_with_holes_is_that_of_the_observed_likelihood(covariance, holes):
    x, y = blobs(n=120)
    rng = np.random.default_rng(1)
    x[rng.random(x.shape) < holes] = np.nan
    x[6] = np.nan if holes else x[6]
    weight = rng.uniform(0.5, 2, len(y))
    own, rows, start = problem(
        MixtureSettings(covariance, prior_rows=0.0), x, y, [2], weight, [0]
    )
    model, before = own.step(rows, own.step(rows, start)[0])
    begin, _ = own.step(rows, start)
    sigmas = np.stack([c.dense() for c in begin.covariances])
    shares, means, want, log_p = direct_step(
        x[y == 0], weight[y == 0], begin.priors, begin.means, sigmas
    )
    want = want * np.eye(3) if covariance == "diagonal" else want
    assert before == pytest.approx(log_p, rel=1e-10)
    np.testing.assert_allclose(model.priors, shares, rtol=1e-9)
    np.testing.assert_allclose(model.means, means, rtol=1e-9)
    np.testing.assert_allclose(model.covariance_matrices, want, rtol=1e-7, atol=1e-9)


@given(
    seed=st.integers(0, 1000),
    tied=st.sampled_from([False, "class", True]),
    covariance=st.sampled_from(["full", "diagonal"]),
    kappa=st.sampled_from([0.1, 1.0, 20.0]),
    holes=st.booleans(),
    constant=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_the_objective_never_falls(seed, tied, covariance, kappa, holes, constant):
    x, y = blobs(seed, n=90)
    if constant:
        x[y == 1, 2] = 4.0
    elif holes:
        x[np.random.default_rng(seed).random(x.shape) < 0.15] = np.nan
    how = MixtureSettings(covariance, tied, kappa, max_iter=25, tol=-1.0)
    own, rows, start = problem(how, x, y, [2, 3, 1])
    objectives = np.array(own.run(rows, start).objectives)
    assert np.all(np.diff(objectives) > -1e-9 * np.abs(objectives[1:]))
    assert objectives[-1] > objectives[0]


def test_a_weight_is_as_many_rows():
    x, y = blobs()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    own, rows, start = problem(ALONE, x, y, [2, 2, 2], weight.astype(float))
    many, every, _ = problem(ALONE, np.repeat(x, weight, 0), np.repeat(y, weight), [2, 2, 2])
    one, two = own.step(rows, start), many.step(every, start)
    assert one[1] == pytest.approx(two[1], rel=1e-12)
    np.testing.assert_allclose(one[0].offsets, two[0].offsets, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        one[0].covariance_matrices, two[0].covariance_matrices, rtol=1e-9
    )


def test_a_step_without_prior_rows_depends_on_ratios_of_weights_alone():
    x, y = blobs(1)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(x))
    heavy, rows, start = problem(ALONE, x, y, [2, 2, 2], weight)
    light, _, _ = problem(ALONE, x, y, [2, 2, 2], 1e-4 * weight)
    after, objective = heavy.step(rows, start)
    light_after, light_objective = light.step(rows, start)
    np.testing.assert_allclose(light_after.log_priors, after.log_priors, rtol=1e-10)
    np.testing.assert_allclose(light_after.offsets, after.offsets, rtol=1e-9, atol=1e-12)
    for mine, other in zip(light_after.covariances, after.covariances, strict=True):
        np.testing.assert_allclose(mine.dense(), other.dense(), rtol=1e-9)
    assert light_objective == pytest.approx(1e-4 * objective, rel=1e-10)


def test_a_component_that_loses_all_its_rows_has_collapsed():
    x, y = blobs(2)
    own, rows, start = problem(ALONE, x, y, [2, 2, 2])
    offsets = start.offsets.copy()
    offsets[3] += 1e6
    with pytest.raises(InvalidInputError, match="a component of class 1 has collapsed"):
        own.step(rows, replace(start, offsets=offsets))


def test_the_number_of_threads_the_layout_and_the_type_change_nothing():
    x, y = blobs(n=30_000)
    x = x.astype(np.float32)
    found = []
    for rows, jobs in [(x, 1), (x, 4), (np.asfortranarray(x), 2), (x.astype(float), 3)]:
        own, all_rows, start = problem(ALONE, rows, y, [3], classes=[0])
        with at_most(jobs):
            found.append(own.step(all_rows, start)[0].covariance_matrices)
    assert all(np.array_equal(found[0], other) for other in found[1:])


@given(st.integers(0, 1000), st.sampled_from([False, True]))
@settings(max_examples=5, deadline=None)
def test_units_change_nothing(seed, tied):
    x, y = blobs(seed, n=120)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    how = MixtureSettings(tied=tied, prior_rows=2.0, max_iter=30)
    units = 2.0 ** np.array([-40, 3, 50])
    plain, _ = fit_mixtures(Table.of(x, y), [2, 3, 2], how, 0, quiet=True)
    scaled, _ = fit_mixtures(Table.of(x * units, y), [2, 3, 2], how, 0, quiet=True)
    turned, _ = fit_mixtures(Table.of((x + 7) @ turn, y), [2, 3, 2], how, 0, quiet=True)
    np.testing.assert_allclose(plain.posterior(x), scaled.posterior(x * units), atol=1e-12)
    np.testing.assert_allclose(plain.posterior(x), turned.posterior((x + 7) @ turn), atol=1e-6)


# R 4.2, mclust 6.0.0: Mclust(rows of one class, G), log-likelihood at tolerance 1e-10
MCLUST = [
    ("iris", "setosa", "EEE", 2, 55.02399116),
    ("iris", "virginica", "VVV", 2, -45.62141780),
    ("iris", "versicolor", "VVI", 2, -29.65907347),
    ("banknote", "counterfeit", "VVV", 2, -206.98250834),
    ("banknote", "genuine", "EEE", 2, -279.43400535),
    ("banknote", "counterfeit", "VVI", 2, -337.86941846),
    ("crabs", "BF", "VVV", 2, -203.88099494),
    ("crabs", "OF", "EEE", 2, -265.44605998),
    ("crabs", "OM", "VVI", 2, -602.45311236),
    # MclustDA, whose models EVE and VEI are special cases of these
    ("pima_tr", "No", "VVV", 2, -2665.68624991),
    ("pima_tr", "Yes", "VVI", 2, -1500.90142252),
    ("wine", "1", "VVI", 5, -757.58503129),
    ("wine", "2", "VVI", 3, -1300.26068614),
    ("wine", "3", "VVI", 3, -669.56056501),
]


@pytest.mark.parametrize(("name", "label", "model", "n", "log_p"), MCLUST)
def test_the_likelihood_is_at_least_that_of_mclust(name, label, model, n, log_p):
    lines = [
        line.split(",") for line in (REFERENCE / f"{name}.csv").read_text().splitlines()[1:]
    ]
    y = np.array([line[-1] for line in lines])
    x = np.array([line[:-1] for line in lines], float)
    words = {"VVV": ("full", False), "EEE": ("full", "class"), "VVI": ("diagonal", False)}[
        model
    ]
    how = MixtureSettings(*words, prior_rows=0.0, n_init=12, tol=1e-8, max_iter=3000)
    data = MixtureRows.of(Table.of(x, y), how, quiet=True)
    k = np.unique(y).tolist().index(label)
    run = MixtureProblem(how, data, [k], [n]).best(np.random.default_rng(0))
    assert run.objectives[-1] > log_p - 1e-5


def test_auto_is_the_number_of_greatest_held_out_likelihood():
    x, y = blobs(2, n=240, d=2, per_class=3, apart=6.0)
    how, table, seed = MixtureSettings(n_init=1, tol=1e-4), Table.of(x, y), 4
    table = table.take(np.argsort(y, kind="stable"))
    fold = ranks_within(table.codes, np.random.default_rng(seed)) % mixtures.FOLDS
    scores = np.zeros((6, 3))
    for n in range(1, 7):
        for f in range(mixtures.FOLDS):
            model, _ = fit_mixtures(table.take(fold != f), [n] * 3, how, seed, quiet=True)
            parts = model.components
            for k in range(3):
                out = table.x[(fold == f) & (table.codes == k)]
                logs = [
                    multivariate_normal(parts.means[r], parts.covariance_of(r).dense()).logpdf(
                        out
                    )
                    + parts.log_priors[r]
                    for r in np.flatnonzero(model.class_of == k)
                ]
                scores[n - 1, k] += logsumexp(logs, axis=0).sum()
    chosen = choose_counts(Table.of(x, y), how, seed)
    for k, found in enumerate(chosen):
        best = 0  # until two in a row are no better
        while scores[best + 1 : best + 3, k].max() > scores[best, k]:
            best += 1 + int(np.argmax(scores[best + 1 : best + 3, k] > scores[best, k]))
        assert found == best + 1
    assert chosen == [3, 3, 3]


def test_auto_takes_one_component_of_a_class_with_few_rows():
    x, y = blobs(n=60)
    x, y = np.vstack([x, x[:1] + 1]), np.append(y, 9)
    assert choose_counts(Table.of(x, y), MixtureSettings(), 0)[3] == 1


def test_more_components_than_distinct_rows_are_said_and_left_out():
    x, y = blobs(n=60)
    x = np.vstack([x, x[:2], x[:2]])
    y = np.concatenate([y, [7, 7, 7, 7]])
    with pytest.warns(DegenerateDataWarning) as said:
        model, _ = fit_mixtures(Table.of(x, y), [2, 2, 2, 5], MixtureSettings(), 0)
    assert any(
        "class 7 has only 2 distinct rows, so it gets 2 components" in str(each.message)
        for each in said
    )
    assert np.bincount(model.class_of).tolist() == [2, 2, 2, 2]
    assert np.isfinite(model.class_log_density(x)).all()


def test_a_class_of_one_row_and_a_constant_column_borrow_as_in_qda():
    x, y = blobs(n=90)
    x[:, 2] = 3.0
    x, y = np.vstack([x, x[:1] + np.array([1, 1, 0])]), np.append(y, 5)
    with pytest.warns(DegenerateDataWarning):
        model, _ = fit_mixtures(Table.of(x, y), [2, 2, 2, 3], MixtureSettings(), 0)
    with pytest.warns(DegenerateDataWarning):
        alone = sf.QDA().fit(x, y)
    got = np.stack([model.components.covariance_of(r).dense()[2] for r in range(6)])
    np.testing.assert_allclose(got, np.repeat(alone.covariance_[:3, 2], 2, 0), atol=1e-9)
    last = model.components.covariance_of(6).dense()
    np.testing.assert_allclose(last, alone.covariance_[3], rtol=1e-9)


def test_empty_cells_in_a_class_that_does_not_vary_leave_one_component():
    x, y = blobs(n=90)
    x[y == 1, 2] = 4.0
    x[::7, 0] = np.nan
    with pytest.warns(DegenerateDataWarning) as said:
        model, _ = fit_mixtures(Table.of(x, y), [2, 2, 2], MixtureSettings(), 0)
    assert any(
        "class 1 has missing values and does not vary" in str(each.message) for each in said
    )
    assert np.bincount(model.class_of).tolist() == [2, 1, 2]


def test_collapse_is_an_error_without_a_prior_and_none_with_it():
    x, y = blobs(n=60)
    x[y == 1] = np.repeat(blobs(2, n=2)[0], 10, 0)
    data = Table.of(x, y)
    with pytest.raises(InvalidInputError, match="component of class 1 has collapsed"):
        fit_mixtures(data, [1, 2, 1], ALONE, 0, quiet=True)
    model, _ = fit_mixtures(data, [1, 2, 1], MixtureSettings(prior_rows=1.0), 0, quiet=True)
    assert np.isfinite(model.log_density(x)).all()


def test_steps_that_do_not_suffice_are_said():
    with pytest.warns(NotConvergedWarning, match="max_iter=2"):
        fit_mixtures(Table.of(*blobs()), [3, 3, 3], MixtureSettings(max_iter=2), 0)


def test_k_means_finds_what_lies_apart_and_weighs_it():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 2)) + np.array([[0, 0], [50, 0], [0, 50]])[np.arange(300) % 3]
    w = np.where(np.arange(300) % 3 == 1, 2.0, 1.0)
    centres, shares, scatter = k_means(z, w, 3, rng)
    order = np.lexsort(centres.round(-1).T)
    want = np.stack([z[i::3].mean(0) for i in (0, 1, 2)])
    np.testing.assert_allclose(centres[order], want, atol=1e-9)
    np.testing.assert_allclose(shares[order], [0.25, 0.5, 0.25])
    apart = [np.cov(z[i::3].T, bias=True) * w[i::3].sum() for i in range(3)]
    np.testing.assert_allclose(scatter, sum(apart))


def test_of_many_rows_starts_are_tried_on_some(monkeypatch):
    monkeypatch.setattr(mixture_rows, "SAMPLE", 100)
    x, y = blobs(n=1500, apart=8.0)
    model, runs = fit_mixtures(Table.of(x, y), [2, 2, 2], MixtureSettings(), 0)
    monkeypatch.setattr(mixture_rows, "SAMPLE", 10_000)
    whole, _ = fit_mixtures(Table.of(x, y), [2, 2, 2], MixtureSettings(), 0)
    assert model.log_density(x).sum() == pytest.approx(whole.log_density(x).sum(), rel=1e-4)
    assert all(run.converged for run in runs)


@pytest.mark.parametrize("tied", [False, True])
def test_a_class_without_weight_stays_and_is_never_predicted(tied):
    x, y = blobs(n=90)
    weight = np.where(y == 2, 0.0, 1.0)
    model, _ = fit_mixtures(
        Table.of(x, y, weight), [2, 2, 2], MixtureSettings(tied=tied), 0, quiet=True
    )
    posterior = model.posterior(x)
    assert np.all(posterior[:, 2] == 0)
    np.testing.assert_allclose(posterior.sum(1), 1)


def test_a_step_of_rows_that_weigh_less_than_one_in_all_is_that_of_heavier_rows():
    x, y = blobs(1)
    unit, rows, start = problem(ALONE, x, y, [2, 2, 2])
    light, _, _ = problem(ALONE, x, y, [2, 2, 2], np.full(len(x), 1e-6))
    after, _ = unit.step(rows, start)
    light_after, _ = light.step(rows, start)
    np.testing.assert_allclose(light_after.offsets, after.offsets, rtol=1e-9, atol=1e-12)


def test_starts_are_tried_on_twenty_thousand_rows_at_most():
    rng = np.random.default_rng(0)
    every = np.arange(mixture_rows.SAMPLE + 1)
    some = mixture_rows.sampled_rows(every, rng)
    assert len(np.unique(some)) == len(some) == mixture_rows.SAMPLE == 20_000
    assert np.all(np.diff(some) > 0)
    np.testing.assert_array_equal(mixture_rows.sampled_rows(every[1:], rng), every[1:])
