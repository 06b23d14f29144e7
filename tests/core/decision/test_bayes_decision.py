import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suffice.core.decision import Costs, Decision, decision_by
from suffice.core.decision.classifier import check_temperature
from suffice.errors import InvalidParameterError, UnknownLabelError

K = 3
CLASSES = np.array(["a", "b", "c"])
posteriors = arrays(np.float64, (4, K), elements=st.floats(0.01, 1)).map(
    lambda p: p / p.sum(axis=1, keepdims=True)
)
matrices = arrays(np.float64, (K, K), elements=st.floats(-5, 5).map(lambda v: round(v, 2)))


def brute_force(costs, posterior):
    return [
        [sum(c * p for c, p in zip(row, truth, strict=True)) for row in costs]
        for truth in posterior
    ]


@given(matrices, posteriors)
def test_the_action_chosen_has_the_least_expected_cost(C, p):
    costs = decision_by(C, CLASSES)
    risk = np.array(brute_force(C, p))
    np.testing.assert_allclose(costs.expected(p), risk, atol=1e-12)
    chosen = risk[np.arange(len(p)), costs.decide(p)]
    np.testing.assert_allclose(chosen, risk.min(axis=1), atol=1e-12)


@given(posteriors, st.floats(0, 1))
def test_chow_rejects_when_the_greatest_posterior_is_too_small(p, reject_cost):
    assume(np.abs(p.max(axis=1) - (1 - reject_cost)).min() > 1e-12)
    costs = decision_by(Costs(reject=reject_cost), CLASSES)
    decided = costs.decide(p)
    rejected = p.max(axis=1) < 1 - reject_cost
    np.testing.assert_array_equal(decided == K, rejected)
    np.testing.assert_array_equal(decided[~rejected], p.argmax(axis=1)[~rejected])


@given(posteriors, st.none() | st.floats(0, 1.5))
def test_zero_one_costs_decide_like_their_matrix(p, reject_cost):
    free, matrix = (
        decision_by(Costs(costs, reject=reject_cost), CLASSES) for costs in (None, {})
    )
    assert free.costs is None
    assert (free.is_map, free.can_reject) == (matrix.is_map, matrix.can_reject)
    np.testing.assert_allclose(free.expected(p), matrix.expected(p), atol=1e-12)
    np.testing.assert_allclose(free.relative, matrix.relative, atol=1e-15)
    found = free.expected(p)[np.arange(len(p)), free.decide(p)]
    np.testing.assert_allclose(found, free.expected(p).min(1), atol=1e-12)


@given(matrices, posteriors)
def test_a_matrix_called_map_decides_for_the_most_probable(C, p):
    costs = decision_by(C, CLASSES)
    if costs.is_map:
        np.testing.assert_array_equal(costs.decide(p), p.argmax(axis=1))


@given(arrays(np.float64, K, elements=st.integers(-9, 9)), st.integers(1, 5), posteriors)
def test_costs_of_the_truth_alone_do_not_matter(f, s, p):
    costs = decision_by(f - s * np.eye(K), CLASSES)
    assert costs.is_map
    np.testing.assert_array_equal(costs.decide(p), p.argmax(axis=1))
    risk = costs.expected(p)
    chosen = risk[np.arange(len(p)), costs.decide(p)]
    np.testing.assert_allclose(chosen, risk.min(axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("C", "is_map"),
    [
        ([[0, 1], [1, 0]], True),
        ([[-3, 2], [-1, 0]], True),
        ([[0, 1], [10, 0]], False),
        ([[1, 0], [0, 1]], False),  # the wrong class is the cheaper
        ([[0, 0], [0, 0]], False),
        ([[0, 1, 2], [1, 0, 2], [1, 1, 0]], False),
    ],
)
def test_only_costs_like_zero_one_loss_are_map(C, is_map):
    assert decision_by(C, np.arange(len(C))).is_map == is_map


def test_ties_go_to_the_first_action():
    for order in itertools.permutations([0.1, 0.2, 0.35, 0.35]):
        p = np.array([order])
        first = int(p.argmax())
        assert decision_by(None, np.arange(4)).decide(p)[0] == first
        assert decision_by(Costs(reject=0.9), np.arange(4)).decide(p)[0] == first
    tie = np.array([[0.5, 0.5]])
    assert decision_by(Costs(reject=0.5), np.arange(2)).decide(tie)[0] == 0


def test_a_mapping_names_what_differs_from_zero_one_loss():
    costs = decision_by({("a", "b"): 5.0, ("c", "c"): -1.0}, CLASSES)
    assert costs.costs.tolist() == [[0, 5, 1], [1, 0, 1], [1, 1, -1]]
    assert decision_by({}, CLASSES).is_map


def test_rejecting_may_cost_more_for_some_truths():
    per_truth = {"a": 0.1, "b": 0.2, "c": 0.3}
    for cost in (per_truth, [0.1, 0.2, 0.3], np.array([0.1, 0.2, 0.3])):
        for costs in (
            decision_by(Costs(reject=cost), CLASSES),
            decision_by(Costs({}, reject=cost), CLASSES),
        ):
            assert costs.expected(np.eye(3))[:, -1].tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("classes", "reject_label", "expected"),
    [
        (np.array([0, 1]), None, np.array([0.0, 1.0, np.nan])),
        (np.array([0.5, 1.5], np.float32), None, np.array([0.5, 1.5, np.nan])),
        (np.array([2**62 + 1, 2**62 + 3]), None, [2**62 + 1, 2**62 + 3, None]),
        (np.array([False, True]), None, [False, True, None]),
        (np.array(["a", "b"]), None, ["a", "b", None]),
        (np.array(["a", "b"]), "unsure", np.array(["a", "b", "unsure"])),
        (np.array([0, 1]), -1, np.array([0, 1, -1])),
        (np.array([0, 1]), "unsure", [0, 1, "unsure"]),
        (np.array(["a", "b"]), ("?", 1), ["a", "b", ("?", 1)]),
    ],
)
def test_a_rejected_row_is_told_in_the_type_of_the_classes_where_that_can_be(
    classes, reject_label, expected
):
    costs = decision_by(Costs(reject=0.4, reject_label=reject_label), classes)
    assert costs.can_reject
    decoded = costs.decode(np.array([0, 1, 2]))
    if isinstance(expected, list):
        assert decoded.dtype == object
        assert decoded.tolist() == expected
    else:
        assert decoded.dtype.kind == expected.dtype.kind
        np.testing.assert_array_equal(decoded, expected)


@pytest.mark.parametrize(
    "classes", [np.array([3, 5]), np.array(["x", "y"]), np.array([0.5, 2])]
)
def test_labels_keep_their_type_when_nothing_can_be_rejected(classes):
    costs = decision_by(Costs([[0, 1], [7, 0]], reject_label="ignored"), classes)
    decoded = costs.decode(np.array([1, 0, 1]))
    assert decoded.dtype == classes.dtype
    np.testing.assert_array_equal(decoded, classes[[1, 0, 1]])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: decision_by(np.ones((2, 2)), CLASSES), InvalidParameterError, r"\(3, 3\)"),
        (
            lambda: decision_by([[0, np.inf], [1, 0]], np.arange(2)),
            InvalidParameterError,
            "inf",
        ),
        (lambda: decision_by("zero-one", CLASSES), InvalidParameterError, "not numeric"),
        (lambda: decision_by({("a", "d"): 1}, CLASSES), UnknownLabelError, "'d'"),
        (lambda: decision_by({"a": 1}, CLASSES), InvalidParameterError, "pair"),
        (
            lambda: decision_by({("a", "b"): np.nan}, CLASSES),
            InvalidParameterError,
            "'b'.*nan",
        ),
        (
            lambda: decision_by(Costs(reject=[0.1, 0.2]), CLASSES),
            InvalidParameterError,
            "one number",
        ),
        (
            lambda: decision_by(Costs(reject=np.nan), CLASSES),
            InvalidParameterError,
            "reject holds nan",
        ),
        (
            lambda: decision_by(Costs(reject={"a": 0.1}), CLASSES),
            InvalidParameterError,
            "'b', 'c'",
        ),
        (
            lambda: decision_by(Costs(reject=0.1, reject_label="b"), CLASSES),
            InvalidParameterError,
            "also a class",
        ),
        (lambda: Decision(CLASSES, np.ones((2, 3))), InvalidParameterError, "3 classes"),
        (lambda: Decision(CLASSES, np.ones(3)), InvalidParameterError, "3 classes"),
    ],
)
def test_what_is_no_cost_is_refused_with_a_reason(build, error, message):
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize(
    ("reject", "message"),
    [
        (-1, r"reject holds -1\.0: rejecting a row would cost less than any prediction"),
        ([0.1, -0.5, 0.1], r"reject holds -0\.5"),
        ({"a": 0.1, "b": -2}, r"reject holds -2\.0"),
        ({"a": 0.1, "b": np.nan}, "the cost of rejecting class 'b' holds nan"),
        ({"a": np.inf}, "the cost of rejecting class 'a' holds inf"),
        (np.inf, "reject holds inf"),
    ],
)
def test_costs_refuse_a_negative_or_infinite_cost_of_rejecting(reject, message):
    with pytest.raises(InvalidParameterError, match=message):
        Costs(reject=reject)


def test_costs_refuse_a_mapping_that_holds_no_number():
    with pytest.raises(InvalidParameterError, match=r"the cost of \('a', 'b'\) holds inf"):
        Costs({("a", "b"): np.inf})


def test_a_gain_of_rejecting_is_compared_with_gains_of_predictions():
    gains = decision_by(Costs([[-3, 0, 0], [0, -3, 0], [0, 0, -3]], reject=-1), CLASSES)
    assert gains.decide(
        np.array([[0.8, 0.1, 0.1], [0.4, 0.3, 0.3], [0.3, 0.3, 0.4]])
    ).tolist() == [
        0,
        0,
        2,
    ]


def test_a_cost_matrix_cannot_be_changed():
    costs = decision_by({}, CLASSES)
    with pytest.raises(ValueError, match="read-only"):
        costs.costs[0, 0] = 1
    labels = np.array(["a", "b", "c"])
    costs = decision_by(None, labels)
    labels[0] = "z"
    assert costs.actions.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("temperature", [None, [1.0], "warm", 0, -1.0, np.nan, np.inf, 1e-310])
def test_a_temperature_is_a_positive_number_and_so_is_its_reciprocal(temperature):
    with pytest.raises(InvalidParameterError, match="temperature must be a positive number"):
        check_temperature(temperature)
