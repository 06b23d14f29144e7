"""Input that no test can judge: a refusal that names it, or no p-value, never a number."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.core.decision.error_intervals import newcombe, wilson
from suffice.core.decision.predictions import Predictions
from suffice.diagnostics import (
    adapt_priors,
    box_m,
    calibration,
    class_separation,
    drift,
    normality,
    predictive_check,
)
from suffice.errors import SufficeError
from suffice.evaluate.comparison.paired import RowLosses

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.arange(N) % 2
FITTED = sf.LDA().fit(X, Y)


def with_cell(value):
    x = X.copy()
    x[7, 1] = value
    return x


# rows, labels and weights that leave nothing to test
TABLES = {
    "no rows": (X[:0], Y[:0], None),
    "one row": (X[:1], Y[:1], None),
    "one class": (X, np.zeros(N, int), None),
    "constant columns": (np.ones((N, 3)), Y, None),
    "a NaN": (with_cell(np.nan), Y, None),
    "an infinite cell": (with_cell(np.inf), Y, None),
    "weights of zero": (X, Y, np.zeros(N)),
    "weights that sum to less than one": (X, Y, np.full(N, 0.01)),
    "an empty column": (np.where([False, True, False], np.nan, X), Y, None),
}


def wilks_p_value(x, y, weight):
    return class_separation(sf.Moments.of(x, y, sample_weight=weight)).p_value


def box_p_value(x, y, weight):
    return box_m(sf.Moments.of(x, y, sample_weight=weight, fourth=True)).p_value


def normality_p_value(x, y, weight):
    if weight is not None:
        pytest.skip("normality takes no weights")
    return normality(x, y).p_value


def predictive_p_value(x, y, weight):
    fitted = sf.LDA().fit(x, y, sample_weight=weight)
    return predictive_check(fitted, x, y, simulations=39).p_value


def p_value_or_nan(test, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return test(*arguments)
        except ValueError:  # ours, or that of scikit-learn for no rows
            return np.nan


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "test", [wilks_p_value, box_p_value, normality_p_value, predictive_p_value]
)
def test_tests_of_classes_have_no_p_value(test, name):
    one_class_is_enough = (normality_p_value, predictive_p_value)
    if name == "one class" and test in one_class_is_enough:
        pytest.skip("one class can be tested")
    assert np.isnan(p_value_or_nan(test, *TABLES[name]))


@pytest.mark.parametrize("name", ["no rows", "one row", "an infinite cell", "weights of zero"])
def test_drift_has_no_p_value(name):
    x, _, weight = TABLES[name]

    def p_values(rows, weights):
        found = drift(FITTED, rows, weights)
        return np.nanmin([found.p_value, *(column.p_value for column in found.columns)])

    assert np.isnan(p_value_or_nan(p_values, x, weight))


def test_columns_that_are_constant_or_empty_have_no_test_of_drift():
    frame = pd.DataFrame({"constant": np.ones(N), "empty": np.full(N, np.nan), "a": X[:, 0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sf.LDA().fit(frame.assign(empty=X[:, 1]), Y)
        found = drift(fitted, frame)
    by_column = {(each.column, each.what): each for each in found.columns}
    assert np.isnan(by_column["constant", "mean"].p_value)
    assert by_column["constant", "mean"].note.startswith("not tested")
    assert ("empty", "mean") not in by_column


@pytest.mark.parametrize(
    ("d", "is_tested"), [(57, True), (58, True), (59, False), (80, False)]
)
def test_all_means_together_are_tested_only_with_as_many_degrees_of_freedom_as_columns(
    d, is_tested
):
    rng = np.random.default_rng(1)
    old = rng.random((40, d))
    new = rng.random((20, d))
    found = drift(sf.LDA(shrinkage=0.1).fit(old, np.arange(40) % 2), new)
    assert found.error_df == 58
    assert np.isfinite(found.p_value) == is_tested


def test_a_combination_of_columns_does_not_prevent_the_test_of_all_means():
    rng = np.random.default_rng(2)
    old = rng.random((40, 6))
    new = rng.random((20, 6))
    for x in (old, new):
        x[:, 5] = x[:, :5].sum(1)
    found = drift(sf.LDA(shrinkage=0.1).fit(old, np.arange(40) % 2), new)
    assert found.df == 5
    assert np.isfinite(found.p_value)


@pytest.mark.parametrize("rows", [X[:0], X[:1], with_cell(np.inf)])
def test_a_prior_shift_has_no_p_value(rows):
    assert np.isnan(p_value_or_nan(lambda x: adapt_priors(FITTED, x)[1].p_value, rows))


@pytest.mark.parametrize("kind", ["rows without a number", "a fit of constant columns"])
def test_rows_that_do_not_tell_classes_apart_have_no_test_of_priors(kind):
    fitted = FITTED
    rows = np.full((N, 3), np.nan)
    if kind == "a fit of constant columns":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = sf.LDA().fit(np.ones((N, 3)), Y)
        rows = X
    assert np.isnan(adapt_priors(fitted, rows)[1].p_value)


POSTERIORS = np.full((6, 2), 0.5)


@pytest.mark.parametrize(
    ("y", "posteriors"),
    [
        ([], np.empty((0, 2))),
        ([0], [[0.5, 0.5]]),
        (np.zeros(6, int), np.ones((6, 1))),
        (np.arange(6) % 2, np.where([[True, False]], np.nan, POSTERIORS)),
        (np.arange(6) % 2, np.where([[True, False]], np.inf, POSTERIORS)),
    ],
)
def test_calibration_has_no_p_value(y, posteriors):
    classes = np.arange(np.shape(posteriors)[1])
    assert np.isnan(
        p_value_or_nan(lambda: calibration(np.asarray(y, int), posteriors, classes).p_value)
    )


WEIGHTS_OF_ANY_SIZE = np.random.default_rng(1).gamma(2, size=N)
# weights that vary have an effective number of rows, (Σw)²/Σw²
EFFECTIVE = (
    WEIGHTS_OF_ANY_SIZE * WEIGHTS_OF_ANY_SIZE.sum() / np.square(WEIGHTS_OF_ANY_SIZE).sum()
)


def p_values_with_weights(weight):
    """Return the p-values of every test that takes a weighted fit."""
    moments = sf.Moments.of(X, Y, sample_weight=weight, fourth=True)
    fitted = sf.LDA().fit(X, Y, sample_weight=weight)
    moved = drift(fitted, X)
    return [
        class_separation(moments).p_value,
        box_m(moments).p_value,
        *(row["p_value"] for row in box_m(moments).rows()),
        moved.p_value,
        *(column.p_value for column in moved.columns),
        adapt_priors(fitted, X)[1].p_value,
    ]


@pytest.mark.parametrize("factor", [1.0, N / WEIGHTS_OF_ANY_SIZE.sum(), 100.0])
def test_weights_that_do_not_count_rows_give_no_p_value(factor):
    assert np.isnan(p_values_with_weights(factor * WEIGHTS_OF_ANY_SIZE)).all()


@pytest.mark.parametrize("weight", [np.arange(1.0, N + 1), EFFECTIVE])
def test_counts_of_rows_and_their_effective_number_give_p_values(weight):
    assert np.isfinite(p_values_with_weights(weight)).all()


def test_weights_of_new_rows_sum_to_their_effective_number():
    for factor in (0.001, 1.0, 100.0):
        found = drift(FITTED, X, factor * WEIGHTS_OF_ANY_SIZE)
        assert found.n_after == pytest.approx(EFFECTIVE.sum())
        assert np.isfinite(found.p_value)
    assert drift(FITTED, X, np.full(N, 3)).n_after == pytest.approx(3 * N)


def test_tests_say_that_weights_do_not_count_rows():
    moments = sf.Moments.of(X, Y, sample_weight=WEIGHTS_OF_ANY_SIZE, fourth=True)
    fitted = sf.LDA().fit(X, Y, sample_weight=WEIGHTS_OF_ANY_SIZE)
    for found in (class_separation(moments), box_m(moments), drift(fitted, X)):
        assert "not tested: the weights do not count rows" in repr(found)
        assert "multiply other weights by Σw/Σw²" in repr(found)


def test_a_fit_with_weights_has_no_predictive_check():
    fitted = sf.LDA().fit(X, Y, sample_weight=np.arange(1.0, N + 1))
    with pytest.raises(SufficeError, match="fitted with weights, which cannot be simulated"):
        predictive_check(fitted, X, Y, simulations=39)


def losses_of(n, weights):
    return RowLosses(
        names=("a", "b"),
        losses=np.zeros((2, 2, n)),
        weights=weights,
        folds=np.zeros(n, int),
        overlap=np.zeros(2),
        sizes=np.ones(2),
        readable=(False, False),
    )


@pytest.mark.parametrize(("n", "weights"), [(0, []), (1, [1.0]), (3, [1.0, 0.0, 0.0])])
@pytest.mark.parametrize("loss", [0, 1])
def test_models_are_not_compared_on_fewer_than_two_rows(loss, n, weights):
    found = losses_of(n, np.array(weights)).difference(loss, 0, 1)
    assert np.isnan([found.mean, found.low, found.high, found.p_value]).all()
    assert found.verdict == "alike"


def test_an_interval_of_no_rows_says_nothing():
    with np.errstate(all="ignore"):
        low, high = wilson(np.array(0.0), np.array(1e-12))
        ends = newcombe(0.0, 1e-12, 1.0, 1e-12)
    assert (float(low), float(high)) == pytest.approx((0.0, 1.0))
    assert ends[0] <= 0 <= ends[1]


@pytest.mark.parametrize("weights", [np.zeros(2), [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_predictions_refuse_weights_that_are_none(weights):
    with pytest.raises(SufficeError):
        Predictions.of([0, 1], [[0.5, 0.5], [0.5, 0.5]], sample_weight=weights)


def p_values_of_comparison(x, y, weight, groups=None):
    found = sf.compare(x, y, ["LDA", "NB"], 3, groups=groups, sample_weight=weight)
    return [*(d.p_value for d in found.differences()), found.choice.p_value]


@pytest.mark.parametrize(
    "name", ["no rows", "one row", "one class", "an infinite cell", "weights of zero"]
)
def test_models_are_not_compared_on_input_that_no_test_can_judge(name):
    with pytest.raises(SufficeError):
        p_values_of_comparison(*TABLES[name])


def test_rows_of_one_group_are_not_compared():
    with pytest.raises(ValueError, match="all rows are in one group, so no rows are left"):
        p_values_of_comparison(X, Y, None, np.zeros(N))


def test_groups_of_one_row_are_compared_as_rows_are():
    losses = np.random.default_rng(2).random((2, 2, N))
    rows = replace(losses_of(N, np.ones(N)), losses=losses)
    by_row = rows.difference(1, 0, 1)
    by_group = replace(rows, grouped=True).difference(1, 0, 1)
    assert by_group.p_value == pytest.approx(by_row.p_value)


def test_one_group_of_rows_gives_no_p_value():
    one_group = replace(losses_of(1, np.array([40.0])), grouped=True)
    for loss in (0, 1):
        assert np.isnan(one_group.difference(loss, 0, 1).p_value)


@pytest.mark.parametrize("loss", [0, 1])
def test_models_whose_losses_all_tie_do_not_differ(loss):
    found = losses_of(N, np.ones(N)).difference(loss, 0, 1)
    assert found.p_value == 1.0
    assert found.verdict == "alike"


def test_columns_whose_values_all_tie_have_no_test():
    tied = np.repeat([[3.0, -1.0, 0.5]], N, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = drift(sf.LDA().fit(tied, Y), tied[:20])
    assert np.isnan([found.p_value, *(column.p_value for column in found.columns)]).all()
    assert "not enough rows to test" in repr(found)
    assert found.moved == ()


def test_a_fit_whose_weights_sum_to_less_than_one_has_no_test_of_drift():
    weight = np.full(N, 0.01)
    with pytest.raises(SufficeError, match="needs at least two rows"):
        drift(sf.LDA().fit(X, Y, sample_weight=weight), X)
    fitted = sf.LDA().fit(X, Y, sample_weight=weight)
    assert np.isnan(adapt_priors(fitted, X)[1].p_value)
