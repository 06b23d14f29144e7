"""What `load` would refuse, no operation gives and no file holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice import LDA, QDA, GaussianNB, Moments, MomentStore
from suffice.errors import ForgetError, InvalidInputError, SufficeError


def huge(y):
    return np.full((1, 4), 1e160), y[:1]


def large(y):
    """Return a row whose squares are finite, but not those of 20 such rows."""
    return np.full((1, 4), 5e153), y[:1]


@pytest.mark.parametrize("estimator", [GaussianNB(), LDA(), QDA()], ids=str)
def test_rows_that_overflow_the_sums_are_refused_and_change_nothing(iris, estimator):
    X, y = iris
    fitted = estimator.fit(X, y)
    before = fitted.moments_
    with pytest.raises(InvalidInputError, match=r"column 0 .*rescale"):
        fitted.partial_fit(*huge(y))
    assert fitted.moments_ is before
    assert fitted.score(X, y) > 0.9


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_sums_that_would_overflow_are_not_added(iris, storage):
    X, y = iris
    sums = Moments.of(X, y, storage=storage)
    far = Moments.of(*large(y), storage=storage, classes=y)
    assert (sums + far).counts.sum() == 151
    for parts in ([sums] + [far] * 20, [far] * 20 + [sums]):
        with pytest.raises(InvalidInputError, match=r"column 0 .*'setosa'.*rescale"):
            sum(parts)


def test_sums_of_rows_with_missing_numbers_that_would_overflow_are_not_added(iris):
    X, y = iris
    X = X.copy()
    X[0, 1] = np.nan
    for storage in ("per-class", "pooled", "diagonal"):
        sums = Moments.of(X, y, storage=storage)
        far = Moments.of(*large(y), storage=storage, classes=y)
        with pytest.raises(InvalidInputError, match="rescale"):
            sum([sums] + [far] * 20)


def test_weights_that_would_overflow_are_not_added(iris):
    X, y = iris
    heavy = Moments.of(X / 100, y, np.full(len(X), 1e305))
    with pytest.raises(InvalidInputError, match="weight"):
        sum([heavy] * 20)


def test_means_whose_distance_overflows_when_squared_are_refused():
    with pytest.raises(InvalidInputError, match="rescale"):
        Moments.of(np.array([[1e160], [1.0], [2.0]]), ["a", "b", "b"])
    near = Moments.of(np.array([[1.0], [2.0]]), ["b", "b"])
    far = Moments.of(np.array([[-5e153]]), ["a"])
    with pytest.raises(InvalidInputError, match="rescale"):
        sum([far] * 20 + [near])


def test_a_store_neither_takes_nor_gives_sums_that_overflow(iris, tmp_path):
    X, y = iris
    store = MomentStore(tmp_path / "s")
    store.add(Moments.of(X, y, fourth=False), "a near")
    for size in range(20):
        row, label = large(y)
        sums = Moments.of(row * (1 + size / 1000), label, classes=y, fourth=False)
        store.add(sums, f"far {size}")
    with pytest.raises(InvalidInputError, match="rescale"):
        store.total()
    # three sums of which any two can be added, but not all three
    store = MomentStore(tmp_path / "t")
    for size, name in enumerate("abc"):
        store.add(Moments.of(X / 100, y, np.full(len(X), 4e305 + size * 1e300)), name)
    with pytest.raises(InvalidInputError, match="weight"):
        store.total()


def test_the_first_part_of_a_store_need_not_be_added_to_itself(tmp_path):
    large_sums = Moments.of([[9e153], [-9e153]], ["a", "a"], fourth=False)
    store = MomentStore(tmp_path / "s")
    store.add(large_sums, "first")
    assert store.total().counts.sum() == 2


def test_fourth_powers_that_overflow_are_not_kept_and_refused_if_asked_for(iris, tmp_path):
    X, y = iris
    sums = Moments.of(X * 1e90, y)
    assert sums.fourth is None
    sums.save(tmp_path / "m")
    assert sf.load(tmp_path / "m").n_classes == 3
    with pytest.raises(InvalidInputError, match="fourth powers"):
        Moments.of(X * 1e90, y, fourth=True)
    near = Moments.of(X, y)
    far = Moments.of(X[:2] * 1e90, y[:2])
    assert (near + far).fourth is None


def test_fourth_moments_of_rows_with_missing_numbers_are_refused(iris):
    X, y = iris
    X = X.copy()
    X[3, 0] = np.nan
    with pytest.raises(InvalidInputError, match="fourth=True needs complete rows"):
        Moments.of(X, y, fourth=True)
    late = np.tile(X, (40, 1))[::-1]
    with pytest.raises(InvalidInputError, match="fourth=True needs complete rows"):
        Moments.of(late, np.tile(y, 40)[::-1], fourth=True)


def test_a_model_of_one_class_so_far_can_be_saved_and_go_on(iris, tmp_path):
    X, y = iris
    GaussianNB().partial_fit(X[:50], y[:50]).save(tmp_path / "m")
    whole = sf.load(tmp_path / "m").partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(
        whole.predict_proba(X),
        GaussianNB().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:]).predict_proba(X),
    )


def test_save_writes_nothing_that_load_refuses(iris, tmp_path):
    import dataclasses

    X, y = iris
    sums = Moments.of(X, y)
    forged = dataclasses.replace(sums, weights=np.full(3, np.nan))
    with pytest.raises(SufficeError):
        forged.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    fitted = QDA().fit(X, y)
    fitted.moments_ = forged
    with pytest.raises(SufficeError):
        fitted.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e170, 1e170), min_size=1, max_size=6),
    st.lists(st.floats(-1e170, 1e170), min_size=1, max_size=6),
)
def test_what_can_be_added_can_be_saved_and_loaded(tmp_path_factory, left, right):
    path = tmp_path_factory.mktemp("law") / "m"
    try:
        a = Moments.of(np.array(left)[:, None], np.arange(len(left)) % 2)
        b = Moments.of(np.array(right)[:, None], np.arange(len(right)) % 2)
        total = a + b
    except InvalidInputError:
        return
    total.save(path)
    assert sf.load(path).counts.tolist() == total.counts.tolist()


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("shift", [100.0, 1e-3])
def test_whole_classes_of_other_means_were_never_added(iris, storage, shift):
    X, y = iris
    total = Moments.of(X, y, storage=storage)
    with pytest.raises(ForgetError, match=r"class 'setosa'.*never added"):
        total - Moments.of(X + shift, y, storage=storage)
    one_class = y == y[0]
    with pytest.raises(ForgetError, match="never added"):
        total - Moments.of(X[one_class] + shift, y[one_class], storage=storage)
    assert (total - Moments.of(X, y, storage=storage)).counts.sum() == 0


def test_means_that_differ_in_late_digits_are_shown_with_them(iris):
    X, y = iris
    with pytest.raises(ForgetError, match=r"mean 5\.006 in column 0 instead of 5\.006001\."):
        Moments.of(X, y) - Moments.of(X + 1e-6, y)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e8])
@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_all_rows_can_be_forgotten_in_any_parts(offset, storage):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3)) * [1, 1e-3, 1e5] + offset
    X[:, 1] = np.round(X[:, 1], 3)
    y = rng.integers(0, 3, 300)
    total = Moments.of(X, y, storage=storage)
    for part in np.array_split(rng.permutation(300), 7):
        total = total - Moments.of(X[part], y[part], storage=storage, classes=[0, 1, 2])
    assert total.counts.sum() == 0
    assert total.weights.sum() == 0


def test_whole_patterns_of_other_means_were_never_added(iris):
    X, y = iris
    X = X.copy()
    X[::3, 1] = np.nan
    for storage in ("per-class", "pooled", "diagonal"):
        total = Moments.of(X, y, storage=storage)
        with pytest.raises(ForgetError, match="never added"):
            total - Moments.of(X + 100, y, storage=storage)
        assert (total - Moments.of(X, y, storage=storage)).counts.sum() == 0


def test_other_correlations_were_never_added():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    x[:, 1] = 0.99 * x[:, 0] + 0.14 * x[:, 1]
    y = np.zeros(400, int)
    part = x[:390] * [1.0, -1.0]
    part = part - part.mean(0) + x[:390].mean(0)
    with pytest.raises(ForgetError, match="never added"):
        Moments.of(x, y) - Moments.of(part, y[:390])


@pytest.mark.parametrize("n_left", [0, 1])
@pytest.mark.parametrize("storage", ["per-class", "pooled"])
def test_whole_classes_of_other_correlations_were_never_added(storage, n_left):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = np.zeros(40, int)
    part = x[n_left:].copy()
    part[:, 2] = part[::-1, 2]  # the means and variances stay those of the rows
    total = Moments.of(x, y, storage=storage)
    with pytest.raises(ForgetError, match=r"correlations .* never added"):
        total - Moments.of(part, y[n_left:], storage=storage)
    rest = total - Moments.of(x[n_left:], y[n_left:], storage=storage)
    assert rest.counts.sum() == n_left


def test_whole_patterns_of_other_correlations_were_never_added():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    x[:40, 0] = np.nan
    y = np.zeros(80, int)
    part = x[:40].copy()
    part[:, 2] = part[::-1, 2]
    total = Moments.of(x, y)
    with pytest.raises(ForgetError, match=r"pattern .* never added"):
        total - Moments.of(part, y[:40])
    assert (total - Moments.of(x[:40], y[:40])).counts.sum() == 40


def test_other_weights_were_never_added(iris):
    X, y = iris
    total = Moments.of(X[:30], y[:30])
    with pytest.raises(ForgetError, match=r"weight of 40.*'setosa'.*weight of 30"):
        total - Moments.of(X[:2], y[:2], np.full(2, 20.0))
    with pytest.raises(ForgetError, match=r"cannot forget 31 rows .* 30 rows"):
        total - Moments.of(X[:31], y[:31], np.full(31, 0.5))
    with pytest.raises(ForgetError, match="never added"):
        total - Moments.of(X[:30], y[:30], np.full(30, 0.5))
    with pytest.raises(ForgetError, match="never added"):
        total - Moments.of(X[:15], y[:15], np.full(15, 2.0))


@pytest.mark.parametrize("factor", [1e308, 1e-320])
def test_weights_too_large_or_too_small_are_blamed_and_not_the_columns(iris, factor):
    X, y = iris
    with pytest.raises(InvalidInputError, match="sample_weight"):
        Moments.of(X, y, np.full(len(X), factor))
    with pytest.raises(InvalidInputError, match="sample_weight"):
        GaussianNB().fit(X, y, np.full(len(X), factor))


def test_weights_that_make_products_overflow_or_vanish_are_blamed(iris):
    X, y = iris
    with pytest.raises(InvalidInputError, match="sample_weight"):
        Moments.of(X * 1e10, y, np.full(len(X), 1e300))
    with pytest.raises(InvalidInputError, match="sample_weight"):
        Moments.of(X * 1e-10, y, np.full(len(X), 1e-290))


def test_complex_weights_are_refused(iris):
    X, y = iris
    with pytest.raises(InvalidInputError, match="complex"):
        Moments.of(X, y, np.full(len(X), 1j))


@pytest.mark.parametrize("weight", ["heavy", 1j])
def test_weights_that_are_no_numbers_are_refused(iris, weight):
    X, y = iris
    with pytest.raises(InvalidInputError, match="sample_weight holds"):
        Moments.of(X, y, np.full(len(X), weight, object))


@pytest.mark.parametrize("kind", [np.array, list, lambda y: np.array(y, object)])
def test_labels_that_differ_in_a_trailing_zero_character_are_refused(iris, kind):
    X, _ = iris
    labels = kind(["a", "a\0", "b"] * 50)
    if isinstance(labels, np.ndarray) and labels.dtype.kind == "U":
        assert Moments.of(X, labels).n_classes == 2  # NumPy itself does not keep it
        return
    with pytest.raises(InvalidInputError, match=r"row 1 .*'a\\x00'"):
        Moments.of(X, labels)
    with pytest.raises(InvalidInputError, match=r"row 1 .*'a\\x00'"):
        GaussianNB().fit(X, labels)
