"""Logistic regression against exact values, and the laws it must obey."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogistic

from suffice import load
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    NotConvergedWarning,
    SeparationWarning,
    TooFewClassesError,
    UnknownLabelError,
)
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.perceptron import Perceptron
from suffice.lectures import GradientDescent, NewtonDescent

BINARY = ["hours", "pima_tr", "birthwt", "esl_mixture", "haberman", "bupa", "cats"]


def beta(fit):
    return np.column_stack([fit.intercept_, fit.coef_])


@pytest.fixture
def hours(table):
    X, y, _ = table("hours")
    return X, y


@pytest.mark.parametrize("name", [*BINARY, "iris_versicolor_virginica"])
@pytest.mark.parametrize("solver", ["newton", "quasi-newton"])
def test_maximum_likelihood_agrees_with_300_bit_arithmetic(table, reference, name, solver):
    X, y, _ = table(name.split("_versi")[0])
    if name.startswith("iris"):
        X, y = X[50:], y[50:]
    exact = reference("exact_logistic")["datasets"][name]
    fit = LogisticRegression(l2=0, solver=solver).fit(X, y)
    digits = 1e-12 if solver == "newton" else 1e-5
    np.testing.assert_allclose(beta(fit), np.array(exact["coef"], float), rtol=digits)
    assert fit.log_likelihood_ == pytest.approx(float(exact["loglik"]), rel=1e-10)
    summary = fit.summary() if solver == "newton" else fit.summary(X, y)
    np.testing.assert_allclose(
        summary.standard_errors,
        np.array(exact["se"], float),
        rtol=1e-9 if solver == "newton" else 1e-5,
    )


def test_softmax_agrees_with_60_digit_arithmetic(table, reference):
    exact = reference("exact_softmax")
    X, y, names = table(exact["data"])
    X = X[:, [names.index(name) for name in exact["features"]]]
    fit = LogisticRegression(l2=0).fit(X, y)
    summary = fit.summary()
    np.testing.assert_allclose(
        summary.coefficients, np.array(exact["coef"], float), rtol=1e-12
    )
    np.testing.assert_allclose(
        summary.standard_errors, np.array(exact["se"], float), rtol=1e-10
    )
    assert summary.log_likelihood == pytest.approx(float(exact["loglik"]), rel=1e-13)
    np.testing.assert_allclose(fit.coef_.sum(0), 0, atol=1e-13)
    np.testing.assert_allclose(fit.coef_[1:] - fit.coef_[0], summary.coefficients[:, 1:])


def test_coefficients_and_standard_errors_are_those_of_glm(table, reference):
    X, y, _ = table("pima_tr")
    known = reference("glm")["pima_tr"]
    summary = LogisticRegression(l2=0).fit(X, y).summary()
    np.testing.assert_allclose(summary.coefficients[0], known["glm"]["coef"], rtol=1e-8)
    np.testing.assert_allclose(summary.standard_errors[0], known["glm"]["se"], rtol=1e-8)
    assert -2 * summary.log_likelihood == pytest.approx(known["glm"]["deviance"], rel=1e-10)
    assert -2 * summary.log_likelihood == pytest.approx(known["multinom_deviance"], rel=1e-6)


@pytest.mark.parametrize("name", ["iris", "wine", "crabs", "penguins_numeric", "banknote"])
def test_where_multinom_runs_off_to_infinity_separation_is_said(table, reference, name):
    X, y, _ = table(name)
    with pytest.warns(SeparationWarning):
        fit = LogisticRegression(l2=0).fit(X, y)
    assert np.isfinite(beta(fit)).all()
    # as the penalty falls, the deviance comes down to what multinom reaches
    near = LogisticRegression(l2=1e-9).fit(X, y)
    assert -2 * near.log_likelihood_ < reference("glm")["separated"][name] + 0.01


@pytest.mark.parametrize("name", ["iris", "wine", "hours"])
@pytest.mark.parametrize("l2", ["1", "0.01"])
def test_penalised_optima_agree_with_the_reference(table, reference, name, l2):
    X, y, _ = table(name)
    exact = reference("logistic_ridge")["datasets"][name][f"lambda_{l2}"]
    fit = LogisticRegression(l2=float(l2)).fit(X, y)
    # the reference is in standard units, (x − mean) / sd with divisor n − 1
    s, m = X.std(0, ddof=1), X.mean(0)
    standard = np.column_stack([fit.intercept_ + fit.coef_ @ m, fit.coef_ * s])
    np.testing.assert_allclose(
        standard, np.atleast_2d(exact["coef_intercept_first"]), atol=1e-8
    )
    objective = -fit.log_likelihood_ + float(l2) / 2 * (standard[:, 1:] ** 2).sum()
    assert objective == pytest.approx(exact["objective"], rel=1e-10)


@pytest.mark.parametrize(
    ("solver", "tolerance"),
    [
        (NewtonDescent("newton", start="zero"), 1e-10),
        (NewtonDescent("quasi-newton", start="zero"), 1e-6),
        (GradientDescent("gd", start="zero"), 1e-6),
        (GradientDescent("averaged-sgd", start="zero"), 0.05),
    ],
)
def test_the_exam_example(hours, reference, solver, tolerance):
    fit = LogisticRegression(l2=0, solver=solver).fit(*hours)
    known = reference("hours")
    assert fit.converged_
    np.testing.assert_allclose(
        beta(fit)[0], [-4.0777134310876, 1.5046454283733], atol=tolerance
    )
    p = fit.predict_proba([[1.0], [2.0], [3.0], [4.0], [5.0]])[:, 1]
    np.testing.assert_allclose(p, known["prob_at_1_2_3_4_5"], atol=tolerance)
    np.testing.assert_allclose(p, [0.07, 0.26, 0.61, 0.87, 0.97], atol=0.005 + tolerance / 10)


def test_plain_stochastic_descent_of_the_exam_example_is_that_of_the_lecture(hours):
    lecture = GradientDescent("sgd", learning_rate=0.05, epsilon=1e-4, standardize=False)
    fit = LogisticRegression(l2=0, solver=lecture).fit(*hours)
    assert fit.n_iter_ == 163
    assert fit.converged_
    np.testing.assert_allclose(beta(fit)[0].round(3), [-3.995, 1.480])
    # written out: zeros, rows in their order, w ← w − η (y − t) x, no average
    x, t = np.column_stack([np.ones(20), hours[0]]), hours[1] == fit.classes_[1]
    w = np.zeros(2)
    for _ in range(163):
        for row, target in zip(x, t, strict=True):
            w -= 0.05 * (1 / (1 + np.exp(-row @ w)) - target) * row
    np.testing.assert_allclose(beta(fit)[0], w, rtol=1e-10)


def test_plain_stochastic_descent_may_run_for_a_number_of_passes_or_in_random_order(hours):
    lecture = GradientDescent("sgd", learning_rate=0.05, standardize=False)
    endless = replace(lecture, epsilon=1e-300)
    with pytest.warns(NotConvergedWarning, match="after 40 steps"):
        fit = LogisticRegression(l2=0, solver=endless, tol=0, max_iter=40).fit(*hours)
    assert fit.n_iter_ == 40
    random_order = replace(lecture, shuffle=True)
    shuffled = [
        beta(LogisticRegression(l2=0, solver=random_order, random_state=seed).fit(*hours))
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(shuffled[0], shuffled[1])
    assert not np.array_equal(shuffled[0], shuffled[2])


def test_plain_stochastic_descent_of_three_classes_treats_them_alike(iris):
    X, y = iris
    turned = np.array([{"setosa": "z", "versicolor": "a", "virginica": "m"}[k] for k in y])
    settings = {"solver": GradientDescent("sgd", epsilon=1e-300), "max_iter": 3}
    with pytest.warns(NotConvergedWarning):
        one, two = (LogisticRegression(**settings).fit(X, labels) for labels in (y, turned))
    np.testing.assert_allclose(one.coef_, two.coef_[[2, 0, 1]], rtol=1e-9)


def test_the_summary_of_the_exam_example_is_that_of_glm(hours, reference):
    summary = LogisticRegression(l2=0).fit(*hours).summary()
    known = reference("hours")
    np.testing.assert_allclose(summary.z[0], known["z"], rtol=1e-8)
    np.testing.assert_allclose(summary.p_values[0], known["p_value"], rtol=1e-8)
    assert -2 * summary.log_likelihood == pytest.approx(known["deviance"])
    assert -2 * summary.null_log_likelihood == pytest.approx(known["null_deviance"])
    assert summary.aic == pytest.approx(known["deviance"] + 4)
    assert summary.bic == pytest.approx(known["deviance"] + 2 * np.log(20))
    assert summary.pseudo_r2 == pytest.approx(1 - known["deviance"] / known["null_deviance"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_penalised_fits_agree_with_scikit_learn_on_standard_units(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, n_classes, 200)
    X = (X - X.mean(0)) / X.std(0, ddof=1)
    w = rng.uniform(0.5, 2, 200)
    # unweighted standard deviations are one: so weights must keep them
    w = np.ones(200) if n_classes == 2 else np.full(200, 2.0)
    s = np.sqrt((w.sum() * X.var(0)) / (w.sum() - 1))
    ours = LogisticRegression(l2=3.0).fit(X, y, sample_weight=w)
    theirs = SklearnLogistic(C=1 / 3.0, tol=1e-12, max_iter=10_000).fit(
        X / s, y, sample_weight=w
    )
    np.testing.assert_allclose(ours.coef_ * s, theirs.coef_, atol=1e-6)


def noisy(seed=0, n=80, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + rng.normal(size=3)
    y = (X @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


@given(
    powers=st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    shifts=st.lists(st.integers(-5, 5), min_size=3, max_size=3),
    l2=st.sampled_from([0.0, 1.0]),
)
def test_a_change_of_units_changes_nothing_but_the_units(powers, shifts, l2):
    X, y = noisy()
    factor = 10.0 ** np.array(powers)
    plain = LogisticRegression(l2=l2).fit(X, y)
    other = LogisticRegression(l2=l2).fit((X + shifts) * factor, y)
    np.testing.assert_allclose(other.coef_ * factor, plain.coef_, rtol=1e-7, atol=1e-9)
    assert other.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-9)


@given(st.permutations(range(80)))
def test_the_order_of_rows_does_not_matter(order):
    X, y = noisy()
    a, b = LogisticRegression().fit(X, y), LogisticRegression().fit(X[order], y[order])
    np.testing.assert_allclose(beta(a), beta(b), rtol=1e-8, atol=1e-10)


@given(st.lists(st.integers(1, 3), min_size=80, max_size=80), st.sampled_from([0.0, 0.5]))
def test_weights_count_as_repetitions(times, l2):
    X, y = noisy()
    times = np.array(times)
    times[10:20] = 0
    a = LogisticRegression(l2=l2, class_weight="balanced").fit(X, y, sample_weight=times)
    b = LogisticRegression(l2=l2, class_weight="balanced").fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(beta(a), beta(b), rtol=1e-7, atol=1e-9)
    assert a.summary().bic == pytest.approx(b.summary().bic)


@given(st.permutations(range(3)))
def test_the_order_of_classes_does_not_matter(order):
    X, y = noisy()
    order = np.array(order)
    a, b = LogisticRegression().fit(X, y), LogisticRegression().fit(X, order[y])
    np.testing.assert_allclose(beta(b)[order], beta(a), rtol=1e-8, atol=1e-10)


def test_swapping_two_classes_changes_the_sign():
    X, y = noisy(n_classes=2)
    a, b = LogisticRegression().fit(X, y), LogisticRegression().fit(X, 1 - y)
    np.testing.assert_allclose(beta(a), -beta(b), rtol=1e-8)


def test_posteriors_are_normalised_and_their_logarithms_exact_far_out():
    X, y = noisy()
    fit = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(fit.predict_proba(X).sum(1), 1, rtol=1e-14)
    far = fit.predict_log_proba(X * 1e5)
    assert far.min() < -5000
    assert np.isfinite(far).all()
    two = LogisticRegression().fit(X, y > 0)
    np.testing.assert_allclose(
        two.predict_log_proba(X), np.log(two.predict_proba(X)), rtol=1e-9
    )


def test_balanced_classes_have_equal_weight():
    X, y = noisy(n_classes=2)
    share = np.bincount(y) / len(y)
    factors = {k: 1 / (2 * share[k]) for k in range(2)}
    a = LogisticRegression(class_weight="balanced").fit(X, y)
    b = LogisticRegression(class_weight=factors).fit(X, y)
    np.testing.assert_allclose(beta(a), beta(b))


def test_a_warm_start_begins_at_the_last_answer():
    X, y = noisy()
    fit = LogisticRegression(solver=NewtonDescent(start="last")).fit(X, y)
    assert fit.n_iter_ > 1
    assert fit.fit(X, y).n_iter_ == 0
    assert fit.fit(X[:, :2], y).n_iter_ > 1


def test_frames_give_names_to_everything(iris):
    X = pd.DataFrame(iris[0], columns=["sl", "sw", "pl", "pw"])
    fit = LogisticRegression(solver=NewtonDescent(record=True)).fit(X, iris[1])
    assert fit.path_.names[-1] == "virginica: pw"
    frame = fit.summary().to_frame()
    assert frame.index.names == ["class", "term"]
    assert frame.loc[("virginica", "pw"), "coefficient"] == pytest.approx(
        fit.coef_[2, 3] - fit.coef_[0, 3]
    )
    text = str(fit.summary())
    assert "log odds of versicolor against setosa" in text
    assert "The penalty (l2=1)" in text
    assert fit.boundary("versicolor", "virginica").feature_names == ("sl", "sw", "pl", "pw")


def test_the_boundary_is_where_two_classes_are_equally_probable():
    X, y = noisy()
    for labels, data in (((0, 2), y), ((False, True), y > 0)):
        fit = LogisticRegression().fit(X, data)
        on = fit.boundary(*labels).project(X[:5])
        codes = [fit.classes_.tolist().index(label) for label in labels]
        p = fit.predict_proba(on)[:, codes]
        np.testing.assert_allclose(p[:, 0], p[:, 1], rtol=1e-9)


def test_a_fit_survives_pickling_and_copying(hours):
    fit = LogisticRegression(solver=NewtonDescent(record=True)).fit(*hours)
    for other in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        np.testing.assert_array_equal(
            other.predict_proba(hours[0]), fit.predict_proba(hours[0])
        )
        assert len(other.path_) == len(fit.path_)
        assert str(other.summary()) == str(fit.summary())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_number_types_and_memory_orders_agree(dtype, order):
    X, y = noisy()
    X = np.round(X * 8).astype(dtype)
    a = LogisticRegression().fit(np.asarray(X, order=order), y)
    b = LogisticRegression().fit(X.astype(float), y)
    np.testing.assert_allclose(beta(a), beta(b), rtol=1e-12)


class TestStreams:
    def test_batches_in_any_number_come_near_the_whole(self):
        X, y = noisy(n=6000)
        fit = LogisticRegression()
        for lo in range(0, 6000, 100):
            fit.partial_fit(X[lo : lo + 100], y[lo : lo + 100], classes=[0, 1, 2])
        whole = LogisticRegression().fit(X, y)
        np.testing.assert_allclose(fit.coef_, whole.coef_, atol=0.15)
        np.testing.assert_allclose(fit.coef_.sum(0), 0, atol=1e-12)

    def test_one_row_at_a_time_works(self):
        X, y = noisy(n=300, n_classes=2)
        fit = LogisticRegression()
        for row, label in zip(X, y, strict=True):
            fit.partial_fit(row[None], [label], classes=[0, 1])
        assert fit.score(X, y) > 0.6

    def test_a_stream_goes_on_from_a_fit(self):
        X, y = noisy(n=2000)
        fit = LogisticRegression().fit(X[:1500], y[:1500])
        before = fit.coef_
        fit.partial_fit(X[1500:], y[1500:])
        assert 0 < np.abs(fit.coef_ - before).max() < 0.5
        assert not hasattr(fit, "log_likelihood_")
        with pytest.raises(InvalidParameterError, match=r"summary\(X, y\)"):
            fit.summary()

    def test_balanced_classes_need_all_rows(self):
        with pytest.raises(InvalidParameterError, match="all rows at once"):
            LogisticRegression(class_weight="balanced").partial_fit(*noisy())

    def test_unknown_labels_and_other_features_are_refused(self):
        X, y = noisy()
        fit = LogisticRegression().partial_fit(X, y)
        with pytest.raises(UnknownLabelError, match=r"7.*is not one of the classes"):
            fit.partial_fit(X, np.full(len(y), 7))
        with pytest.raises(ValueError, match="features"):
            fit.partial_fit(X[:, :2], y)

    def test_the_first_batch_needs_two_classes(self):
        with pytest.raises(TooFewClassesError, match="at least 2 classes"):
            LogisticRegression().partial_fit([[1.0], [2.0]], [1, 1])


class TestBadInput:
    def test_one_class_is_refused(self):
        with pytest.raises(TooFewClassesError, match="at least 2 classes"):
            LogisticRegression().fit([[1.0], [2.0]], [3, 3])

    def test_a_class_of_zero_weight_is_absent(self):
        X, y = noisy()
        fit = LogisticRegression().fit(X, y, sample_weight=(y < 2).astype(float))
        assert fit.classes_.tolist() == [0, 1]
        with pytest.raises(TooFewClassesError):
            LogisticRegression().fit(X, y, sample_weight=(y < 1).astype(float))

    @pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0])
    def test_weights_that_cannot_be_are_refused(self, weight):
        X, y = noisy()
        w = np.ones(len(y))
        w[5] = weight
        with pytest.raises(InvalidInputError, match="row 5"):
            LogisticRegression().fit(X, y, sample_weight=w)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_rows_that_cannot_be_are_refused(self, value):
        X, y = noisy()
        fit = LogisticRegression().fit(X, y)
        X[7, 1] = value
        with pytest.raises(InvalidInputError, match="row 7, column 1"):
            LogisticRegression().fit(X, y)
        with pytest.raises(InvalidInputError, match="row 7, column 1"):
            fit.predict(X)

    def test_constant_and_combined_columns_are_named_and_get_zero(self):
        X, y = noisy(n_classes=2)
        wide = np.column_stack([X, np.full(len(X), 0.1), X[:, 0] + X[:, 1]])
        with pytest.warns(DegenerateDataWarning, match="columns 3 and 4"):
            fit = LogisticRegression(l2=0).fit(wide, y)
        np.testing.assert_array_equal(fit.coef_[0, 3:], 0)
        np.testing.assert_allclose(fit.coef_[:, :3], LogisticRegression(l2=0).fit(X, y).coef_)
        summary = fit.summary()
        assert np.isnan(summary.standard_errors[0, 4:]).all()
        assert summary.degrees_of_freedom == pytest.approx(4)
        assert "nan:" in str(summary)
        with pytest.warns(DegenerateDataWarning, match="column 3 are"):
            shared = LogisticRegression().fit(wide, y)
        assert shared.coef_[0, 4] != 0

    def test_separable_classes_are_reported_with_their_features(self, iris):
        X = pd.DataFrame(iris[0], columns=["sl", "sw", "pl", "pw"])
        with pytest.warns(SeparationWarning, match=r"column 'pl' separates.*l2=1 was used"):
            fit = LogisticRegression(l2=0).fit(X, iris[1])
        assert not fit.separation_.complete
        assert fit.l2_ == 1.0
        np.testing.assert_allclose(fit.coef_, LogisticRegression(l2=1).fit(X, iris[1]).coef_)

    def test_fewer_rows_than_features_without_penalty_is_said(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(10, 30)), np.arange(10) % 2
        with pytest.warns(SeparationWarning, match="10 rows for 30 features"):
            fit = LogisticRegression(l2=0).fit(X, y)
        assert np.isfinite(fit.coef_).all()
        assert fit.score(X, y) == 1

    @pytest.mark.parametrize(
        ("solver", "standardize"),
        [("gd", True), ("gd", False), ("sgd", True), ("sgd", False), ("averaged-sgd", True)],
    )
    def test_a_learning_rate_at_which_the_loss_rises_is_refused_and_a_smaller_one_named(
        self, hours, solver, standardize
    ):
        steps = GradientDescent(
            solver, learning_rate=1000, standardize=standardize, start="zero"
        )
        with pytest.raises(
            InvalidParameterError, match=r"=1000 is too large: .* rose"
        ) as said:
            LogisticRegression(l2=0, solver=steps).fit(*hours)
        smaller = float(re.search(r"use learning_rate=([\d.e-]+),", str(said.value))[1])
        steps = replace(steps, learning_rate=smaller)
        fit = LogisticRegression(l2=0, solver=steps, max_iter=20_000).fit(*hours)
        assert fit.log_likelihood_ == pytest.approx(-8.0299, abs=0.1)

    def test_too_few_steps_are_said_with_their_cure(self):
        X, y = noisy()
        with pytest.warns(NotConvergedWarning, match="after 3 steps.*raise max_iter"):
            fit = LogisticRegression(solver="gd", max_iter=3).fit(X, y)
        assert not fit.converged_

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"l2": -1}, "l2 must be"),
            ({"l2": "much"}, "l2 must be"),
            ({"solver": "lbfgs"}, "solver must be one of 'auto'"),
            ({"tol": -1e-9}, "tol must be"),
            ({"max_iter": 0}, "max_iter must be"),
            ({"class_weight": "heavy"}, "class_weight must be"),
            ({"class_weight": {0: -1.0}}, "class weights must be"),
        ],
    )
    def test_settings_outside_their_domain_are_refused(self, settings, message):
        with pytest.raises(InvalidParameterError, match=message):
            LogisticRegression(**settings).fit(*noisy())

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"method": "newton"}, "method must be one of 'gd', 'sgd', 'averaged-sgd'"),
            ({"start": "here"}, "start must be one of 'lda'"),
            ({"learning_rate": -0.1}, "learning_rate must be"),
            ({"learning_rate": "slow"}, "learning_rate must be"),
            ({"method": "sgd", "batch_size": 0}, "batch_size must be"),
            ({"method": "gd", "batch_size": 8}, "each step of 'gd' takes all rows"),
            ({"epsilon": 0.0}, "epsilon must be"),
        ],
    )
    def test_a_descent_checks_itself(self, settings, message):
        with pytest.raises(InvalidParameterError, match=message):
            GradientDescent(**settings)

    def test_newton_steps_check_themselves(self):
        with pytest.raises(InvalidParameterError, match="method must be one of 'auto'"):
            NewtonDescent("gd")
        with pytest.raises(InvalidParameterError, match="start must be one of 'lda'"):
            NewtonDescent(start="here")
        with pytest.raises(FrozenInstanceError):
            NewtonDescent().record = True

    def test_a_class_weight_for_a_stranger_is_refused(self):
        with pytest.raises(UnknownLabelError, match="names the label 9"):
            LogisticRegression(class_weight={9: 2.0}).fit(*noisy())

    def test_a_summary_needs_the_curvature(self):
        X, y = noisy()
        fit = LogisticRegression(solver="quasi-newton").fit(X, y)
        with pytest.raises(InvalidParameterError, match=r"summary\(X, y\)"):
            fit.summary()
        ours, newtons = fit.summary(X, y), LogisticRegression().fit(X, y).summary()
        np.testing.assert_allclose(ours.standard_errors, newtons.standard_errors, rtol=1e-5)
        with pytest.raises(InvalidParameterError, match="level"):
            fit.summary(X, y, level=95)
        with pytest.raises(UnknownLabelError, match="fitted"):
            fit.summary(X[y < 2], y[y < 2])

    def test_a_boundary_needs_known_labels(self):
        with pytest.raises(UnknownLabelError, match="'bass'"):
            LogisticRegression().fit(*noisy()).boundary(0, "bass")
        with pytest.raises(InvalidInputError, match="class 0 is named twice"):
            LogisticRegression().fit(*noisy()).boundary(0, 0)


def test_a_stream_takes_labels_of_any_kind():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    above = (x[:, 0] > 0).astype(int)
    by_code = LogisticRegression().partial_fit(x, above)
    for labels in (np.array(["a", "b"]), np.array([3, 7]), np.array([False, True])):
        named = LogisticRegression().partial_fit(x[:30], labels[above[:30]])
        named.partial_fit(x[30:], labels[above[30:]])
        assert named.classes_.tolist() == labels.tolist()
        assert named.score(x, labels[above]) > 0.9
        np.testing.assert_array_equal(
            LogisticRegression().partial_fit(x, labels[above]).coef_, by_code.coef_
        )


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(solver="gd", max_iter=1), Perceptron(max_iter=1)], ids=str
)
def test_stopping_early_is_scikit_learns_warning_too(iris, estimator):
    with pytest.warns(ConvergenceWarning) as told:
        estimator.fit(*iris)
    assert all(issubclass(each.category, NotConvergedWarning) for each in told)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [300, 60_000])  # few rows in NumPy, many compiled
def test_without_an_intercept_scores_vanish_at_zero(n_classes, n):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 10)) + 0.5
    y = (x[:, :n_classes] + rng.gumbel(size=(n, n_classes))).argmax(1)
    fit = LogisticRegression(l2=2.0, fit_intercept=False).fit(x, y)
    assert not fit.intercept_.any()
    # the penalty is per root mean square
    s = np.sqrt(np.square(x).mean(0))
    oracle = SklearnLogistic(C=0.5, fit_intercept=False, tol=1e-9, solver="newton-cholesky")
    np.testing.assert_allclose(fit.coef_ * s, oracle.fit(x / s, y).coef_, rtol=1e-5, atol=1e-6)
    shown = fit.summary()
    assert np.isnan(shown.standard_errors[:, 0]).all()
    assert np.isfinite(shown.standard_errors[:, 1:]).all()
    assert shown.null_log_likelihood == pytest.approx(-n * np.log(n_classes))


def test_a_seed_is_a_seed_whatever_integer_it_is(iris):
    steps = GradientDescent("sgd", shuffle=True, epsilon=1e3)
    settings = {"solver": steps, "max_iter": 2}
    found = [
        LogisticRegression(**settings, random_state=seed).fit(*iris).coef_
        for seed in (3, np.int64(3), np.uint8(3))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("max_iter", [0.5, np.inf])
def test_numbers_of_steps_and_rows_are_whole(iris, max_iter):
    with pytest.raises(InvalidParameterError, match="must be an integer of at least 1"):
        LogisticRegression(solver="sgd", max_iter=max_iter).fit(*iris)
    with pytest.raises(InvalidParameterError, match="must be an integer of at least 1"):
        GradientDescent("sgd", batch_size=max_iter)


@pytest.mark.parametrize(
    "solver",
    [
        "gd",
        NewtonDescent(record=True),
        GradientDescent("sgd", learning_rate=0.05, batch_size=4, epsilon=1e-3),
    ],
)
def test_a_solver_survives_a_clone_and_a_file(hours, solver, tmp_path):
    fit = clone(LogisticRegression(l2=0, solver=solver)).fit(*hours)
    fit.save(tmp_path / "exam.suffice")
    again = load(tmp_path / "exam.suffice")
    assert again.solver == solver
    np.testing.assert_array_equal(beta(again), beta(fit))


def test_a_batch_after_a_separable_fit_is_learnt_at_the_penalty_asked_for():
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    with pytest.warns(SeparationWarning):
        fit = LogisticRegression(l2=0).fit(X, y)
    assert (fit.l2_, fit.separation_.complete) == (1.0, True)
    fit.partial_fit(X[::-1] + 0.5, y)
    assert (fit.l2_, fit.separation_) == (0.0, None)
