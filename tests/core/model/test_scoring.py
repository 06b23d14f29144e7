import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.model import scoring, tiles
from suffice.core.model.posterior import Argmax, Joint, LogDensity, LogPosterior, Posterior
from suffice.core.model.scoring import Scaled, Scorer, Whitened
from suffice.core.threads import at_most
from suffice.errors import InvalidInputError

READOUTS = [Posterior(), Posterior(0.3), LogPosterior(), LogDensity(), Joint(), Argmax()]


@dataclass(frozen=True, eq=False)
class Matrix:
    whitening: np.ndarray

    def part(self, *group):
        return Whitened(*group, self.whitening)


@dataclass(frozen=True, eq=False)
class Scales:
    scale: np.ndarray

    def part(self, *group):
        return Scaled(*group, self.scale)


def matrix(rng, d):
    return Matrix(np.tril(rng.normal(size=(d, d)) / d) + np.diag(rng.uniform(0.5, 2, d)))


def scales(rng, d):
    return Scales(rng.uniform(0.5, 2, d))


def full(rng, k, d):
    return [matrix(rng, d) for _ in range(k)]


def tied(rng, k, d):
    return [matrix(rng, d)] * k


def diagonal(rng, k, d):
    return [scales(rng, d) for _ in range(k)]


def mixed(rng, k, d):
    kinds = [matrix(rng, d), scales(rng, d), matrix(rng, d), scales(rng, d)]
    return [kinds[i] for i in rng.integers(4, size=k)]


def scorer_of(covariances, *, k=3, d=4, seed=0):
    rng = np.random.default_rng(seed)
    sigmas = covariances(rng, k, d)
    return Scorer.of(
        rng.normal(size=k), rng.normal(size=(k, d)), sigmas, origin=rng.normal(size=d)
    )


def linear_scorer(*, k=3, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return Scorer.linear(rng.normal(size=d), rng.normal(size=(k, d)), rng.normal(size=k))


def rows(n, d, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d)) * 3


@pytest.fixture
def compiled(monkeypatch):
    """Send even the smallest inputs through compiled loops, in many blocks and threads."""
    monkeypatch.setattr(scoring, "SMALL", -1)
    monkeypatch.setattr(scoring, "PARALLEL", -1)
    monkeypatch.setattr(scoring, "TILE_BYTES", 1)


@pytest.fixture(params=["compiled", "numpy"])
def either(request):
    """Run a test along both ways of scoring."""
    if request.param == "compiled":
        request.getfixturevalue("compiled")


def by_numpy(scorer, x, readout):
    return readout.read(scorer.joint(x))


@pytest.mark.parametrize("readout", READOUTS, ids=repr)
@pytest.mark.parametrize("covariances", [full, tied, diagonal, mixed])
def test_compiled_scores_agree_with_numpy(compiled, covariances, readout):
    scorer, x = scorer_of(covariances, k=7, d=9), rows(200, 9)
    expected = by_numpy(scorer, x, readout)
    np.testing.assert_allclose(scorer.score(x, readout), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("readout", READOUTS, ids=repr)
def test_compiled_linear_scores_agree_with_numpy(compiled, readout):
    scorer, x = linear_scorer(k=7, d=9), rows(200, 9)
    expected = by_numpy(scorer, x, readout)
    np.testing.assert_allclose(scorer.score(x, readout), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("readout", READOUTS, ids=repr)
def test_linear_scores_of_many_classes_agree_with_numpy_wherever_a_row_stands(readout):
    scorer, x = linear_scorer(k=401, d=303), rows(150, 303)
    assert scorer.parts[0].is_large
    expected = by_numpy(scorer, x, readout)
    found = scorer.score(x, readout)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    order = np.random.default_rng(0).permutation(150)
    np.testing.assert_array_equal(scorer.score(x[order], readout), found[order])
    np.testing.assert_allclose(
        scorer.score(x[:3], readout), expected[:3], rtol=1e-10, atol=1e-12
    )
    x[5, 2] = np.nan
    values, unscored = scorer.try_score(x, readout)
    assert unscored.tolist() == [5]
    np.testing.assert_array_equal(np.delete(values, 5, 0), np.delete(found, 5, 0))


@pytest.mark.parametrize(
    "n", [0, 1, 63, 64, 65, tiles.LANES - 1, tiles.LANES, tiles.LANES + 1, 200]
)
@pytest.mark.parametrize(("k", "d"), [(1, 1), (2, 1), (2, 3), (3, 4), (5, 5), (9, 17)])
def test_every_odd_size_is_scored(compiled, n, k, d):
    x = rows(n, d)
    for scorer in (scorer_of(mixed, k=k, d=d), linear_scorer(k=k, d=d)):
        for readout in READOUTS:
            got, expected = scorer.score(x, readout), by_numpy(scorer, x, readout)
            assert got.shape == expected.shape
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


def test_wide_rows_are_scored(compiled):
    scorer, x = scorer_of(diagonal, k=2, d=131), rows(70, 131)
    expected = by_numpy(scorer, x, Joint())
    np.testing.assert_allclose(scorer.score(x, Joint()), expected, rtol=1e-12)


@pytest.mark.parametrize("covariances", [full, tied, diagonal])
def test_distances_equal_those_of_dense_precision_matrices(either, covariances):
    rng = np.random.default_rng(0)
    sigmas, means, x = covariances(rng, 3, 5), rng.normal(size=(3, 5)), rows(80, 5)
    joint = Scorer.of(np.zeros(3), means, sigmas).score(x, Joint())
    for k, sigma in enumerate(sigmas):
        w = sigma.whitening if hasattr(sigma, "whitening") else np.diag(1 / sigma.scale)
        r = x - means[k]
        np.testing.assert_allclose(-2 * joint[:, k], ((r @ (w.T @ w)) * r).sum(1), rtol=1e-12)


@pytest.mark.parametrize("readout", READOUTS, ids=repr)
@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_change_no_bit(compiled, readout, n_jobs):
    scorer, x = scorer_of(mixed, k=6, d=5), rows(1000, 5)
    with at_most(1):
        alone = scorer.score(x, readout)
    with at_most(n_jobs):
        np.testing.assert_array_equal(scorer.score(x, readout), alone)


def test_the_size_of_blocks_changes_no_bit(compiled, monkeypatch):
    scorer, x = scorer_of(mixed, k=6, d=5), rows(1000, 5)
    small = scorer.score(x, Posterior())
    monkeypatch.setattr(scoring, "TILE_BYTES", 1 << 20)
    np.testing.assert_array_equal(scorer.score(x, Posterior()), small)


def test_the_place_of_a_row_changes_no_bit(compiled):
    scorer, x = scorer_of(mixed, k=6, d=5), rows(150, 5)
    order = np.random.default_rng(0).permutation(150)
    shuffled = scorer.score(x[order], LogPosterior())
    np.testing.assert_array_equal(shuffled, scorer.score(x, LogPosterior())[order])


def test_two_callers_at_once_get_their_own_answers(compiled):
    scorer, inputs = scorer_of(full, k=4, d=6), [rows(500, 6, seed) for seed in range(8)]
    expected = [scorer.score(x, Posterior()) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda x: scorer.score(x, Posterior()), inputs))
    np.testing.assert_array_equal(got, expected)


STORAGE = {
    "fortran": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "a column slice of Fortran": lambda x: np.asfortranarray(np.vstack([x, x]))[: len(x)],
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
}


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("store", [*STORAGE.values(), read_only], ids=[*STORAGE, "read only"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_storage_order_changes_no_bit(compiled, store, dtype):
    scorer, x = scorer_of(mixed, k=3, d=5), rows(100, 5).astype(dtype)
    stored = store(x)
    np.testing.assert_array_equal(stored, x)
    expected = scorer.score(x.astype(np.float64), Posterior())
    np.testing.assert_array_equal(scorer.score(stored, Posterior()), expected)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "g"])
def test_any_number_type_is_read_as_double(compiled, dtype):
    scorer = scorer_of(mixed, k=3, d=5)
    x = np.abs(rows(100, 5)).astype(dtype)
    expected = scorer.score(x.astype(np.float64), Posterior())
    np.testing.assert_array_equal(scorer.score(x, Posterior()), expected)


def exact_joint(constants, means, whitenings, origin, x):
    """Return scores by 60-digit arithmetic: cₖ − ½ |W (x − o − μₖ)|²."""
    with mpmath.workdps(60):
        point = mpmath.matrix([mpmath.mpf(v) - o for v, o in zip(x, origin, strict=True)])
        scores = []
        for c, mu, w in zip(constants, means, whitenings, strict=True):
            z = mpmath.matrix(w.tolist()) * (point - mpmath.matrix(mu.tolist()))
            scores.append(mpmath.mpf(float(c)) - (z.T * z)[0] / 2)
        return scores


def exact_log_posterior(joint):
    with mpmath.workdps(400):
        total = mpmath.log(mpmath.fsum(mpmath.exp(a) for a in joint))
        return [a - total for a in joint]


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
def test_scores_are_exact_at_any_offset(either, offset):
    rng = np.random.default_rng(3)
    constants, means = rng.normal(size=3), rng.normal(size=(3, 4))
    sigmas, origin = full(rng, 3, 4), np.full(4, offset)
    x = offset + rng.normal(size=(70, 4))
    got = Scorer.of(constants, means, sigmas, origin=origin).score(x, Joint())
    whitenings = [sigma.whitening for sigma in sigmas]
    for row, values in zip(x[:10], got[:10], strict=True):
        exact = exact_joint(constants, means, whitenings, origin, row)
        np.testing.assert_allclose(values, np.array(exact, float), rtol=4e-15, atol=4e-15)


def on_a_line(scores):
    """Return a scorer whose class k scores exactly scores[k] at x = 1."""
    return Scorer.linear(np.zeros(1), np.array(scores)[:, None], np.zeros(len(scores)))


@pytest.mark.parametrize(
    "scores",
    [
        [0.0, -50.6],  # the winner's log probability is −1e-22
        [0.0, -1.0, -1e-9],
        [-1e6, -1e6 - 3, -2e6],  # losers far under −708
        [5e5, -7e5, 5e5],
        [0.0, -708.9, -744.0, -800.0],
        [-1e300, 0.0],
    ],
)
def test_log_posteriors_are_exact_in_far_tails(either, scores):
    x = np.ones((3, 1))
    exact = np.array(exact_log_posterior([mpmath.mpf(a) for a in scores]), float)
    got = on_a_line(scores).score(x, LogPosterior())
    np.testing.assert_allclose(got, np.tile(exact, (3, 1)), rtol=1e-15)
    p = on_a_line(scores).score(x, Posterior())
    np.testing.assert_allclose(p, np.exp(np.tile(exact, (3, 1))), rtol=1e-15, atol=5e-324)


def test_log_density_is_exact_in_far_tails(either):
    got = on_a_line([-1e6, -1e6 - 40, -2e6]).score(np.ones((2, 1)), LogDensity())
    np.testing.assert_array_equal(got, -1e6)
    got = on_a_line([1e-18, -40.0]).score(np.ones((2, 1)), LogDensity())
    np.testing.assert_allclose(got, 1e-18 + np.exp(-40.0), rtol=1e-15)


def test_the_exponential_is_right_to_an_ulp():
    from suffice.core.model.loops import exp_negative

    x = -np.concatenate([np.geomspace(1e-20, 750, 800), np.arange(0, 750, 0.5) * np.log(2)])
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.exp(mpmath.mpf(v))) for v in x])
    got = np.array([exp_negative(v) for v in x])
    assert (np.abs(got - exact) <= np.spacing(exact)).all()
    assert (exp_negative(0.0), exp_negative(-np.inf)) == (1.0, 0.0)
    assert np.isnan(exp_negative(np.nan))


@given(st.integers(0, 2**32 - 1), st.sampled_from([full, tied, diagonal, mixed]))
@settings(max_examples=20, deadline=None)
def test_posteriors_sum_to_one_and_their_logs_agree(seed, covariances):
    scorer, x = scorer_of(covariances, k=4, d=3, seed=seed), rows(70, 3, seed) * 10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "SMALL", -1)
        p, log_p = scorer.score(x, Posterior()), scorer.score(x, LogPosterior())
        code, joint = scorer.score(x, Argmax()), scorer.score(x, Joint())
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-15)
    np.testing.assert_allclose(p, np.exp(log_p), rtol=1e-12, atol=5e-324)
    np.testing.assert_array_equal(code, joint.argmax(1))
    np.testing.assert_allclose(
        log_p - log_p.max(1, keepdims=True), joint - joint.max(1, keepdims=True), atol=1e-11
    )


def test_a_change_of_unit_by_a_power_of_two_changes_no_bit(either):
    rng = np.random.default_rng(0)
    unit = 2.0 ** rng.integers(-30, 30, size=5)
    sigmas, means, x = full(rng, 3, 5), rng.normal(size=(3, 5)), rows(100, 5)
    scaled = [Matrix(sigma.whitening / unit) for sigma in sigmas]
    before = Scorer.of(np.zeros(3), means, sigmas).score(x, LogPosterior())
    after = Scorer.of(np.zeros(3), means * unit, scaled).score(x * unit, LogPosterior())
    np.testing.assert_array_equal(after, before)


def test_temperature_divides_the_scores(either):
    scorer, x = scorer_of(full), rows(70, 4)
    hot = Scorer.linear(np.zeros(3), 0.25 * np.eye(3), np.zeros(3))
    expected = hot.score(scorer.score(x, Joint()), Posterior())
    np.testing.assert_allclose(scorer.score(x, Posterior(4.0)), expected, rtol=1e-12)
    expected = np.log(expected)
    np.testing.assert_allclose(scorer.score(x, LogPosterior(4.0)), expected, rtol=1e-10)


@pytest.mark.parametrize("out", [0, 1, 2])
def test_a_class_ruled_out_has_no_probability_and_changes_no_other(either, out):
    rng, keep = np.random.default_rng(0), [k for k in range(3) if k != out]
    sigmas, means, x = full(rng, 3, 4), rng.normal(size=(3, 4)), rows(70, 4)
    constants = np.zeros(3)
    constants[out] = -np.inf
    scorer = Scorer.of(constants, means, sigmas)
    without = Scorer.of(constants[keep], means[keep], [sigmas[k] for k in keep])
    assert (scorer.score(x, Posterior())[:, out] == 0).all()
    assert (scorer.score(x, LogPosterior())[:, out] == -np.inf).all()
    assert (scorer.score(x, Argmax()) != out).all()
    for readout in (Posterior(), LogPosterior(), Joint()):
        got = scorer.score(x, readout)[:, keep]
        np.testing.assert_allclose(got, without.score(x, readout), rtol=1e-14)
    np.testing.assert_array_equal(
        scorer.score(x, LogDensity()), without.score(x, LogDensity())
    )


def test_equal_scores_go_to_the_lowest_code(either):
    x = np.ones((70, 1))
    assert (on_a_line([-1.0, 2.0, 2.0, 2.0]).score(x, Argmax()) == 1).all()
    assert (on_a_line([2.0, 2.0]).score(x, Posterior()) == 0.5).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("covariances", [full, tied, diagonal, None])
def test_rows_that_are_not_finite_are_told(either, covariances, bad):
    scorer = scorer_of(covariances) if covariances else linear_scorer()
    x = rows(200, 4)
    good = [scorer.score(x, readout) for readout in READOUTS]
    x[70, 1] = x[130, 3] = bad
    for readout, expected in zip(READOUTS, good, strict=True):
        values, unscored = scorer.try_score(x, readout)
        np.testing.assert_array_equal(unscored, [70, 130])
        missing = -1 if values.dtype == np.intp else np.nan
        expected[[70, 130]] = missing
        np.testing.assert_array_equal(values, expected)
        what = "NaN" if np.isnan(bad) else "infinity"
        with pytest.raises(InvalidInputError, match=f"contains {what}: row 70, column 1"):
            scorer.score(x, readout)


def test_a_row_too_far_to_score_is_told(either):
    x = rows(70, 4)
    x[65] = 1e200
    with pytest.raises(InvalidInputError, match="row 65 is so far"):
        scorer_of(full).score(x, Posterior())


def test_few_rows_are_scored_without_numba():
    program = """
import sys
import numpy as np
from suffice.core.model.posterior import Posterior
from suffice.core.model.scoring import Scorer
Scorer.linear(np.zeros(2), np.eye(2), np.zeros(2)).score(np.ones((9, 2)), Posterior())
sys.exit("numba" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
