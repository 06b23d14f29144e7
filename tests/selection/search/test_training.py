"""A view for categories: indicators with more variance."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.core.model.views import Plain, Softened
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.selection.search.candidates import with_noise
from suffice.selection.search.plan import judge_views
from suffice.selection.search.regularisation_grid import Grid
from suffice.selection.search.training import Cells
from suffice.selection.search.view_fitting import fit_softened

N, L, K = 300, 25, 3  # rows, levels of a category, classes


def rows(seed, strength):
    """Return two numbers and a category, which says something of the class or nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % K
    level = rng.integers(L, size=N)
    level = np.where(rng.random(N) < strength, (level // K * K + y) % L, level)
    x = np.c_[rng.normal(size=(N, 2)), np.eye(L)[level][:, 1:]]
    return Table.of(x, y), Cells.of(Table.of(x, y), stratified_folds(y, 5, 0))


POINTS = tuple((p, np.array([0.1, 0.5, 1.0])) for p in (0.0, 0.5, 1.0))


def test_noise_on_indicators_is_judged_as_it_is_learnt():
    table, cells = rows(0, 0.5)
    view = fit_softened(Plain(), table.x, 0.5)
    np.testing.assert_allclose(view.noise, [0, 0, *[0.125] * (L - 1)])
    found = judge_views(cells, [Grid(view, Settings(), POINTS)], 9, {})
    plain = Moments.of_table(table)
    expected = plain.scatters + plain.weights[:, None, None] * np.diag(view.noise)
    np.testing.assert_allclose(found.moments[id(view)].scatters, expected, atol=1e-9)
    np.testing.assert_allclose(with_noise(plain, view.noise).scatters, expected)
    pooled = with_noise(replace(Moments.of_table(table, storage="pooled")), view.noise)
    np.testing.assert_allclose(pooled.pooled_scatter, expected.sum(0))
    recipe, again = found.candidates[0].settings, []
    for f in range(5):
        lo, hi = cells.fold_edges[f : f + 2]
        train = cells.table.take(np.r_[0:lo, hi:N])
        model = estimate(with_noise(Moments.of_table(train), view.noise), recipe, quiet=True)
        model = model.with_temperature(found.candidates[0].temperature)
        p = model.posterior(cells.table.x[lo:hi])
        again.append(np.log(p[np.arange(hi - lo), cells.table.codes[lo:hi]]))
    np.testing.assert_allclose(found.true_log[0], np.concatenate(again), rtol=1e-6)


def test_auto_gaussian_judges_it_and_files_keep_it(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    city = np.where(
        rng.random(N) < 0.4, 3 * rng.integers(4, size=N) + y, rng.integers(12, size=N)
    )
    X = pd.DataFrame({"size": rng.normal(size=N) + y, "city": [f"c{c}" for c in city]})
    auto = sf.AutoGaussian(kernel_features=False).fit(X, y)
    assert Softened in {type(m.candidate.view) for m in auto.members_}
    auto.save(tmp_path / "auto.suffice")
    again = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_array_equal(again.predict_proba(X), auto.predict_proba(X))
