"""Categories read as indicators, as factors and as a tree: scikit-learn, R, and brute force."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB
from sklearn.naive_bayes import GaussianNB as ScikitNB

from suffice.core.estimation.categories import (
    _level_forest,
    encoded_moments,
    smoothed_pairs,
)
from suffice.core.estimation.chow_liu import mutual_information, spanning_tree
from suffice.core.estimation.estimate import chosen_settings, estimate, in_row_units
from suffice.core.estimation.priors import Dirichlet
from suffice.core.estimation.settings import Categorical, Settings
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.level_forest import LevelBlocks, LevelForest
from suffice.core.model.mixed import MixedModel
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.errors import DegenerateDataWarning, InvalidParameterError, MissingStatisticsError

DATA = Path(__file__).parents[2] / "reference" / "data"
READINGS = [
    {"covariance": "diagonal"},
    {"covariance": "diagonal", "tied": True},
    {"covariance": "spherical"},
    {"covariance": "VEI"},
    {"tied": True},
    {"pooling": 0.5, "shrinkage": 0.1},
    {"estimate": "map"},
    {"covariance": "tree"},
    {"covariance": "tree", "tied": True},
    {"covariance": "tree", "pooling": 0.3},
    {"covariance": "tree", "estimate": "map"},
]
MIXED = [words for words in READINGS if "covariance" in words]


def frame(rng, n=240, n_classes=3):
    """Return a mixed frame whose categories hang together, and labels."""
    y = rng.integers(n_classes, size=n)
    colour = np.array(list("rgbw"))[(rng.integers(4, size=n) + (rng.random(n) < 0.3) * y) % 4]
    shape = np.where(rng.random(n) < 0.8, np.isin(colour, ["r", "g"]), rng.random(n) < 0.5)
    size = rng.choice(["s", "m", "l"], n)
    a = rng.normal(size=n) + y + (colour == "r")
    b = (1 + y) * rng.normal(size=n) + 2 * shape
    text = np.where(shape, "round", "flat")
    return pd.DataFrame({"a": a, "colour": colour, "b": b, "shape": text, "size": size}), y


def summed(df, y, **reading):
    """Return the moments of a frame and its encoded rows."""
    table = Table.of(df, y, **reading)
    moments = Moments.of_table(table, storage="per-class", holes=True)
    return moments, moments.encoding.rows(table.x, table.indicators)


def levels_of(df):
    columns = [c for c in df if df[c].dtype.kind not in "fi"]
    codes = np.stack([pd.Categorical(df[c]).codes for c in columns], axis=1)
    return codes, [df[c].nunique() for c in columns]


# --- naive Bayes -----------------------------------------------------------------------------


def _smoothing_settings(alpha):
    if alpha is None:
        return Settings(covariance="diagonal")
    levels = Categorical(smoothing=alpha)
    return Settings(covariance="diagonal", priors=Dirichlet(alpha), categorical=levels)


@pytest.mark.parametrize("alpha", [None, 0.5, 3])
def test_diagonal_models_are_gaussian_and_categorical_naive_bayes(alpha):
    df, y = frame(np.random.default_rng(0))
    df = df[(y != 1) | (df["colour"] != "w")]
    y = y[df.index]
    moments, rows = summed(df, y)
    found = estimate(moments, _smoothing_settings(alpha))
    codes, sizes = levels_of(df)
    numbers = ScikitNB(var_smoothing=0).fit(df[["a", "b"]].to_numpy(), y)
    factors = CategoricalNB(alpha=alpha or 1, min_categories=sizes).fit(codes, y)
    expected = numbers.predict_joint_log_proba(df[["a", "b"]].to_numpy())
    expected += factors.predict_joint_log_proba(codes)
    expected -= np.log(numbers.class_prior_) + factors.class_log_prior_
    np.testing.assert_allclose(found.class_log_density(rows), expected, rtol=0, atol=1e-10)
    counts = np.bincount(y)
    priors = counts if alpha is None else counts + alpha
    np.testing.assert_allclose(found.priors, priors / priors.sum())


def test_weights_count_as_that_many_rows():
    df, y = frame(np.random.default_rng(1))
    w = np.random.default_rng(2).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), w)
    once = Moments.of(df, y, w)
    twice = Moments.of(df.iloc[repeated], y[repeated])
    _, rows = summed(df, y)
    a, b = (estimate(m, Settings(covariance="diagonal")) for m in (once, twice))
    np.testing.assert_allclose(a.log_joint(rows), b.log_joint(rows), atol=1e-10)


def _reference_frame(name):
    df = pd.read_csv(DATA / f"{name}.csv", dtype={"year": float})
    return df.drop(columns="target"), df["target"].to_numpy(str)


@pytest.mark.parametrize("laplace", [1, 3])
@pytest.mark.parametrize("name", ["house_votes84", "penguins", "titanic_passengers"])
def test_tables_and_posteriors_equal_those_of_e1071(reference, name, laplace):
    df, y = _reference_frame(name)
    known = reference("naive_bayes_categorical")["datasets"][name]
    moments, rows = summed(df, y, missing="indicator")
    words = {"covariance": "diagonal", "divisor": "unbiased", "priors": Dirichlet(laplace)}
    words["categorical"] = Categorical(smoothing=laplace)
    found = estimate(moments, Settings(**words))
    encoding, tables = moments.encoding, known[f"laplace_{laplace}"]["tables"]
    schema, n_filled = encoding.schema, len(encoding.schema.filled)
    for j, number in enumerate(schema.numbers):
        # e1071: mean and standard deviation of the rows that have the number
        np.testing.assert_allclose(found.means[:, j], np.array(tables[number.name])[:, 0])
        sigma = np.sqrt(found.inner.covariance_matrices[:, j, j])
        np.testing.assert_allclose(sigma, np.array(tables[number.name])[:, 1])
    observed = np.zeros((len(rows), len(known["classes"])))
    for j, category in enumerate(schema.categories):
        order = [
            encoding.reference[j],
            *np.delete(np.arange(category.n_levels), encoding.reference[j]),
        ]
        shares = np.zeros((len(known["classes"]), category.n_levels))
        for k, own in enumerate(found.levels.log_tables):
            shares[k, order] = np.exp(own[n_filled + j][0])
        # a missing cell is a level of ours; e1071 leaves it out: p(level | k, not missing)
        seen = shares[:, : len(category.levels)].sum(1, keepdims=True)
        given_seen = shares[:, : len(category.levels)] / seen
        np.testing.assert_allclose(given_seen, tables[category.name], rtol=1e-12)
        present = df[category.name].notna().to_numpy()
        observed += np.where(
            present[:, None],
            np.log(seen[:, 0]),
            np.log(shares[:, -1] if category.missing else 1.0),
        )
    holes = slice(schema.n_numbers, schema.n_numbers + n_filled)
    rows[:, holes], rows[:, : schema.n_numbers] = np.nan, df[[c.name for c in schema.numbers]]
    at = known["rows_0based"]
    joint = found.class_log_density(rows)[at] - observed[at] + np.log(known["counts"])
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(
        posterior, known[f"laplace_{laplace}"]["posterior"], rtol=1e-8, atol=1e-13
    )


# --- missing values that have an indicator --------------------------------------------------------


def holed(rng, n=300):
    df, y = frame(rng, n)
    df.loc[rng.random(n) < 0.1 + 0.2 * y, "a"] = np.nan
    df.loc[rng.random(n) < 0.2, "b"] = np.nan
    return df, y


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_numbers_of_empty_cells_are_left_out_of_mean_and_variance(divisor, shift):
    df, y = holed(np.random.default_rng(3))
    df[["a", "b"]] += shift
    moments, _ = summed(df, y, missing="indicator")
    found = estimate(moments, Settings(covariance="diagonal", divisor=divisor))
    own = df[["a", "b"]].groupby(y)
    np.testing.assert_allclose(found.means[:, :2], own.mean(), rtol=1e-12)
    variances = np.diagonal(found.inner.covariance_matrices, axis1=1, axis2=2)
    np.testing.assert_allclose(variances, own.var(ddof=int(divisor == "unbiased")), rtol=1e-8)
    tied = estimate(moments, Settings(covariance="diagonal", divisor=divisor, tied=True))
    squares = (df[["a", "b"]] - own.transform("mean")).pow(2).sum()
    n = df[["a", "b"]].notna().sum() - 3 * (divisor == "unbiased")
    np.testing.assert_allclose(
        np.diagonal(tied.inner.covariance_matrices), squares / n, rtol=1e-8
    )


def test_an_empty_cell_is_a_factor_of_its_own_and_no_number():
    df, y = holed(np.random.default_rng(4))
    moments, rows = summed(df, y, missing="indicator")
    found = estimate(moments, Settings(covariance="diagonal"))
    whole = estimate(
        summed(df[["colour", "shape", "size"]], y)[0], Settings(covariance="diagonal")
    )
    expected = whole.class_log_density(rows[:, 4:])
    for k in range(3):
        for name in ("a", "b"):
            own, seen = df[name][y == k].dropna(), df[name].notna()
            n = (y == k).sum()
            share = (n - len(own) + 1) / (n + 2)
            z = (df[name] - own.mean()) / own.std(ddof=0)
            density = (
                -0.5 * (np.log(2 * np.pi) + z**2) - np.log(own.std(ddof=0)) + np.log(1 - share)
            )
            expected[:, k] += np.where(seen, density, np.log(share))
    np.testing.assert_allclose(found.class_log_density(rows), expected, atol=1e-10)
    total = found.log_joint(rows)[np.arange(len(y)), y].sum()
    encoded = encoded_moments(moments)[0]
    assert found._log_likelihood(encoded) == pytest.approx(total, rel=1e-10)
    # what other systems compute: the numbers as they were filled, and terms of the levels
    scores, formula = found.formula.scorer.joint(rows[:, :2]), found.formula
    codes = found.blocks.codes(rows)
    scores += sum(term[:, codes[:, j]].T for j, term in enumerate(formula.levels))
    np.testing.assert_allclose(scores - scores[:, :1], (s := found.scores(rows)) - s[:, :1])
    x, _ = found.sample(2000, np.random.default_rng(0))
    fill = moments.schema.numbers[0].fill
    np.testing.assert_array_equal(x[:, 0] == fill, x[:, 2] == 1)


def test_a_tree_integrates_empty_cells_out_and_has_no_likelihood_in_moments():
    df, y = holed(np.random.default_rng(5))
    moments, rows = summed(df, y, missing="indicator")
    found = estimate(moments, Settings(covariance="tree"))
    moved = rows.copy()
    moved[rows[:, 2] == 1, 0] = 1e3  # whatever stands in a missing value
    np.testing.assert_allclose(found.log_joint(moved), found.log_joint(rows))
    with pytest.raises(MissingStatisticsError, match="missing numbers"):
        found._log_likelihood(encoded_moments(moments)[0])


# --- Gaussians of indicators -------------------------------------------------------------------


def test_lda_with_categories_is_lda_of_the_columns_without_the_reference():
    df, y = frame(np.random.default_rng(6))
    moments, rows = summed(df, y)
    found = estimate(moments, Settings(tied=True))
    encoding = moments.encoding
    chosen = zip(encoding.schema.categories, encoding.reference, strict=True)
    references = {column.name: column.level_names[at] for column, at in chosen}
    dense = pd.get_dummies(df, dtype=float)
    dense = dense.drop(columns=[f"{name}_{level}" for name, level in references.items()])
    x = dense.to_numpy()
    own = estimate(Moments.of(x, y), Settings(tied=True))
    np.testing.assert_allclose(found.log_posterior(rows), own.log_posterior(x), atol=1e-10)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(x, y)
    np.testing.assert_allclose(found.posterior(rows), theirs.predict_proba(x), atol=1e-10)


@pytest.mark.parametrize("learning", ["plug-in", "map", "predictive"])
def test_a_level_that_a_class_never_has_is_normal(learning):
    rng = np.random.default_rng(7)
    df, y = frame(rng, 600)
    none = (y == 1) & np.isin(df["colour"], ["r", "w"])  # one of them may be the reference
    df, y = df[~none], y[~none]
    moments, rows = summed(df, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = estimate(moments, Settings(estimate=learning))
    naive = estimate(moments, Settings(covariance="diagonal"))
    losses = [-m.log_posterior(rows)[np.arange(len(y)), y].mean() for m in (found, naive)]
    assert losses[0] < 1.1 * losses[1]


def test_numbers_without_variance_and_copied_categories_are_told():
    df, y = frame(np.random.default_rng(8))
    df["a"] = np.where(y == 0, 1.0, df["a"])
    with pytest.warns(DegenerateDataWarning, match="column 'a' is constant"):
        estimate(summed(df, y)[0], Settings())
    copied = df.assign(a=np.arange(len(y)) * 1.0, again=df["colour"])
    with pytest.warns(DegenerateDataWarning, match="combinations? of other columns") as told:
        estimate(summed(copied, y)[0], Settings())
    assert len(told) == 1


# --- the tree ----------------------------------------------------------------------------------


def trees(q):
    """Yield every tree of q nodes as its edges (from Prüfer sequences)."""
    for sequence in itertools.product(range(q), repeat=q - 2):
        degree = np.bincount(sequence, minlength=q) + 1
        edges = []
        for node in sequence:
            leaf = int(np.flatnonzero(degree == 1)[0])
            edges.append((leaf, node))
            degree[leaf] -= 1
            degree[node] -= 1
        yield [*edges, tuple(np.flatnonzero(degree == 1))]


@given(st.integers(0, 10_000))
def test_the_tree_is_the_one_of_greatest_likelihood_among_all(seed):
    rng = np.random.default_rng(seed)
    base = rng.integers(3, size=80)
    columns = {
        f"c{j}": np.where(rng.random(80) < 0.5, base, rng.integers(3, size=80)).astype(str)
        for j in range(4)
    }
    moments, _ = summed(pd.DataFrame(columns), rng.integers(2, size=80))
    encoded, encoding = encoded_moments(moments)
    blocks = LevelBlocks.of(encoding)
    information = mutual_information(smoothed_pairs(encoded, blocks, 0, 1.0), blocks)
    # expected log-likelihood of a tree = Σ over edges of I(i; j) + what all trees have in common
    best = max(sum(information[i, j] for i, j in edges) for edges in trees(4))
    parents = spanning_tree(information)
    assert sum(p < 0 for p in parents) == 1
    assert sum(information[j, p] for j, p in enumerate(parents) if p >= 0) == pytest.approx(
        best
    )
    assert len(list(trees(4))) == 16


def test_mutual_information_is_that_of_the_counted_pairs():
    df, y = frame(np.random.default_rng(9))
    encoded, encoding = encoded_moments(summed(df, y)[0])
    blocks = LevelBlocks.of(encoding)
    found = mutual_information(smoothed_pairs(encoded, blocks, 2, 1e-12), blocks)
    own = df[y == 2]
    for i, a in enumerate(["colour", "shape", "size"]):
        for j, b in enumerate(["colour", "shape", "size"][:i]):
            p = pd.crosstab(own[a], own[b]).to_numpy() / len(own)
            outer = np.outer(p.sum(1), p.sum(0))
            expected = (p[p > 0] * np.log(p[p > 0] / outer[p > 0])).sum()
            assert found[i, j] == pytest.approx(expected, abs=1e-8)


def test_the_root_of_a_tree_changes_no_probability():
    df, y = frame(np.random.default_rng(10))
    moments, _ = summed(df, y)
    known = estimate(moments, Settings(covariance="tree")).levels
    chain = np.array([[-1, 0, 1]] * 3), np.array([[1, 2, -1]] * 3)
    encoded, encoding = encoded_moments(moments)
    one, two = (_level_forest(encoded, LevelBlocks.of(encoding), c, 1.0) for c in chain)
    every = np.array(list(itertools.product(range(4), range(2), range(3))))
    np.testing.assert_allclose(one.log_probability(every), two.log_probability(every))
    np.testing.assert_allclose(np.exp(known.log_probability(every)).sum(0), 1)
    assert isinstance(known, LevelForest)


def test_smoothed_single_levels_of_a_tree_are_those_of_naive_bayes():
    df, y = frame(np.random.default_rng(11))
    moments, _ = summed(df, y)
    tree, naive = (
        estimate(moments, Settings(categorical=Categorical(smoothing=2.0), **words))
        for words in ({"covariance": "tree"}, {"covariance": "diagonal"})
    )
    np.testing.assert_allclose(tree.levels.frequencies, naive.levels.frequencies, rtol=1e-12)


def test_numbers_of_a_tree_are_regressed_on_the_levels():
    rng = np.random.default_rng(12)
    df, y = frame(rng, 3000, 2)
    df["b"] = (
        rng.normal(size=len(y)) + 2 * (df["shape"] == "round") - 3 * y * (df["colour"] == "w")
    )
    moments, rows = summed(df, y)
    found = estimate(moments, Settings(covariance="tree"))
    for k in (0, 1):
        own = rows[y == k]
        design = np.column_stack([np.ones(len(own)), own[:, 2:]])
        slopes = np.linalg.lstsq(design, own[:, :2], rcond=None)[0]
        np.testing.assert_allclose(found.coefficients[k], slopes[1:].T, atol=0.02)
        left = own[:, :2] - design @ slopes
        sigma = found.inner.covariance_matrices[k]
        np.testing.assert_allclose(sigma, left.T @ left / len(own), rtol=0.01, atol=0.01)


def test_a_level_that_a_class_never_has_borrows_its_effect():
    rng = np.random.default_rng(13)
    df, y = frame(rng, 900)
    df["a"] = rng.normal(size=len(y)) + 5 * (df["colour"] == "b")
    keep = (y != 2) | (df["colour"] != "b")
    moments, _ = summed(df[keep], y[keep])
    found = estimate(moments, Settings(covariance="tree"))
    at = moments.encoding.feature_names.index("colour=b") - 2
    np.testing.assert_allclose(found.coefficients[:, 0, at], 5, atol=0.5)


def test_samples_of_a_tree_have_the_frequencies_and_dependence_of_the_rows():
    rng = np.random.default_rng(14)
    df, y = frame(rng, 4000, 2)
    moments, rows = summed(df, y)
    found = estimate(moments, Settings(covariance="tree"))
    x, k = found.sample(40_000, np.random.default_rng(0))
    drawn = pd.DataFrame(moments.encoding.columns(x))
    for at in (0, 1):
        own, new = df[y == at], drawn[k == at]
        for pair in (["colour", "shape"], ["shape", "size"]):
            expected = pd.crosstab(own[pair[0]], own[pair[1]], normalize=True)
            seen = pd.crosstab(new[pair[0]], new[pair[1]], normalize=True)
            assert np.abs(seen - expected).to_numpy().max() < 0.03
        by_shape = new.groupby("shape")["b"].mean() - own.groupby("shape")["b"].mean()
        assert by_shape.abs().max() < 0.2
    assert len(rows) == 4000


# --- all readings ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", READINGS, ids=str)
@settings(max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_merged_and_forgotten_rows_give_the_model_of_the_rest(words, seed):
    rng = np.random.default_rng(seed)
    df, y = frame(rng, 120, 2)
    parts = [summed(df.iloc[rows], y[rows])[0] for rows in np.array_split(np.arange(120), 3)]
    rest = parts[2] + parts[0] + parts[1] - parts[1]
    kept = np.r_[0:40, 80:120]
    whole, rows = summed(df.iloc[kept], y[kept])
    if rest.encoding != whole.encoding:  # levels that only the forgotten rows had
        return
    a, b = (estimate(m, Settings(**words), quiet=True) for m in (rest, whole))
    np.testing.assert_allclose(a.log_joint(rows), b.log_joint(rows), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("words", MIXED, ids=str)
def test_likelihoods_are_the_sums_over_the_rows(words):
    df, y = frame(np.random.default_rng(15))
    moments, rows = summed(df, y)
    found = estimate(moments, Settings(**words))
    assert isinstance(found, MixedModel)
    total = found.log_joint(rows)[np.arange(len(y)), y].sum()
    assert found._log_likelihood(encoded_moments(moments)[0]) == pytest.approx(
        total, rel=1e-12
    )


def test_parameters_are_counted():
    df, y = frame(np.random.default_rng(16))
    moments, _ = summed(df, y)
    naive = estimate(moments, Settings(covariance="diagonal"))
    # priors, means and variances of two numbers, 3 + 1 + 2 free probabilities, in each of 3 classes
    assert naive.n_parameters == 2 + 6 + 6 + 3 * 6
    tree = estimate(moments, Settings(covariance="tree", tied=True))
    edges = sum(t.shape[0] * (t.shape[1] - 1) for own in tree.levels.log_tables for t in own)
    assert tree.n_parameters == 2 + 6 + 3 + 2 * 6 + edges
    assert edges > 3 * 6


@pytest.mark.parametrize("words", READINGS, ids=str)
def test_tables_of_categories_alone_and_of_one_level_have_models(words):
    df, y = frame(np.random.default_rng(17))
    only = df[["colour", "shape"]].assign(same="always")
    moments, rows = summed(only, y)
    found = estimate(moments, Settings(**words), quiet=True)
    assert rows.shape[1] == found.n_features == 4
    np.testing.assert_allclose(found.posterior(rows).sum(1), 1)
    x, k = found.sample(50, np.random.default_rng(0))
    assert x.shape == (50, 4)
    assert len(set(k)) == 3
    nothing, empty = summed(only[["same"]], y)
    prior = estimate(nothing, Settings(**words), quiet=True)
    np.testing.assert_allclose(
        prior.posterior(empty), np.tile(np.bincount(y) / len(y), (len(y), 1))
    )


def test_an_unknown_level_leaves_its_factor_out_and_is_summed_out_of_a_tree():
    df, y = frame(np.random.default_rng(18))
    moments, rows = summed(df, y)
    start, stop = moments.encoding.blocks[0].start, moments.encoding.blocks[0].stop
    hidden = rows.copy()
    hidden[:, start:stop] = np.nan
    naive = estimate(moments, Settings(covariance="diagonal"))
    without = estimate(
        summed(df.drop(columns="colour"), y)[0], Settings(covariance="diagonal")
    )
    others = np.delete(rows, np.arange(start, stop), axis=1)
    np.testing.assert_allclose(naive.log_joint(hidden), without.log_joint(others), atol=1e-10)
    tree = estimate(moments, Settings(covariance="tree"))
    total = np.full((len(y), 3), -np.inf)
    for level in range(4):
        tried = rows.copy()
        tried[:, start:stop] = np.eye(4)[level, 1:]
        total = np.logaddexp(total, tree.log_joint(tried))
    np.testing.assert_allclose(tree.log_joint(hidden), total, atol=1e-10)


@pytest.mark.parametrize("words", READINGS, ids=str)
def test_a_power_transform_reaches_the_numbers_alone(words):
    df, y = frame(np.random.default_rng(19))
    df["a"] = np.exp(df["a"])
    table = Table.of(df, y)
    moments = Moments.of_table(table, storage="per-class", power="yeo-johnson")
    rows = moments.encoding.rows(table.x, table.indicators)
    found = in_row_units(estimate(moments, Settings(**words)), moments)
    changed = df.assign(
        **dict(zip("ab", moments.power.select([0, 1]).apply(table.x).T, strict=True))
    )
    own, plain = summed(changed, y)
    expected = estimate(own, Settings(**words)).log_posterior(plain)
    np.testing.assert_allclose(found.log_posterior(rows), expected, atol=1e-9)
    x, _ = found.sample(20, np.random.default_rng(0))
    assert np.isfinite(x).all()


def test_the_family_is_chosen_by_the_numbers():
    df, y = frame(np.random.default_rng(20))
    moments, _ = summed(df, y)
    numbers = Moments.of(df[["a", "b"]].to_numpy(), y)
    chosen = chosen_settings(moments, Settings(covariance="auto")).family
    assert chosen == chosen_settings(numbers, Settings(covariance="auto")).family


def test_storages_suffice():
    df, y = frame(np.random.default_rng(21))
    for words in READINGS:
        recipe = Settings(**words)
        kept = Moments.of(df, y, storage=recipe.storage)
        whole, rows = summed(df, y)
        a, b = estimate(kept, recipe), estimate(whole, recipe)
        np.testing.assert_allclose(a.log_joint(rows), b.log_joint(rows), atol=1e-9)
    assert Settings(covariance="tree", tied=True).storage == "per-class"
    assert isinstance(estimate(whole, Settings(tied=True)), GaussianModel)


def test_words_that_do_not_go_together_are_refused():
    with pytest.raises(InvalidParameterError, match="'tree'"):
        Settings(covariance="forest")
    for words in ({"estimate": "predictive"}, {"shrinkage": "ledoit-wolf"}):
        with pytest.raises(InvalidParameterError, match="covariance='tree'"):
            Settings(covariance="tree", **words)


# --- numbers that are missing ------------------------------------------------------------------


def test_missing_numbers_of_naive_bayes_are_left_out_of_their_own_factor():
    df, y = holed(np.random.default_rng(22))
    moments, rows = summed(df, y)
    found = estimate(moments, Settings(covariance="diagonal"))
    own = df[["a", "b"]].groupby(y)
    np.testing.assert_allclose(found.means[:, :2], own.mean(), rtol=1e-10)
    total = found.log_joint(rows)[np.arange(len(y)), y].sum()
    assert found._log_likelihood(encoded_moments(moments)[0]) == pytest.approx(
        total, rel=1e-10
    )


def test_a_tree_learns_from_rows_with_missing_numbers():
    rng = np.random.default_rng(23)
    df, y = frame(rng, 4000, 2)
    recipe = Settings(covariance="tree")
    whole = estimate(summed(df, y)[0], recipe)
    # b is missing by shape, which it depends on: what is there of b is no fair sample
    holes = rng.random(len(y)) < np.where(df["shape"] == "round", 0.6, 0.1)
    moments, rows = summed(df.assign(b=df["b"].mask(holes)), y)
    found = estimate(moments, recipe)
    np.testing.assert_allclose(found.means, whole.means, atol=0.15)
    np.testing.assert_allclose(found.coefficients, whole.coefficients, atol=0.5)
    assert np.isfinite(found.log_joint(rows)).all()
    with pytest.raises(MissingStatisticsError, match="missing numbers"):
        found._log_likelihood(encoded_moments(moments)[0])


def test_predictive_densities_of_incomplete_rows_know_unseen_levels():
    df, y = holed(np.random.default_rng(24), 600)
    keep = ~((y == 1) & (df["colour"] == "w").to_numpy())
    moments, rows = summed(df[keep], y[keep])
    losses = [
        -m.allowing_missing().log_posterior(rows)[np.arange(keep.sum()), y[keep]].mean()
        for m in (estimate(moments, Settings(estimate=e)) for e in ("predictive", "plug-in"))
    ]
    assert losses[0] < 1.05 * losses[1]


@pytest.mark.parametrize(
    ("covariance", "expected"),
    [("full", True), ("diagonal", False), ("tree", False), ("auto", False)],
)
def test_only_a_chosen_covariance_with_correlations_reads_indicators_as_numbers(
    covariance, expected
):
    assert Settings(covariance=covariance).reads_numbers is expected
