import json
import re
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

from suffice.core.estimation import edda_forms
from suffice.core.estimation.edda import FAMILIES, EddaStructure, edda_covariances
from suffice.core.estimation.edda_problem import EddaProblem
from suffice.core.model.information_criteria import bic
from suffice.errors import InvalidInputError, NotConvergedWarning

REFERENCE = Path(__file__).parents[2] / "reference" / "edda.json"
DATASETS = json.loads(REFERENCE.read_text(encoding="utf-8"))["datasets"]
EVERY_CASE = [
    pytest.param(name, code, marks=[] if name in ("iris", "wine") else [pytest.mark.slow])
    for name in DATASETS
    for code in FAMILIES
]
SCALE_FREE = ["EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVV", "VVV"]
SCALE_BOUND = ["EII", "VII", "EVE", "VVE", "EEV", "VEV"]
ROTATION_FREE = ["EII", "VII", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]
# the first is a special case of the second
NESTED = [
    ("EII", "VII"),
    ("EII", "EEI"),
    ("VII", "VEI"),
    ("EEI", "VEI"),
    ("EEI", "EVI"),
    ("VEI", "VVI"),
    ("EVI", "VVI"),
    ("EEI", "EEE"),
    ("EEE", "VEE"),
    ("EEE", "EVE"),
    ("VEE", "VVE"),
    ("EVE", "VVE"),
    ("EEE", "EEV"),
    ("VEE", "VEV"),
    ("EEV", "VEV"),
    ("EEV", "EVV"),
    ("EVE", "EVV"),
    ("VEV", "VVV"),
    ("EVV", "VVV"),
    ("VVE", "VVV"),
]


def sums(name):
    return np.array(DATASETS[name]["weights"], float), np.array(DATASETS[name]["scatters"])


def random_sums(seed, n_classes=3, n_features=3, rows=12):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_classes, rows, n_features))
    x = x @ rng.standard_normal((n_classes, n_features, n_features))
    weights = rng.integers(rows, 3 * rows, n_classes).astype(float)
    return weights, np.swapaxes(x, 1, 2) @ x


def log_likelihood(weights, scatters, covariances):
    d = scatters.shape[-1]
    log_dets = np.linalg.slogdet(covariances)[1]
    squares = np.trace(np.linalg.solve(covariances, scatters), axis1=1, axis2=2)
    return -0.5 * (weights * (d * np.log(2 * np.pi) + log_dets) + squares).sum()


class Fit(NamedTuple):
    covariances: np.ndarray
    log_likelihood_given_class: float
    n_parameters: int


def fitted(code, weights, scatters):
    found = edda_covariances(code, weights, scatters)
    n_parameters = EddaStructure(code).n_parameters(*scatters.shape[:2])
    return Fit(found, log_likelihood(weights, scatters, found), n_parameters)


def correlation_distance(a, b):
    s = np.sqrt(np.diagonal(b, axis1=1, axis2=2))
    return np.abs((a - b) / (s[:, :, None] * s[:, None, :])).max()


@pytest.mark.parametrize(("name", "code"), EVERY_CASE)
def test_reaches_the_true_optimum(name, code):
    weights, scatters = sums(name)
    expected = DATASETS[name]["families"][code]
    fit = fitted(code, weights, scatters)
    found = fit.log_likelihood_given_class
    np.testing.assert_allclose(found, expected["log_likelihood"], rtol=1e-11)
    assert found >= expected["log_likelihood_R"] - 1e-11 * abs(found)
    total = fit.n_parameters + scatters.shape[0] * scatters.shape[1]  # and the means
    assert total == expected["df"] == expected["df_R"]
    n = weights.sum()
    joint = found + weights @ np.log(weights / n)
    # R's criteria have the opposite sign: larger is better
    n_priors = len(weights) - 1
    assert bic(joint, total + n_priors, n) == pytest.approx(-expected["bic_joint"], rel=1e-11)
    assert bic(expected["log_likelihood_mixture"], total, n) == pytest.approx(
        -expected["bic_mclust"], rel=1e-12
    )


@pytest.mark.parametrize("code", FAMILIES)
@pytest.mark.parametrize("name", ["iris", "penguins_numeric"])
def test_finds_the_covariances_of_the_optimum(name, code):
    fit = fitted(code, *sums(name))
    expected = np.array(DATASETS[name]["families"][code]["covariances"])
    assert correlation_distance(fit.covariances, expected) < 1e-6


@pytest.mark.parametrize("code", FAMILIES)
def test_mixture_bic_of_iris_is_that_of_the_optimum(code):
    x, y = load_iris(return_X_y=True)
    fit = fitted(code, *sums("iris"))
    densities = [
        multivariate_normal(x[y == k].mean(0), fit.covariances[k]).logpdf(x) for k in range(3)
    ]
    mixture = (logsumexp(densities, axis=0) - np.log(3)).sum()
    expected = DATASETS["iris"]["families"][code]["bic_mclust"]
    assert bic(mixture, fit.n_parameters + 12, 150) == pytest.approx(-expected, rel=1e-9)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_a_richer_family_is_at_least_as_likely(seed):
    weights, scatters = random_sums(seed)
    found = {
        code: fitted(code, weights, scatters).log_likelihood_given_class for code in FAMILIES
    }
    for poorer, richer in NESTED:
        assert found[poorer] <= found[richer] + 1e-9 * abs(found[richer]), (poorer, richer)


@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e6))
def test_a_multiple_of_every_weight_changes_no_covariance(seed, factor):
    weights, scatters = random_sums(seed)
    for code in FAMILIES:
        one = fitted(code, weights, scatters)
        other = fitted(code, factor * weights, factor * scatters)
        assert correlation_distance(other.covariances, one.covariances) < 1e-5
        assert other.log_likelihood_given_class == pytest.approx(
            factor * one.log_likelihood_given_class, rel=1e-9, abs=1e-9 * factor
        )


@pytest.mark.parametrize("code", SCALE_FREE)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_change_of_units_changes_covariances_by_the_units(code, seed):
    weights, scatters = random_sums(seed)
    units = np.array([1e-9, 1.0, 1e9])
    one = fitted(code, weights, scatters)
    other = fitted(code, weights, scatters * np.outer(units, units))
    back = other.covariances / np.outer(units, units)
    assert correlation_distance(back, one.covariances) < 1e-6
    assert other.log_likelihood_given_class == pytest.approx(
        one.log_likelihood_given_class - weights.sum() * np.log(units).sum(), rel=1e-10
    )


@pytest.mark.parametrize("code", FAMILIES)
def test_one_unit_for_all_features_never_matters(code):
    weights, scatters = random_sums(3)
    one, other = (fitted(code, weights, s) for s in (scatters, 1e-18 * scatters))
    assert correlation_distance(1e18 * other.covariances, one.covariances) < 1e-6


@pytest.mark.parametrize("code", SCALE_BOUND)
def test_other_families_depend_on_the_units_of_the_features(code):
    weights, scatters = sums("wine")
    s = np.sqrt(np.diagonal(scatters.sum(0)))
    units = np.outer(s, s)
    one = fitted(code, weights, scatters).covariances
    other = fitted(code, weights, scatters / units).covariances * units
    assert correlation_distance(other, one) > 1e-2


@pytest.mark.parametrize("code", ROTATION_FREE)
def test_rotated_features_rotate_the_covariances(code):
    weights, scatters = random_sums(4)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    one = fitted(code, weights, scatters).covariances
    other = fitted(code, weights, turn @ scatters @ turn.T).covariances
    assert correlation_distance(turn.T @ other @ turn, one) < 1e-6


@pytest.mark.parametrize("code", FAMILIES)
def test_order_of_classes_and_features_does_not_matter(code):
    weights, scatters = random_sums(5)
    classes, features = [2, 0, 1], [1, 2, 0]
    one = fitted(code, weights, scatters).covariances
    other = fitted(
        code, weights[classes], scatters[classes][:, features][:, :, features]
    ).covariances
    expected = one[classes][:, features][:, :, features]
    assert correlation_distance(other, expected) < 1e-6


@pytest.mark.parametrize("code", ["EVE", "VVE"])
def test_common_axes_are_found_where_they_exist(code):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    variances = np.exp(rng.standard_normal((4, 6)))
    weights = np.array([10.0, 20.0, 30.0, 40.0])
    scatters = weights[:, None, None] * (axes * variances[:, None, :]) @ axes.T
    free = code[:2] + "V"
    np.testing.assert_allclose(
        fitted(code, weights, scatters).log_likelihood_given_class,
        fitted(free, weights, scatters).log_likelihood_given_class,
        rtol=1e-12,
    )


@pytest.mark.parametrize("code", FAMILIES)
def test_covariances_have_the_structure_of_their_code(code):
    sigma = fitted(code, *sums("iris")).covariances
    volumes = np.exp(np.linalg.slogdet(sigma)[1] / 4)
    unit = sigma / volumes[:, None, None]
    shapes = np.linalg.eigvalsh(unit)
    alike = {"E": True, "I": True, "V": False}
    assert np.allclose(volumes, volumes[0], rtol=1e-10) == alike[code[0]]
    assert np.allclose(shapes, shapes[0], rtol=1e-9) == alike[code[1]]
    commute = np.allclose(unit[0] @ unit[1], unit[1] @ unit[0], atol=1e-10)
    assert commute == alike[code[2]]
    assert np.allclose(sigma, sigma * np.eye(4)) == (code[2] == "I")


@pytest.mark.parametrize("code", FAMILIES)
def test_one_class_and_one_feature_are_the_same_code(code):
    variances = np.array([2.0, 3.0])
    weights = np.array([10.0, 20.0])
    fit = fitted(code, weights, (weights * variances)[:, None, None])
    shared = np.full(2, weights @ variances / 30)
    expected = shared if code[0] == "E" else variances
    np.testing.assert_allclose(fit.covariances[:, 0, 0], expected)
    _, scatters = random_sums(6)
    single = fitted(code, np.array([12.0]), scatters[:1])
    frames = {"II": "VII", "EI": "VVI", "VI": "VVI"}
    same = fitted(frames.get(code[1:], "VVV"), np.array([12.0]), scatters[:1])
    assert correlation_distance(single.covariances, same.covariances) < 1e-6


def test_the_answer_is_repeatable():
    one, other = (fitted("VVE", *sums("wine")) for _ in range(2))
    np.testing.assert_array_equal(one.covariances, other.covariances)


def scatter_of_rank(rank, d, seed=0):
    x = np.random.default_rng(seed).standard_normal((rank, d))
    return x.T @ x


@pytest.mark.parametrize(
    "code", ["EVI", "VVI", "EVE", "VVE", "EVV", "VVV", "VII", "VEI", "VEV"]
)
def test_a_class_of_one_row_is_refused(code):
    scatters = np.stack([scatter_of_rank(9, 3), np.zeros((3, 3)), scatter_of_rank(9, 3, 1)])
    with pytest.raises(InvalidInputError, match=rf"'{code}' has no maximum"):
        fitted(code, np.array([10.0, 1.0, 10.0]), scatters)


@pytest.mark.parametrize("code", ["EII", "EEI", "EEE", "EEV"])
def test_families_that_share_enough_take_a_class_of_one_row(code):
    scatters = np.stack([scatter_of_rank(9, 3), np.zeros((3, 3)), scatter_of_rank(9, 3, 1)])
    fit = fitted(code, np.array([10.0, 1.0, 10.0]), scatters)
    assert np.linalg.eigvalsh(fit.covariances).min() > 0


def test_a_class_of_low_rank_borrows_the_shape_of_others():
    scatters = np.stack([scatter_of_rank(20, 4), scatter_of_rank(2, 4, 1)])
    sigmas = fitted("VEE", np.array([21.0, 3.0]), scatters).covariances
    ratio = sigmas[1] / sigmas[0]
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)
    with pytest.raises(InvalidInputError, match="'VEE' has no maximum"):
        fitted("VEE", np.array([21.0, 63.0]), scatters)


AXES = {"x": [1.0, 0.0], "y": [0.0, 1.0], "d": [0.6, 0.8], "full": None}


def scatter_along(name):
    axis = AXES[name]
    return np.eye(2) if axis is None else np.outer(axis, axis)


@pytest.mark.parametrize("code", ["VEE", "VEI", "VEV"])
@pytest.mark.parametrize("axes", sorted(set(permutations("xxy"))))
def test_classes_that_vary_along_too_few_axes_are_refused_in_any_order(code, axes):
    scatters = np.stack([scatter_along(name) for name in axes])
    crowded = [str(k) for k, name in enumerate(axes) if name == "x"]
    with pytest.raises(InvalidInputError, match=f"'{code}' has no maximum") as refusal:
        fitted(code, np.full(3, 10.0), scatters)
    if code != "VEV":  # whose axes differ from class to class
        message = str(refusal.value)
        assert f"classes {crowded[0]}, {crowded[1]} have" in message
        assert "a weight of 20 (all classes: 30)" in message
        assert "1 of 2 directions" in message


@pytest.mark.parametrize("axes", sorted(set(permutations(["x", "y", "d"]))))
def test_three_classes_on_three_lines_share_one_form_in_any_order(axes):
    scatters = np.stack([scatter_along(name) for name in axes])
    sigmas = fitted("VEE", np.full(3, 10.0), scatters).covariances
    by_axis = dict(zip(axes, sigmas, strict=True))
    # C⁻¹ has the same value along the three axes, once each class has its own volume
    shapes = sigmas / np.sqrt(np.linalg.det(sigmas))[:, None, None]
    np.testing.assert_allclose(shapes, np.broadcast_to(shapes[0], shapes.shape), rtol=1e-8)
    reference = fitted("VEE", np.full(3, 10.0), np.stack([scatter_along(a) for a in "xyd"]))
    for name, expected in zip("xyd", reference.covariances, strict=True):
        np.testing.assert_allclose(by_axis[name], expected, rtol=1e-8)


def has_one_maximum(weights, scatters):
    """Return whether rank(Σ_{k∈Q} W_k) / m > Σ_{k∈Q} n_k / n for every proper subset Q."""
    n_classes, m = scatters.shape[:2]
    subsets = (
        list(chosen)
        for size in range(1, n_classes)
        for chosen in combinations(range(n_classes), size)
    )
    every = np.linalg.matrix_rank(scatters.sum(0)) == m
    return every and all(
        np.linalg.matrix_rank(scatters[q].sum(0)) * weights.sum() > m * weights[q].sum()
        for q in subsets
    )


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_a_maximum_is_found_if_and_only_if_every_subset_of_classes_varies_enough(seed, turned):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    n_classes = int(rng.integers(2, 6))
    scatters = np.zeros((n_classes, m, m))
    for k in range(n_classes):
        x = rng.integers(-1, 2, (rng.integers(1, m + 2), m)) * (rng.random(m) < 0.7)
        scatters[k] = x.T @ x
    weights = rng.integers(1, 6, n_classes).astype(float)
    expected = has_one_maximum(weights, scatters)
    if turned:
        turn = np.linalg.qr(rng.standard_normal((m, m)))[0]
        scatters = turn @ scatters @ turn.T
    if not expected:
        with pytest.raises(InvalidInputError, match="has no maximum"):
            fitted("VEE", weights, scatters)
        return
    fit = fitted("VEE", weights, scatters)
    # at the maximum, C ∝ Σ_k W_k / λ_k and λ_k = tr(C⁻¹ W_k) / (n_k m)
    traces = np.trace(np.linalg.solve(fit.covariances, scatters), axis1=1, axis2=2)
    np.testing.assert_allclose(traces, weights * m, rtol=1e-7)
    size = np.linalg.det(fit.covariances) ** (1 / m)
    form = fit.covariances[0] / size[0]
    total = (scatters / size[:, None, None]).sum(0)
    np.testing.assert_allclose(
        total, weights.sum() * form, rtol=1e-6, atol=1e-6 * abs(total).max()
    )


@pytest.mark.parametrize("code", ["EEE", "VEE", "EEV", "VEV"])
def test_a_duplicated_column_is_refused(code):
    repeat = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    scatters = np.stack([repeat.T @ scatter_of_rank(9, 2, k) @ repeat for k in range(2)])
    with pytest.raises(InvalidInputError, match=f"'{code}' has no maximum"):
        fitted(code, np.array([10.0, 10.0]), scatters)


def test_there_are_fourteen_families():
    codes = "EII VII EEI VEI EVI VVI EEE VEE EVE VVE EEV VEV EVV VVV"
    assert list(FAMILIES) == codes.split()


@pytest.mark.parametrize("code", ["EVE", "VVE"])
def test_axes_that_have_not_settled_are_warned_of_by_family_with_a_cure(code, monkeypatch):
    for name in ("SCOUT_STEPS", "MOST_STEPS"):
        monkeypatch.setattr(f"suffice.core.estimation.edda_axes.{name}", 1)
    message = f"family '{code}' have not converged.*'VVV' or 'EEE'"
    with pytest.warns(NotConvergedWarning, match=message):
        fitted(code, *random_sums(5, n_features=5))


def test_volumes_that_have_not_settled_are_warned_of_with_what_another_step_would_gain(
    monkeypatch,
):
    weights, scatters = random_sums(5)
    problem = EddaProblem(code="VEE", classes=np.arange(3), weights=weights)

    def objective():
        """Return −log L per row of volumes with their best common form, up to a constant."""
        u = edda_forms._relative_volumes(problem, scatters)
        common = np.einsum("k,kij->ij", np.exp(-u), scatters)
        return (weights / weights.sum() @ u * 3 + np.linalg.slogdet(common)[1]) / 2

    least = objective()
    monkeypatch.setattr(edda_forms, "MOST_STEPS", 2)
    with pytest.warns(NotConvergedWarning, match="volumes of family 'VEE'") as recorded:
        left = objective() - least
    gain = float(re.search("would gain (.+) of log", str(recorded[0].message)).group(1))
    assert gain == pytest.approx(left, rel=0.3)  # the message has one digit
