"""The classifier that chooses its own settings."""

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice import RDA, AutoGaussian, GaussianClassifier
from suffice.core.model.views import KernelFeatures
from suffice.core.table.sampling import stratified_folds, stratified_sample
from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError
from suffice.selection.search.ranking import mixing_weights


def moons(n, seed):
    """Two interleaved half circles: no quadric separates them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    angle = rng.uniform(0, np.pi, n)
    arc = np.c_[np.cos(angle), np.sin(angle)]
    X = np.where(y[:, None] == 1, [1.0, 0.4] - arc, arc) + 0.12 * rng.normal(size=(n, 2))
    return X, y


def test_bent_boundaries_are_found_by_kernels():
    X, y = moons(400, 0)
    new, truth = moons(1000, 1)
    plain = AutoGaussian(kernel_features=False).fit(X, y).score(new, truth)
    bent = AutoGaussian().fit(X, y)
    assert bent.score(new, truth) > 0.98 > plain
    assert any(isinstance(c.view, KernelFeatures) and c.weight > 0 for c in bent.choices_)


def test_skewed_features_are_straightened():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.exp(rng.normal(size=(600, 3)) + 1.5 * y[:, None])
    auto = AutoGaussian(kernel_features=False).fit(X, y)
    assert auto.best_estimator_.moments_.power is not None
    assert auto.best_estimator_.model_.model.n_classes == 2
    drawn, _ = auto.sample(500, random_state=0)
    straight, _ = sf.QDA().fit(X, y).sample(500, random_state=0)
    assert (drawn < 0).mean() < 0.4 * (straight < 0).mean()
    assert np.isfinite(auto.model_.log_density(X)).all()


def test_posteriors_are_an_average_that_sums_to_one(iris):
    X, y = iris
    auto = AutoGaussian().fit(X, y)
    p = auto.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
    assert p.min() > 0
    assert sum(c.weight for c in auto.choices_) == pytest.approx(1)
    assert "The best setting is: pooling" in auto.explain()
    assert "runner-up" in auto.explain()
    np.testing.assert_array_equal(auto.predict(X), auto.classes_[p.argmax(1)])


def test_the_same_seed_gives_the_same_classifier(iris):
    X, y = iris
    one, two = (AutoGaussian(random_state=3).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_change_of_units_changes_nothing(iris):
    X, y = iris
    scale = np.array([1e-6, 1.0, 1e3, 1e6])
    before = AutoGaussian().fit(X, y).predict_proba(X)
    after = AutoGaussian().fit(X * scale, y).predict_proba(X * scale)
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_one_kept_setting_is_a_single_model(iris):
    X, y = iris
    auto = AutoGaussian(n_kept=1, kernel_features=False).fit(X, y)
    assert len(auto.members_) == 1
    p = (auto.predict_proba(X) - auto._doubt / 3) / (1 - auto._doubt)
    np.testing.assert_allclose(p, auto.best_estimator_.predict_proba(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@pytest.mark.parametrize("kind", [AutoGaussian, sf.AutoClassifier])
def test_tiny_and_degenerate_tables_never_fail(kind):
    rng = np.random.default_rng(0)
    for n, d in ((4, 1), (6, 3), (12, 30), (40, 2)):
        X = rng.normal(size=(n, d))
        X[:, 0] = np.round(X[:, 0])
        auto = kind().fit(X, np.arange(n) % 2)
        assert np.isfinite(auto.predict_proba(X)).all()
    for labels in ([0, 1], [0, 0, 1], [0, 1, 2]):
        for estimator in (kind(), RDA()):
            few = estimator.fit(rng.normal(size=(len(labels), 2)), labels)
            assert few.predict_proba(np.zeros((1, 2))).sum() == pytest.approx(1)
    for X, y in degenerate(rng):
        p = kind(kernel_features=False).fit(X, y).predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(1), 1)


def degenerate(rng):
    """Yield tables in which some class, column or row says little."""
    two, normal = np.arange(40) % 2, rng.normal(size=(40, 2))
    yield np.c_[np.zeros(50), rng.normal(size=50)], np.r_[np.zeros(49), 1]
    yield np.ones((20, 3)), np.arange(20) % 2
    yield np.c_[np.where(two, normal[:, 0], 1.0), normal], two  # constant in one class
    yield np.c_[two, normal], two  # constant in each
    yield np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, 0), np.repeat([0, 1], 10)
    yield np.repeat(normal[:, :1], 3, 1), two
    yield normal[:21], np.r_[np.arange(20) % 2, 2]  # a class of one row
    yield normal[:6], np.arange(6)
    yield normal + 1e15, two
    yield np.c_[normal, normal[:, 0]] * [1e-150, 1, 1e150], two
    yield np.c_[normal[:, 0], np.where(two, np.nan, normal[:, 1])], two  # unknown in one class
    yield pd.DataFrame({"name": [f"id {i}" for i in range(40)], "flat": "x"}), two


def test_an_empty_column_is_named_and_changes_nothing(iris):
    X, y = iris
    more = np.c_[X, np.full(150, np.nan)]
    with pytest.warns(DegenerateDataWarning, match="columns 'x4', 'x4 missing' are constant"):
        found = AutoGaussian().fit(more, y)
    expected = AutoGaussian().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found.predict_proba(more), expected, rtol=1e-9)


def test_bad_rows_are_named(iris):
    X, y = iris
    X = X.copy()
    X[3, 1] = np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 3, column 1"):
        AutoGaussian().fit(X, y)


@pytest.mark.parametrize("kernel_features", [False, True])
def test_a_file_keeps_every_answer(kernel_features, tmp_path):
    X, y = moons(300, 0)
    frame = pd.DataFrame(X, columns=["across", "up"])
    labels = np.where(y == 1, "moon", "sun")
    auto = AutoGaussian(kernel_features=kernel_features).fit(frame, labels)
    auto.save(tmp_path / "auto.suffice")
    again = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_allclose(
        again.predict_proba(frame), auto.predict_proba(frame), rtol=1e-12
    )
    np.testing.assert_array_equal(
        again.model_.log_density(frame), auto.model_.log_density(frame)
    )
    assert again.explain() == auto.explain()
    with pytest.raises(ValueError, match="same order as they were in fit"):
        again.predict(frame[["up", "across"]])


# --- dials left open -----------------------------------------------------------------------


def test_rda_finds_the_best_point_of_its_own_grid(iris):
    X, y = iris
    rda = RDA().fit(X, y)
    assert 0 <= rda.settings_.pooling <= 1
    assert 0 <= rda.settings_.shrinkage <= 1
    fixed = GaussianClassifier(
        pooling=rda.settings_.pooling, shrinkage=rda.settings_.shrinkage
    ).fit(X, y)
    np.testing.assert_array_equal(rda.predict_proba(X), fixed.predict_proba(X))


def test_an_overconfident_model_is_cooled():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    X = rng.normal(size=(150, 60)) + 0.25 * y[:, None]
    cooled = sf.LDA(temperature="auto").fit(X, y)
    assert cooled.settings_.temperature > 1 / 0.6
    new = rng.normal(size=(2000, 60)) + 0.25 * (truth := rng.integers(0, 2, 2000))[:, None]
    rows = np.arange(2000)
    hot = sf.LDA().fit(X, y).predict_log_proba(new)[rows, truth].mean()
    assert cooled.predict_log_proba(new)[rows, truth].mean() > hot + 0.1


def test_open_dials_survive_a_file_and_a_stream(iris, tmp_path):
    X, y = iris
    rda = RDA(temperature="auto", power="auto").fit(X, y)
    rda.save(tmp_path / "m.suffice")
    again = sf.load(tmp_path / "m.suffice")
    np.testing.assert_array_equal(again.predict_proba(X), rda.predict_proba(X))
    before = (rda.settings_.pooling, rda.settings_.shrinkage)
    with pytest.warns(sf.errors.SufficeWarning, match="keeps pooling, shrinkage"):
        rda.partial_fit(X[:10], y[:10])
    assert (rda.settings_.pooling, rda.settings_.shrinkage) == before
    with pytest.raises(InvalidParameterError, match=r"fit\(X, y\)"):
        RDA().fit_moments(sf.Moments.of(X, y))


def test_cross_validation_of_open_dials_is_nested(iris):
    X, y = iris
    result = sf.cross_validate(RDA(), X, y, cv=3)
    assert result.means[0, 0] < 0.08


# --- the parts -----------------------------------------------------------------------------


def test_mixing_weights_find_the_better_member():
    rng = np.random.default_rng(0)
    good, bad = np.log(rng.uniform(0.6, 1, 500)), np.log(rng.uniform(0.1, 0.5, 500))
    shares = mixing_weights(np.stack([bad, good]), np.ones(500))
    assert shares[1] == 1.0


def test_samples_keep_rare_classes_and_splits_spread_them():
    codes = np.r_[np.zeros(5000, int), np.ones(12, int)]
    rows = stratified_sample(codes, 1000, seed=0)
    assert len(rows) == len(np.unique(rows)) == 1000
    assert (codes[rows] == 1).sum() >= 10
    splits = stratified_folds(codes[rows], 5, seed=0)
    assert all((codes[rows][test] == 1).sum() >= 2 for _, test in splits)


@pytest.mark.parametrize("n_kept", [0, -1, 1.5, "2"])
def test_a_number_of_settings_that_is_none_is_refused(n_kept, iris):
    with pytest.raises(InvalidParameterError, match="n_kept must be an integer of at least 1"):
        AutoGaussian(n_kept=n_kept).fit(*iris)


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
def test_an_infinity_is_told_by_its_place_in_the_rows(iris):
    X, y = iris
    wide = np.column_stack(
        [np.ones(150), X]
    )  # the first column tells nothing, and is left out
    fitted = AutoGaussian(kernel_features=False).fit(wide, y)
    wide[7, 3] = np.inf
    for answer in (fitted.predict, fitted.predict_proba):
        with pytest.raises(InvalidInputError, match=r"contains infinity: row 7, column 3\."):
            answer(wide)


def test_boosted_trees_join_from_2000_rows_on_and_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 4)) + 1e9
    bits = (X[:, :3] - 1e9 > 0.5).astype(int)
    y = bits[:, 0] ^ bits[:, 1] ^ bits[:, 2]
    auto = sf.AutoClassifier(kernel_features=False).fit(X, y)
    shares = {c.describe().split(",")[0]: c.weight for c in auto.choices_}
    assert shares["boosted trees"] > 0.5
    assert "boosted trees" in auto.explain()
    assert auto.score(X, y) > 0.97  # single precision has two values of X
    auto.save(tmp_path / "auto.suffice")
    loaded = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_array_equal(loaded.predict_proba(X[:50]), auto.predict_proba(X[:50]))
    few = sf.AutoClassifier(kernel_features=False).fit(X[:1999], y[:1999])
    assert not any(c.describe().startswith("boosted") for c in few.choices_)
