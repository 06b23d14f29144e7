"""Assumptions are asked about where the chosen model makes them, of columns that could hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import suffice as sf
from suffice.core.moments import Moments
from suffice.evaluate.diagnostics import box_m, normality
from suffice.present.report.blocks import Checks, Paragraph, Plot

from .test_report import blocks, section


@pytest.fixture(scope="module")
def mixed():
    """Return rows of two classes: two numbers, one of zeros and ones, one of steps, a category."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(240) % 3, "no", "yes")
    x = rng.normal(size=(240, 2)) + 1.2 * (y == "yes")[:, None]
    flag = np.where(rng.random(240) < 0.9, rng.integers(0, 2, 240), np.nan)
    kind = np.where(rng.random(240) < 0.3 + 0.4 * (y == "yes"), "old", "new")
    step = rng.integers(1, 6, 240)
    numbers = {"a": x[:, 0], "b": x[:, 1], "flag": flag, "step": step}
    return pd.DataFrame({**numbers, "kind": kind}), y


def about(estimator, rows, **settings):
    return sf.report(*rows, estimator=estimator, models=["NB"], cv=3, fast=True, **settings)


def asked(report):
    (checks,) = blocks(report, Checks)
    return {check.question: check for check in checks.items}


def said_of_tests(report):
    """Return what the page says of all tests together."""
    texts = [b.text for b in section(report, "sure").blocks if isinstance(b, Paragraph)]
    return texts[-1]


def test_columns_of_few_values_are_left_out_of_what_asks_for_a_gaussian(mixed):
    X, y = mixed
    report = about(sf.LDA(), mixed)
    said, numbers = asked(report), X[["a", "b"]].to_numpy()
    gaussian = said["Is each class Gaussian, as LDA assumes?"].answer
    assert gaussian == f"{normality(numbers, y, max_rows=500)!r}."
    shared = said["Do all classes share one covariance, as LDA assumes?"].answer
    assert shared == f"{box_m(Moments.of(numbers, y))!r}."
    (note,) = (p.text for p in section(report, "sure").details if p.kind == "text")
    names = "flag, step and kind=old"
    start = (
        "Columns with fewer than 8 distinct values cannot be Gaussian and were left out of the"
    )
    assert note == f"{start} tests: {names}."
    assert "distances" in [plot.key for plot in blocks(report, Plot, "sure")]


def test_where_all_columns_have_few_values_no_gaussian_is_asked_for():
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    X = (rng.random((120, 3)) < 0.3 + 0.4 * y[:, None]).astype(float)
    report = about(sf.LDA(), (X, y))
    assert not [q for q in asked(report) if "Gaussian" in q or "covariance" in q]
    assert "distances" not in [plot.key for plot in blocks(report, Plot, "sure")]


def test_one_covariance_is_asked_about_where_it_is_assumed(iris):
    assert any("covariance" in question for question in asked(about(sf.LDA(), iris)))
    assert not any("covariance" in question for question in asked(about(sf.QDA(), iris)))


def test_a_transformed_model_is_asked_about_in_the_features_that_it_sees():
    rng, y = np.random.default_rng(3), np.arange(300) % 2
    X = np.exp(rng.normal(size=(300, 2)) + 0.5 * y[:, None])
    report = about(sf.LDA(power="yeo-johnson"), (X, y))
    check = asked(report)["Do all classes share one covariance, as LDA assumes?"]
    seen = sf.LDA(power="yeo-johnson").fit(X, y).moments_.power.apply(X)
    assert f"M = {box_m(Moments.of(seen, y)).statistic:.4g}," in check.answer


def test_an_average_is_asked_what_it_assumes_only(mixed):
    report = about(sf.AutoGaussian(kernel_features=False), mixed)
    assert [question.split(":")[0] for question in asked(report)] == [
        "Are the model's probabilities calibrated"
    ]
    assert "Gaussian" not in said_of_tests(report)
    assert "distances" not in [plot.key for plot in blocks(report, Plot, "sure")]


@pytest.mark.slow
def test_of_an_average_rows_drawn_from_it_are_asked_about(iris):
    auto = sf.AutoGaussian(kernel_features=False)
    report = sf.report(*iris, estimator=auto, models=["NB"], cv=3)
    *_, drawn = asked(report).values()
    assert "rows drawn from its best Gaussian (used only for densities)" in drawn.question


def test_a_model_without_densities_is_not_told_that_they_depend_on_anything(iris):
    report = about(RandomForestClassifier(20, random_state=0), iris)
    said = said_of_tests(report)
    assert "probabilities" in said
    assert "densities" not in said


def test_a_model_without_probabilities_has_nothing_to_check(iris):
    said = said_of_tests(about(sf.LeastSquaresClassifier(), iris))
    assert said.startswith("The model predicts no probabilities")


def test_what_tests_speak_against_is_named_with_what_it_changes(iris):
    report = about(sf.LDA(), iris)
    doubted = [check.subject for check in asked(report).values() if check.tone == "caution"]
    assert doubted == ["all classes share one covariance"]
    said = said_of_tests(report)
    beginning = (
        "A test rejects this assumption of the model: all classes share one covariance."
    )
    assert said.startswith(beginning)
    assert "does not affect the error" in said
    assert "caveat" not in said
