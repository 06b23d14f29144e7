import numpy as np
import pytest

from suffice.core.table.sampling import strided_sample
from suffice.core.table.table import Table
from suffice.discriminative import design
from suffice.discriminative.design import CompiledDesign
from suffice.discriminative.newton import Newton
from suffice.discriminative.starts import zero_start


def numeric_gradient(f, phi, h=1e-5):
    g = np.zeros_like(phi)
    for i in np.ndindex(*phi.shape):
        step = np.zeros_like(phi)
        step[i] = h
        g[i] = (f(phi + step) - f(phi - step)) / (2 * h)
    return g


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("standardize", [True, False])
def test_gradient_and_hessian_agree_with_finite_differences(
    rows_and_codes, problem, n_classes, l2, standardize
):
    x, codes = rows_and_codes(60, 3, n_classes)
    weight = np.random.default_rng(1).uniform(0.2, 3, 60)
    objective = problem(x, codes, weight, l2, standardize).objective
    phi = np.random.default_rng(2).normal(size=objective.shape) * 0.3
    point = objective.curve(phi)
    slope = numeric_gradient(lambda p: objective.evaluate(p).loss, phi)
    np.testing.assert_allclose(point.gradient, slope, rtol=1e-5, atol=1e-5)
    for i, index in enumerate(np.ndindex(*phi.shape)):
        row = numeric_gradient(
            lambda p, index=index: objective.evaluate(p).gradient[index], phi
        )
        np.testing.assert_allclose(point.hessian[i], row.ravel(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_evaluate_and_curve_agree(rows_and_codes, problem, n_classes):
    objective = problem(*rows_and_codes(50, 4, n_classes), l2=1.0).objective
    phi = np.random.default_rng(0).normal(size=objective.shape)
    plain, curved = objective.evaluate(phi), objective.curve(phi)
    assert plain.loss == curved.loss
    np.testing.assert_array_equal(plain.gradient, curved.gradient)


@pytest.fixture
def streamed(monkeypatch):
    """Send even small inputs through the compiled chunks."""
    monkeypatch.setattr(design, "SMALL", 0)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "read-only"])
def test_compiled_sums_equal_plain_ones(
    rows_and_codes, problem, streamed, n_classes, layout, monkeypatch
):
    x, codes = rows_and_codes(1111, 6, n_classes)
    weight = np.random.default_rng(3).uniform(0, 2, len(x)) if layout == "C" else None
    shaped = {
        "C": x,
        "F": np.asfortranarray(x),
        "strided": np.repeat(x, 2, axis=0)[::2],
        "float32": x.astype(np.float32),
        "read-only": x.copy(),
    }[layout]
    shaped.flags.writeable = layout != "read-only"
    fast = problem(shaped, codes, weight, l2=0.5).objective
    monkeypatch.setattr(design, "SMALL", 10**9)
    slow = problem(shaped, codes, weight, l2=0.5).objective
    assert isinstance(fast.design, CompiledDesign)
    assert not isinstance(slow.design, CompiledDesign)
    phi = np.random.default_rng(4).normal(size=fast.shape)
    a, b = fast.curve(phi), slow.curve(phi)
    assert a.loss == pytest.approx(b.loss, rel=1e-12)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(a.hessian, b.hessian, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(fast.evaluate(phi).gradient, a.gradient, rtol=1e-10, atol=1e-10)
    assert fast.evaluate(phi).loss == pytest.approx(a.loss, rel=1e-13)


def test_sums_do_not_depend_on_the_number_of_threads(
    rows_and_codes, problem, streamed, monkeypatch
):
    x, codes = rows_and_codes(20_000, 5, 3)
    objective = problem(x, codes).objective
    phi = np.random.default_rng(0).normal(size=objective.shape)
    results = []
    for n_jobs in (1, 2, 7):
        monkeypatch.setattr("os.cpu_count", lambda n_jobs=n_jobs: n_jobs)
        results.append(objective.curve(phi))
    for other in results[1:]:
        assert other.loss == results[0].loss
        np.testing.assert_array_equal(other.hessian, results[0].hessian)


@pytest.mark.slow
def test_small_inputs_never_import_numba():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np; from suffice.estimators.logistic import LogisticRegression;"
        "x = np.random.default_rng(0).normal(size=(500, 20));"
        "LogisticRegression().fit(x, x[:, 0] + x[:, 1] ** 2 > 0).predict(x);"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_far_from_the_origin_keep_their_digits(rows_and_codes, problem):
    x, codes = rows_and_codes(200, 3, 2)
    x = np.round(x * 2.0**20) / 2.0**20  # so that adding 2²⁶ is exact
    near, far = problem(x, codes), problem(x + 2.0**26, codes)
    a, b = (Newton().solve(t, zero_start(t), Newton.default).point for t in (near, far))
    assert b.loss == pytest.approx(a.loss, rel=1e-13)
    np.testing.assert_allclose(b.phi[:, 1:], a.phi[:, 1:], rtol=1e-12)


def test_loss_stays_finite_and_exact_at_extreme_scores(problem):
    x, codes = np.array([[-1.0], [1.0]]), np.array([0, 1])
    objective = problem(x, codes).objective
    wrong = objective.evaluate(np.array([[0.0, -2000.0]]))
    assert wrong.loss == pytest.approx(2 * 2000 * np.sqrt(0.5))
    assert objective.evaluate(np.array([[0.0, 2000.0]])).loss == 0


def test_a_sample_has_rows_of_every_class_and_stands_for_all():
    codes = np.sort(np.r_[np.zeros(9000, int), np.ones(995, int), np.full(5, 2)])
    table = Table.of(np.arange(10_000.0)[:, None], codes)
    sample = strided_sample(table, 900)
    assert np.bincount(sample.codes).tolist() == [300, 332, 5]
    np.testing.assert_allclose(sample.class_weights, [9000, 995, 5])
    assert (np.diff(sample.x[:, 0]) > 0).all()
    heavy = strided_sample(Table.of(table.x, codes, np.full(10_000, 3.0)), 900)
    np.testing.assert_allclose(heavy.class_weights, [27_000, 2985, 15])
