"""What a fitted mixture offers: answers, files, samples, settings, and a place in an average."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

import suffice as sf
from suffice.errors import FileFormatError, InvalidParameterError
from suffice.persistence.load import load_classifier

X, Y = make_moons(400, noise=0.2, random_state=1)
LABELS = np.array(["in", "out"])[Y]


@pytest.fixture(scope="module")
def moons():
    return sf.MixtureClassifier({"in": 3, "out": 4}).fit(X, LABELS)


def test_bent_classes_have_a_better_mixture_than_a_gaussian(moons):
    new, truth = make_moons(2000, noise=0.2, random_state=2)
    alone = sf.QDA().fit(X, Y)
    truth_ = np.array(["in", "out"])[truth]
    assert 1 - moons.score(new, truth_) < 0.5 * (1 - alone.score(new, truth))
    ours, theirs = moons.predict_proba(new), alone.predict_proba(new)
    assert log_loss(truth, ours) < 0.4 * log_loss(truth, theirs)


def test_densities_are_sums_over_components_and_posteriors_follow_from_them(moons):
    parts, new = moons.model_.model.components, X[:50] + 0.1
    each = np.stack(
        [
            multivariate_normal(parts.means[r], parts.covariance_of(r).dense()).logpdf(new)
            + np.log(parts.priors[r])
            for r in range(7)
        ]
    )
    density = np.stack([logsumexp(each[:3], axis=0), logsumexp(each[3:], axis=0)], 1)
    np.testing.assert_allclose(moons.model_.class_log_density(new), density, rtol=1e-10)
    joint = density + np.log(0.5)
    np.testing.assert_allclose(
        moons.model_.log_density(new), logsumexp(joint, axis=1), rtol=1e-10
    )
    posterior = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    np.testing.assert_allclose(moons.predict_proba(new), posterior, atol=1e-12)
    of_parts = moons.component_posterior(new)
    np.testing.assert_allclose(of_parts[:, :3].sum(1), posterior[:, 0], atol=1e-12)
    assert moons.n_components_.tolist() == [3, 4]


def test_many_rows_read_like_few(moons):
    many = np.tile(X, (300, 1))
    np.testing.assert_allclose(
        moons.predict_proba(many)[:400], moons.predict_proba(X), atol=1e-12
    )
    holes = np.where(np.arange(800).reshape(400, 2) % 5 == 0, np.nan, X)
    many = np.tile(holes, (200, 1))
    few = moons.predict_proba(holes)
    np.testing.assert_allclose(moons.predict_proba(many)[-400:], few, atol=1e-12)


def test_an_empty_cell_is_integrated_out_and_filled_by_its_mean(moons):
    row, grid = np.array([[0.3, np.nan]]), np.linspace(-6, 6, 4001)
    dense = np.exp(moons.model_.class_log_density(np.stack([np.full(4001, 0.3), grid], 1)))
    step = grid[1] - grid[0]
    np.testing.assert_allclose(
        np.exp(moons.model_.class_log_density(row))[0], dense.sum(0) * step, 1e-6
    )
    p = dense @ moons.model_.model.priors
    assert moons.model_.impute(row)[0, 1] == pytest.approx(
        (p * grid).sum() / p.sum(), rel=1e-6
    )
    drawn = moons.model_.sample_missing(np.tile(row, (4000, 1)), random_state=0)[:, 1]
    assert drawn.mean() == pytest.approx((p * grid).sum() / p.sum(), abs=0.04)


def test_samples_are_like_the_rows(moons):
    x, y = moons.sample(4000, random_state=0)
    again = sf.MixtureClassifier(1).fit(x, y)
    first = sf.MixtureClassifier(1).fit(X, LABELS)
    np.testing.assert_allclose(again.model_.model.means, first.model_.model.means, atol=0.08)
    np.testing.assert_allclose(
        moons.model_.model.covariance_matrices,
        first.model_.model.covariance_matrices,
        atol=0.03,
    )


@pytest.mark.parametrize("words", [("full", False), ("diagonal", "class"), ("full", True)])
def test_a_file_keeps_every_bit(words, tmp_path):
    fit = sf.MixtureClassifier(2, *words, costs=sf.Costs({("in", "out"): 3.0}, reject=0.4))
    fit = fit.fit(X, LABELS)
    fit.save(tmp_path / "a.suffice")
    again = sf.load(tmp_path / "a.suffice")
    assert np.array_equal(again.predict_log_proba(X), fit.predict_log_proba(X))
    assert repr(again) == repr(fit)
    assert again.n_components_.tolist() == [2, 2]
    light = load_classifier(tmp_path / "a.suffice")
    assert light.predict(X).tolist() == fit.predict(X).tolist()
    assert light.model.n_parameters == fit.model_.model.n_parameters


def test_a_file_whose_parts_do_not_fit_is_refused(moons):
    header, arrays = moons._state()
    header = {**header, "estimator": "MixtureClassifier"}
    for name, wrong in {"class_of": arrays["class_of"][::-1], "priors": np.ones(3)}.items():
        with pytest.raises(FileFormatError):
            sf.MixtureClassifier()._restored(header, {**arrays, name: wrong})


def test_priors_costs_and_reject_count(moons):
    skewed = sf.MixtureClassifier({"in": 3, "out": 4}, priors={"in": 0.9, "out": 0.1})
    skewed = skewed.fit(X, LABELS)
    odds = moons.predict_proba(X)
    odds = odds * [0.9, 0.1]
    want = odds / odds.sum(1, keepdims=True)
    np.testing.assert_allclose(skewed.predict_proba(X), want, atol=1e-10)
    unsure = sf.MixtureClassifier(2, costs=sf.Costs(reject=0.1, reject_label="?")).fit(
        X, LABELS
    )
    assert ((unsure.predict(X) == "?") == (unsure.predict_proba(X).max(1) < 0.9)).all()


def test_the_seed_decides():
    one, two, other = (
        sf.MixtureClassifier(3, n_init=1, random_state=seed).fit(X, Y) for seed in (0, 0, 5)
    )
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1, got 0"),
        ({"n_components": {"in": 2}}, "n_components has no entry for 'out'"),
        ({"n_components": 2.5}, "integer"),
        ({"covariance": "spherical"}, "covariance must be one of 'full', 'diagonal'"),
        ({"tied": "all"}, "tied must be one of False, True, 'class'"),
        ({"prior_rows": -1}, "prior_rows must be a finite number"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"priors": "even"}, "got 'even'"),
    ],
)
def test_wrong_settings_are_named(settings, said):
    with pytest.raises(InvalidParameterError, match=said.replace("(", r"\(")):
        sf.MixtureClassifier(**settings).fit(X, LABELS)


def test_what_a_mixture_has_not_is_said(moons):
    with pytest.raises(InvalidParameterError, match="Gaussian"):
        moons.model_.model.as_gaussian()


def test_a_mixture_may_join_an_average():
    auto = sf.AutoGaussian(members=[sf.MixtureClassifier(4, n_init=1)], kernel_features=False)
    auto.fit(X, LABELS)
    shares = {getattr(c, "name", ""): c.weight for c in auto.choices_}
    assert shares["MixtureClassifier"] > 0.3
    assert auto.score(X, LABELS) > sf.QDA().fit(X, LABELS).score(X, LABELS)


def test_regions_draw_an_ellipse_for_every_component(moons):
    from suffice import plots

    ax = plots.decision_regions(moons, X, LABELS, resolution=30, coverage=(0.5,))
    means = moons.model_.model.components.means
    around = [line.get_xydata().mean(0) for line in ax.lines if len(line.get_xydata()) > 100]
    near = [np.abs(np.array(around) - mean).sum(1).min() for mean in means]
    assert max(near) < 0.05
    plots.class_densities(moons, X, LABELS, feature=0)
    import matplotlib.pyplot as plt

    plt.close("all")
