"""No test gives a p-value for input that it cannot judge, whatever the test and the input."""

import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.diagnostics import (
    adapt_priors,
    box_m,
    calibration,
    class_separation,
    drift,
    normality,
    predictive_check,
)
from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.importance import permutation_importance
from suffice.evaluate.comparison.models import ComparedModel
from suffice.evaluate.comparison.verdict import standing_of

N = 40
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.arange(N) % 2
EACH = np.arange(N)

# rows, labels, weights and groups
INPUTS = {
    "one row": (X[:1], Y[:1], None, None),
    "one class": (X, np.zeros(N, int), None, None),
    "constant columns": (np.ones((N, 3)), Y, None, None),
    "columns without a value": (np.full((N, 3), np.nan), Y, None, None),
    "a column without a value": (np.where([False, True, False], np.nan, X), Y, None, None),
    "rows that all tie": (np.repeat(X[:1], N, axis=0), Y, None, None),
    "weights that sum to less than one": (X, Y, np.full(N, 0.01), None),
    "one group": (X, Y, None, np.zeros(N)),
    "groups of one row": (X, Y, None, EACH),
}


def drift_of(x, y, weight, _):
    found = drift(sf.LDA().fit(x, y, sample_weight=weight), x, weight)
    return [found.p_value, *(column.p_value for column in found.columns)]


def drift_of_new_rows(x, _, weight, __):
    found = drift(sf.LDA().fit(X, Y), x, weight)
    return [found.p_value, *(column.p_value for column in found.columns)]


def prior_shift(x, y, weight, _):
    return [adapt_priors(sf.LDA().fit(x, y, sample_weight=weight), x)[1].p_value]


def prior_shift_of_new_rows(x, *_):
    return [adapt_priors(sf.LDA().fit(X, Y), x)[1].p_value]


def normality_of_classes(x, y, *_):
    return [normality(x, y).p_value]


def box(x, y, weight, _):
    found = box_m(sf.Moments.of(x, y, sample_weight=weight, fourth=True))
    return [found.p_value, *(row["p_value"] for row in found.rows())]


def wilks(x, y, weight, _):
    return [class_separation(sf.Moments.of(x, y, sample_weight=weight)).p_value]


def calibration_of_posteriors(_, y, weight, __):
    classes = np.unique(y)
    posteriors = np.full((len(y), len(classes)), 1 / len(classes))
    return [calibration(y, posteriors, classes, sample_weight=weight).p_value]


def predictive(x, y, weight, _):
    fitted = sf.LDA().fit(x, y, sample_weight=weight)
    found = predictive_check(fitted, x, y, simulations=39)
    return [found.p_value, *(row["p_value"] for row in found.rows())]


def coefficients(x, y, weight, _):
    fitted = sf.LogisticRegression(l2=0.0).fit(x, y, sample_weight=weight)
    return np.ravel(fitted.summary(x, y, sample_weight=weight).p_values)


def comparison(x, y, weight, groups):
    found = sf.compare(x, y, ["LDA", "NB"], 3, groups=groups, sample_weight=weight)
    differences = (*found.differences(), *found.differences("log_loss"))
    gains = standing_of(found, found.choice).gains
    return [each.p_value for each in (*differences, found.choice, *gains)]


TESTS = (
    drift_of,
    drift_of_new_rows,
    prior_shift,
    prior_shift_of_new_rows,
    normality_of_classes,
    box,
    wilks,
    calibration_of_posteriors,
    predictive,
    coefficients,
    comparison,
)
# only comparisons use groups; a group of one row is a row
WITHOUT_GROUPS = {(test, name) for test in TESTS[:-1] for name in INPUTS if "group" in name}
WITHOUT_LABELS = {
    (drift_of_new_rows, "one class"),
    (prior_shift_of_new_rows, "one class"),
    (normality_of_classes, "one class"),
}
WITHOUT_WEIGHTS = {
    (normality_of_classes, "weights that sum to less than one"),
    (prior_shift_of_new_rows, "weights that sum to less than one"),
}
# posteriors are judged, whatever columns they came from
WITHOUT_COLUMNS = {
    (calibration_of_posteriors, name)
    for name in (*list(INPUTS)[2:6], "weights that sum to less than one")
}
# weights of these tests are scaled to the effective number of rows, so that their sum is no matter
SCALED = {
    (drift_of_new_rows, "weights that sum to less than one"),
    (comparison, "weights that sum to less than one"),
}
JUDGED = (
    WITHOUT_GROUPS
    | WITHOUT_LABELS
    | WITHOUT_WEIGHTS
    | WITHOUT_COLUMNS
    | SCALED
    | {(comparison, "groups of one row")}
)
# new rows that are constant, or lack a column, differ from those of the fit
CHANGED = {
    (drift_of_new_rows, name)
    for name in INPUTS
    if "tie" in name or "constant" in name or "without" in name
} | {(prior_shift_of_new_rows, name) for name in INPUTS if "tie" in name or "constant" in name}
# equal predictions do not differ, and the intercept of constant columns is estimated
ALIKE = {(comparison, name) for name in INPUTS if "tie" in name or "constant" in name}
ALIKE |= {(coefficients, name) for name in INPUTS if "tie" in name or "constant" in name}
ALIKE |= {(prior_shift_of_new_rows, "a column without a value")}


def p_values(test, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.array(test(*INPUTS[name]))
        except ValueError:  # a refusal that says what is wrong
            return np.array([np.nan])


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("test", TESTS)
def test_input_that_cannot_be_judged_has_no_p_value(test, name):
    p = p_values(test, name)
    if (test, name) in JUDGED | ALIKE:
        assert np.nanmin(p) > 0.05
    elif (test, name) not in CHANGED:
        assert np.isnan(p).all()


def test_rows_that_are_alone_in_their_fold_have_no_importance():
    alone = [(np.delete(EACH, i), EACH[i : i + 1]) for i in EACH]
    model = ComparedModel("LDA", sf.LDA())
    folds = folds_for(X, Y, alone, None, None, 0)
    outcome = compared((model,), folds, 0, progress=False, keep=True)["LDA"]
    assert permutation_importance(model, outcome, folds, ("a", "b", "c")) == ()
