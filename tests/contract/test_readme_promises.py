"""Every sentence of the README's "What it is good for" has a test of its name.

The name of a test is the beginning of the sentence in snake case; see ``name_of``.
"""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import suffice as sf
from suffice.errors import DegenerateDataWarning, ForgetError, SufficeWarning

ROOT = Path(__file__).parents[2]
LONGEST = 70  # characters of a name

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def sentences():
    """Return the sentences of the section, without titles and pointers to other places."""
    section = (
        (ROOT / "README.md").read_text().split("## What it is good for")[1].split("\n## ")[0]
    )
    bullets = re.findall(r"^- \*\*.*?\*\*(.*?)(?=^- |\Z)", section, re.DOTALL | re.MULTILINE)
    texts = (
        " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", bullet).split()) for bullet in bullets
    )
    found = [each for text in texts for each in re.split(r"(?<=[.])\s+(?=[A-Z`])", text)]
    return [each for each in found if not each.startswith("See ")]


def name_of(sentence):
    words = re.findall(r"[a-z0-9]+", sentence.lower().replace("'s ", "s "))
    return "test_" + re.sub(r"_[^_]*$", "", ("_".join(words) + "_")[: LONGEST + 1])


def test_no_sentence_lacks_its_test():
    lacking = [name_of(each) for each in sentences() if name_of(each) not in globals()]
    assert not lacking
    promised = {name_of(each) for each in sentences()} | {"test_no_sentence_lacks_its_test"}
    assert [
        name for name in globals() if name.startswith("test_") and name not in promised
    ] == []


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 300)
    return rng.normal(size=(300, 4)) + y[:, None] * [1, 0, 0.5, -1], y


def test_fitting_takes_one_pass_over_the_data_and_runs_about_as_fast_as_a(rows):
    """One pass: rows that can be read only once give the same sums. (Speed: benchmarks.)"""
    X, y = rows
    once = iter([(X[lo : lo + 70], y[lo : lo + 70]) for lo in range(0, 300, 70)])
    found = sf.summarize(once)
    assert next(once, None) is None
    np.testing.assert_allclose(found.scatters, sf.Moments.of(X, y).scatters, rtol=1e-12)


def test_lda_fits_a_million_rows_of_50_features_in_0_064_s_on_two_cores_70():
    """The time is that of the benchmark as the documentation records it."""
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    assert "| 10⁶ × 50, 10 | LDA | 0.064 | 70 faster |" in measured


def test_compared_with_scikit_learns_fastest_solver_a_fit_of_lda_takes_3_6_to():
    """The figures are the least and the largest of the documentation's rows of plain numbers."""
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    rows = re.findall(r"^\| LDA, QDA, .*$", measured, re.MULTILINE)
    of_lda = [float(re.split(r" *\| *", row)[4].split(" ×")[0]) for row in rows]
    assert (min(of_lda), max(of_lda)) == (3.6, 13)


def test_over_29_real_tables_autoclassifier_has_the_best_mean_rank_of_15():
    """The figures are those of the benchmark as the documentation records it."""
    text = (ROOT / "docs" / "selection.md").read_text().split("critical_differences.png")[0]
    pattern = r"^\| \**([^|*]+?)\** \| ([\d.]+) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| \d+ \|"
    ranks = {n: (float(a), float(b)) for n, a, b in re.findall(pattern, text, re.MULTILINE)}
    assert len(ranks) == 15
    first = ["AutoClassifier", "AutoGaussian", "CatBoost"]
    for measure in range(2):
        assert sorted(ranks, key=lambda n: ranks[n][measure])[:3] == first
    said = next(each for each in sentences() if each.startswith("Over 29"))
    numbers = [float(n) for n in re.findall(r"\d+\.\d", said)]
    expected = [rank for name in first for rank in ranks[name]]
    np.testing.assert_allclose(numbers, expected, atol=0.06)


def test_suffice_fits_pytorch_and_cupy_arrays_on_their_device_and_predicts(rows, monkeypatch):
    """The laws are tested in tests/core/moments and tests/core/model."""
    from tests.cuda import asarray_of

    X, y = rows
    there = asarray_of("array_api_strict", monkeypatch)(X)
    found = sf.QDA().fit(there, y).predict_proba(there)
    assert type(found) is type(there)
    np.testing.assert_allclose(
        np.asarray(found), sf.QDA().fit(X, y).predict_proba(X), atol=1e-9
    )


def test_an_h200_fits_qda_to_20_million_rows_of_50_features_in_10_ms():
    """The time is that of the benchmark as the documentation records it."""
    measured = (ROOT / "docs" / "gpu.md").read_text().split("QDA fit, ms")[1]
    fit = re.search(r"2e7 × 50, 10 \| float32 (?:\| [\d.]+ ){3}\| ([\d.]+)", measured)
    assert round(float(fit[1])) == 10


def test_on_six_small_datasets_such_as_iris_and_wine_results_agree_with_400_bit(
    table, reference
):
    datasets = reference("exact_gaussian")["datasets"]
    assert len(datasets) == 6
    assert {"iris", "wine"} <= datasets.keys()
    for name, exact in datasets.items():
        X, y, _ = table(name)
        for kind, model in (("lda", sf.LDA), ("qda", sf.QDA)):
            found = model().fit(X, y).predict_log_proba(X[exact["rows_0based"]])
            np.testing.assert_allclose(found, exact[f"{kind}_log_posterior_mle"], rtol=1e-10)


def test_features_with_mean_1e8_and_variance_1_keep_this_accuracy_whether_they(rows):
    X, y = rows
    near = np.round(X * 2**20) / 2**20  # so few digits that 1e8 can be added exactly
    far = near + 1e8
    expected = sf.Moments.of(near, y)
    cuts = np.array_split(np.arange(300_000) % 300, 1000)
    chunks = sum(sf.Moments.of(far[cut], y[cut]) for cut in cuts)
    np.testing.assert_allclose(sf.Moments.of(far, y).scatters, expected.scatters, rtol=1e-12)
    np.testing.assert_allclose(chunks.scatters / 1000, expected.scatters, rtol=1e-12)


UNIT_FREE = [
    *(
        sf.LDA(),
        sf.QDA(),
        sf.GaussianNB(),
        sf.RDA(),
        sf.AutoGaussian(),
        sf.LogisticRegression(),
    ),
    *(sf.LDA(shrinkage="oas"), sf.QDA(shrinkage=sf.Shrinkage("ledoit-wolf", target="sphere"))),
    *(sf.QDA(estimate="predictive"), sf.LDA(power="yeo-johnson")),
    *(sf.GaussianClassifier(code) for code in ("VEI", "EVI", "EEE", "VEE", "EVV", "VVV")),
]
OF_UNITS = [
    sf.QDA(shrinkage=sf.Shrinkage(0.5, target="identity")),
    sf.GaussianClassifier("spherical"),
    *(sf.GaussianClassifier(code) for code in ("EII", "VII", "EVE", "VVE", "EEV", "VEV")),
]


def test_multiplying_a_feature_by_a_million_does_not_change_the_predictions(iris):
    X, y = iris
    other = X * [1.0, 1e6, 1.0, 1.0]
    for estimator in UNIT_FREE:
        expected = estimator.fit(X, y).predict_proba(X)
        found = estimator.fit(other, y).predict_proba(other)
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=str(estimator))
    # the exceptions, without that of many features
    for estimator in OF_UNITS:
        expected = estimator.fit(X, y).predict_proba(X)
        found = estimator.fit(other, y).predict_proba(other)
        assert np.abs(found - expected).max() > 0.01, estimator


def test_with_more_than_400_features_and_fewer_than_five_rows_per_feature_it():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    scales = np.where(np.arange(420) < 10, 1.0, 1e-2)
    X = scales * rng.normal(size=(60, 420))
    X[:, :10] += rng.normal(size=(3, 10))[y]
    wide = sf.LDA(shrinkage="auto").fit(X, y)
    assert wide.settings_.shrinkage.target == "identity"
    narrower = sf.LDA(shrinkage="auto").fit(X[:, :400], y)
    assert isinstance(narrower.settings_.shrinkage, float)


def test_numerical_tolerances_are_relative_so_they_do_not_depend_on_units(rows):
    X, y = rows
    X = np.c_[X, X[:, 0] + X[:, 1], np.ones(300)]  # collinear, constant
    found = []
    for scale in 2.0 ** np.array([0, -200, -27, 27, 200]):
        with pytest.warns(DegenerateDataWarning) as told:
            fitted = sf.LDA().fit(X * scale, y)
        found.append((str(told[0].message), fitted.predict_proba(X * scale).tolist()))
    assert all(each == found[0] for each in found)


def test_partial_fit_gives_the_same_model_whatever_the_order_or_size_of_the(rows):
    X, y = rows
    whole = sf.QDA().fit(X, y).predict_proba(X)
    for seed, size in ((0, 1), (1, 7), (2, 100)):
        order = np.random.default_rng(seed).permutation(300)
        order = order[np.argsort(y[order] == 2, kind="stable")]  # class 2 comes late
        stream = sf.QDA()
        for lo in range(0, 300, size):
            part = order[lo : lo + size]
            stream.partial_fit(X[part], y[part])
        np.testing.assert_allclose(stream.predict_proba(X), whole, atol=1e-10)


def test_settings_that_are_chosen_from_data_auto_a_power_transform_are_fixed_by(rows):
    X, y = rows
    stream = sf.QDA(power="yeo-johnson").partial_fit(X[:150], y[:150])
    chosen = stream.moments_.power.exponents
    with pytest.warns(SufficeWarning, match="power"):
        stream.partial_fit(X[150:], y[150:])
    np.testing.assert_array_equal(stream.moments_.power.exponents, chosen)


def test_forget_removes_rows_exactly_or_raises_an_error_if_the_rows_removed_are(rows):
    X, y = rows
    stream = sf.QDA().fit(X, y)
    before = stream.predict_proba(X)
    stream.partial_fit(X[:40] + 1, y[:40]).forget(X[:40] + 1, y[:40])
    np.testing.assert_allclose(stream.predict_proba(X), before, atol=1e-10)
    stream.partial_fit(X[:1] + 1e10, y[:1])
    with pytest.raises(ForgetError, match="digits"):
        stream.forget(X[:1] + 1e10, y[:1])


def test_columns_may_be_constant_duplicated_or_collinear_a_class_may_have_a(rows):
    X, y = rows[0][:12], np.array([*["a", "b"] * 5, "b", "single"])
    wide = pd.DataFrame(np.c_[X, np.full(12, 7.0), X[:, 0], X[:, 1] - X[:, 2], X**2, X**3])
    wide.columns = [f"x{j}" for j in range(wide.shape[1])]
    for estimator in (sf.LDA(), sf.QDA(), sf.GaussianNB()):
        with pytest.warns(DegenerateDataWarning) as told:
            estimator.fit(wide, y)
        classes = ("all classes",) if isinstance(estimator, sf.LDA) else ("'a'", "'single'")
        assert all(name in str(told[0].message) for name in (*classes, "'x4'"))
        posterior = estimator.predict_proba(wide)
        assert np.isfinite(posterior).all()
        assert (estimator.predict(wide) == y).mean() > 0.5


def test_suffice_uses_text_booleans_dates_and_missing_values_directly():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    told = {
        "text": np.where(rng.random(200) < 0.1 + 0.8 * y, "up", "down"),
        "truth": rng.random(200) < 0.1 + 0.8 * y,
        "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.normal(30 * y, 9), "D"),
        "number": np.where(rng.random(200) < 0.3, np.nan, rng.normal(size=200) + 2 * y),
    }
    for name, column in told.items():  # each column alone predicts the class
        X = pd.DataFrame({name: column, "noise": rng.normal(size=200)})
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "column 'date' holds dates")
            lda = sf.LDA().fit(X, y)
            assert lda.moments_.total_weight == 200
            assert lda.score(X, y) > 0.72, name
    halves = sf.Moments.of(X[:90], y[:90]) + sf.Moments.of(X[90:], y[90:])
    gap = X.assign(
        number=np.nan
    )  # rows without it are predicted by the model of the other columns
    np.testing.assert_allclose(
        sf.LDA().fit_moments(halves).predict_proba(gap), lda.predict_proba(gap), rtol=1e-9
    )
    mu, var = lda.means_[:, 1], lda.covariance_[1, 1]
    log_joint = np.log(lda.priors_) - 0.5 * (gap[["noise"]].to_numpy() - mu) ** 2 / var
    expected = np.exp(log_joint) / np.exp(log_joint).sum(1, keepdims=True)
    np.testing.assert_allclose(lda.predict_proba(gap), expected, rtol=1e-9)


@pytest.fixture
def table_in_files(rows, tmp_path):
    """Return a frame, its moments, and the paths of three CSV files that hold its rows."""
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=np.array(["r", "s", "t"])[y])
    paths = [str(tmp_path / f"{i}.csv") for i in range(3)]
    for i, path in enumerate(paths):
        frame[i::3].to_csv(path, index=False)
    return frame, sf.Moments.of(frame[list("abcd")], frame["y"]), paths


def assert_same_moments(found, expected):
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-11)


def test_sf_summarize_reads_files_larger_than_memory_and_resumes_after_a_crash(
    table_in_files, tmp_path
):
    """Bounded memory and killed processes have tests of their own in tests/data."""
    _, expected, paths = table_in_files

    def crash(done, _of):
        if done > 150:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "scan.moments"
    with pytest.raises(KeyboardInterrupt):
        sf.summarize(paths, "y", checkpoint=checkpoint, progress=crash)
    assert_same_moments(sf.summarize(paths, "y"), expected)
    assert_same_moments(sf.summarize(paths, "y", checkpoint=checkpoint), expected)


def test_it_also_runs_inside_a_database_or_on_a_dask_or_spark_cluster_with_the(
    table_in_files,
):
    """Spark has tests of its own in tests/data."""
    dd, duckdb = pytest.importorskip("dask.dataframe"), pytest.importorskip("duckdb")
    frame, expected, _ = table_in_files
    with duckdb.connect() as connection:
        assert_same_moments(sf.summarize(connection.from_df(frame), "y"), expected)
    assert_same_moments(sf.summarize(dd.from_pandas(frame, npartitions=4), "y"), expected)


def test_pipelines_gridsearchcv_set_output_feature_names_weights_and_pickling():
    X, y = load_wine(return_X_y=True, as_frame=True)
    piped = make_pipeline(StandardScaler(), sf.LDA()).set_output(transform="pandas").fit(X, y)
    assert isinstance(piped.transform(X), pd.DataFrame)
    grid = GridSearchCV(sf.QDA(), {"shrinkage": [0.0, 0.3]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.9
    lda = sf.LDA().fit(X, y, sample_weight=np.arange(1, len(y) + 1))
    assert lda.feature_names_in_.tolist() == X.columns.tolist()
    again = pickle.loads(pickle.dumps(lda))
    np.testing.assert_array_equal(again.predict_proba(X), lda.predict_proba(X))


def test_its_estimator_checks_are_part_of_our_test_suite():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        check_estimator(sf.LDA(), on_skip=None)
    checks = (ROOT / "tests" / "contract" / "test_gaussian_contract.py").read_text()
    assert "parametrize_with_checks" in checks
