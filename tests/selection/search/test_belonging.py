"""The automatic classifiers judge their settings on unseen groups, or on later rows."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.table import Table
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.selection.search.training import Cells, Training
from suffice.selection.validation.fitting import Belonging
from suffice.selection.validation.folds import search_folds


def clustered(n_groups=20, of=12, seed=0):
    """Return rows of groups: each group has its own place, and a class by chance."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), of)
    places = rng.normal(size=(n_groups, 3)) * 5
    X = places[groups] + 0.3 * rng.normal(size=(len(groups), 3))
    return X, (np.arange(n_groups) % 2)[groups], groups


def test_folds_of_a_search_keep_groups_whole():
    X, y, groups = clustered()
    folds = search_folds(Table.of(X, y), 5, 0, Belonging(groups=groups))
    assert len(folds) == 5
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])


def test_sums_of_forward_folds_are_those_of_earlier_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    X = rng.normal(size=(90, 2)) + y[:, None]
    time = rng.permutation(90)
    folds = search_folds(Table.of(X, y), 4, 0, Belonging(time=time))
    cells = Cells.of(Table.of(X, y), folds, forward=True)
    assert cells.trainable.tolist() == [False, True, True, True, True]
    training = Training.of(cells.table.x, cells, per_class=True)
    centre = X.mean(0)
    scale = X.std(0)
    for f, (train, test) in enumerate(folds[1:]):
        assert time[train].max() < time[test].min()
        for k in (0, 1):
            earlier = (X[train][y[train] == k] - centre) / scale
            assert training.weights[f, k] == len(earlier)
            np.testing.assert_allclose(training.means[f, k], earlier.mean(0))
            scatter = (earlier - earlier.mean(0)).T @ (earlier - earlier.mean(0))
            np.testing.assert_allclose(training.scatters[f, k], scatter, atol=1e-9)


@pytest.mark.parametrize("estimator", [sf.AutoGaussian(), sf.AutoClassifier()])
def test_groups_show_that_nothing_is_learnt_of_new_ones(estimator):
    X, y, groups = clustered()
    flattered = min(choice.log_loss for choice in estimator.fit(X, y).choices_)
    honest = min(choice.log_loss for choice in estimator.fit(X, y, groups=groups).choices_)
    assert flattered < 0.1
    assert honest > 0.5


@pytest.mark.parametrize("estimator", [sf.AutoGaussian(), sf.AutoClassifier()])
def test_later_rows_judge_what_earlier_ones_teach(estimator):
    X, y, periods = clustered()
    flattered = min(choice.log_loss for choice in estimator.fit(X, y).choices_)
    later = min(choice.log_loss for choice in estimator.fit(X, y, time=periods).choices_)
    assert flattered < 0.1
    assert later > 0.5


def test_rows_without_label_or_weight_lose_their_groups_too():
    X, y, groups = clustered()
    weight = np.ones(len(y))
    weight[5] = 0
    labels = y.astype(object)
    labels[7] = None
    kept = np.delete(np.arange(len(y)), [5, 7])
    with pytest.warns(sf.errors.UnusedDataWarning):
        some = sf.AutoGaussian().fit(X, labels, weight, groups=groups)
    expected = sf.AutoGaussian().fit(X[kept], y[kept], groups=groups[kept])
    np.testing.assert_allclose(
        [choice.log_loss for choice in some.choices_],
        [choice.log_loss for choice in expected.choices_],
    )


def test_groups_that_do_not_fit_are_refused():
    X, y, groups = clustered()
    with pytest.raises(InvalidInputError, match="groups has shape"):
        sf.AutoGaussian().fit(X, y, groups=groups[:9])
    with pytest.raises(InvalidParameterError, match="pass one of them"):
        sf.AutoGaussian().fit(X, y, groups=groups, time=groups)


def test_compare_passes_groups_to_inner_searches():
    X, y, groups = clustered()
    seen = []

    class Spy(sf.AutoGaussian):
        def fit(self, X, y, sample_weight=None, *, groups=None, time=None):
            seen.append((len(y), groups, time))
            return super().fit(X, y, sample_weight, groups=groups, time=time)

    # The four folds of groups come first, then the five of rows drawn at random.
    sf.compare(X, y, {"spy": Spy()}, cv=4, groups=groups, progress=False)
    assert [n for n, _, _ in seen] == [180] * 4 + [192] * 5
    assert all(len(given) == n and time is None for n, given, time in seen[:4])
    assert all(given is None and time is None for _, given, time in seen[4:])
    seen.clear()
    # The two folds of time come first.
    sf.compare(X, y, {"spy": Spy()}, cv=2, time=np.tile(np.arange(12), 20), progress=False)
    assert [n for n, _, _ in seen] == [80, 160] + [192] * 5
    assert all(given is None and len(time) == n for n, given, time in seen[:2])
    assert all(given is None and time is None for _, given, time in seen[2:])
